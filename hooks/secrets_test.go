package hooks_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/hooks"
)

var withSecrets = hooks.Type{Name: "t", Schema: json.RawMessage(`{"type":"object","properties":{
	"url":{"type":"string"}, "secret":{"type":"string","writeOnly":true},
	"headers":{"type":"object","additionalProperties":{"type":"string","writeOnly":true}},
	"keys":{"type":"array","items":{"$ref":"#/$defs/key"}},
	"either":{"oneOf":[{"type":"integer"},{"type":"string","writeOnly":true}]},
	"all":{"writeOnly":true,"type":"object"}},
	"$defs":{"key":{"type":"object","properties":{"name":{"type":"string"},"value":{"type":"string","writeOnly":true},"more":{"$ref":"#/$defs/key"}}}}}`)}

// TestSecrets: what the schema marks is rewritten wherever it stands, and nothing
// else is touched.
func TestSecrets(t *testing.T) {
	t.Parallel()
	config := json.RawMessage(`{"url":"<a>","secret":"1","headers":{"X-A/b":"2"},"keys":[{"name":"n","value":"3","more":{"value":"4"}}],
		"either":"5","all":{"deep":[{"x":"6"}],"n":12345678901234567890}, "unknown":"u"}`)
	var seen []string
	got, err := withSecrets.Secrets(config, func(at, value string) (string, error) {
		seen = append(seen, at+"="+value)
		return "x" + value, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"all":{"deep":[{"x":"x6"}],"n":12345678901234567890},"either":"x5","headers":{"X-A/b":"x2"},` +
		`"keys":[{"more":{"value":"x4"},"name":"n","value":"x3"}],"secret":"x1","unknown":"u","url":"<a>"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if all := strings.Join(seen, " "); all != "/all/deep/0/x=6 /either=5 /headers/X-A~1b=2 /keys/0/more/value=4 /keys/0/value=3 /secret=1" {
		t.Errorf("saw %s", all)
	}
}

func TestSecretsLeavesWhatDoesNotChange(t *testing.T) {
	t.Parallel()
	same := func(_, value string) (string, error) { return value, nil }
	for _, config := range []string{`{ "secret" : "1" }`, `[1]`, `null`, `{`, ``} {
		got, err := withSecrets.Secrets(json.RawMessage(config), same)
		if err != nil || string(got) != config {
			t.Errorf("%q: got %q, %v", config, got, err)
		}
	}
	failed := errors.New("no")
	if _, err := withSecrets.Secrets(json.RawMessage(`{"keys":[{"value":"a"}]}`), func(string, string) (string, error) { return "", failed }); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	endless := hooks.Type{Schema: json.RawMessage(`{"writeOnly":false,"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`)}
	if got, err := endless.Secrets(json.RawMessage(`{"a":"b"}`), same); err != nil || string(got) != `{"a":"b"}` {
		t.Errorf("got %s, %v", got, err)
	}
}
