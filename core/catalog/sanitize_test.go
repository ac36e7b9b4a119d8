package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/catalog"
)

func TestSanitizeKeepsAGoodTool(t *testing.T) {
	t.Parallel()
	raw := `{"name":"get_weather","title":"Weather","description":"Tells the weather.","inputSchema":{ "type":"object", "properties":{"city":{"type":"string"}},"required":["city"]},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"x":1},"_meta":{"n":12345678901234567890}}`
	got := sanitize(t, raw)
	want := core.Tool{Name: "get_weather", OriginName: "get_weather", Title: "Weather", Description: "Tells the weather.",
		InputSchema:  json.RawMessage(`{ "type":"object", "properties":{"city":{"type":"string"}},"required":["city"]}`),
		OutputSchema: json.RawMessage(`{"type":"object"}`), Annotations: json.RawMessage(`{"readOnlyHint":true,"x":1}`),
		Definition: json.RawMessage(raw), SchemaHash: got.SchemaHash}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tool (-want +got):\n%s", diff)
	}
	if len(got.SchemaHash) != 64 {
		t.Errorf("SchemaHash = %q", got.SchemaHash)
	}
}

func TestSanitizeMakesTheBestOf(t *testing.T) {
	t.Parallel()
	const schema = `"inputSchema":{"type":"object"}`
	large := strings.Repeat(" ", 53<<10)
	for _, tc := range []struct {
		name, raw string
		check     func(core.Tool) any // what is looked at
		want      any
		warning   string // one of them holds this
	}{
		{"no description", `{"name":"a",` + schema + `}`, description, "", "there is no description"},
		{"blank description", `{"name":"a","description":" \n",` + schema + `}`, description, "", "there is no description"},
		{"description of another type", `{"name":"a","description":{"en":"x"},` + schema + `}`, description, "", "description is not a string"},
		{"huge description", `{"name":"a","description":"` + strings.Repeat("é", 1<<20) + `",` + schema + `}`, size(description), 16384, "was cut to 16384"},
		{"hidden text", `{"name":"a","description":"re\u200bad\u202e \udb40\udc41it\ufe0f",` + schema + `}`, description, "read it\ufe0f", "hidden characters were taken out of the description"},
		{"NUL in the description", `{"name":"a","description":"a\u0000b",` + schema + `}`, description, "ab", "hidden characters"},
		{"invalid UTF-8", "{\"name\":\"a\",\"description\":\"a\xffb\"," + schema + "}", description, "a\ufffdb", ""},
		{"title of another type", `{"name":"a","title":7,"description":"d",` + schema + `}`, title, "", "title is not a string"},
		{"title among annotations", `{"name":"a","description":"d","annotations":{"title":"T"},` + schema + `}`, title, "T", ""},
		{"annotations of another type", `{"name":"a","description":"d","annotations":["readOnly"],` + schema + `}`, annotations, "", "annotations are not an object"},
		{"a hint of another type", `{"name":"a","description":"d","annotations":{"readOnlyHint":"yes","destructiveHint":false},` + schema + `}`, annotations, `{"destructiveHint":false}`, "left out: readOnlyHint"},
		{"no schema", `{"name":"a","description":"d"}`, input, `{"type":"object"}`, "no input schema"},
		{"null schema", `{"name":"a","description":"d","inputSchema":null}`, input, `{"type":"object"}`, "no input schema"},
		{"schema true", `{"name":"a","description":"d","inputSchema":true}`, input, `{"type":"object"}`, "input schema is not an object"},
		{"schema list", `{"name":"a","description":"d","inputSchema":[1]}`, input, `{"type":"object"}`, "input schema is not an object"},
		{"schema of a string", `{"name":"a","description":"d","inputSchema":{"type":"string"}}`, input, `{"type":"object"}`, "describes a string"},
		{"schema of several", `{"name":"a","description":"d","inputSchema":{"type":["string","null"]}}`, input, `{"type":"object"}`, "does not describe an object"},
		{"schema without a type", `{"name":"a","description":"d","inputSchema":{"properties":{}}}`, input, `{"properties":{}}`, ""},
		{"schema that does not compile", `{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"strnig"}}}}`, input, `{"type":"object","properties":{"a":{"type":"strnig"}}}`, "does not compile"},
		{"pattern that does not compile", `{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"a":{"pattern":"("}}}}`, input, `{"type":"object","properties":{"a":{"pattern":"("}}}`, "does not compile"},
		{"remote reference", `{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1/x.json"}}}}`, input, `{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1/x.json"}}}`, "refers to another document"},
		{"file reference", `{"name":"a","description":"d","inputSchema":{"$ref":"file:///etc/passwd"}}`, input, `{"$ref":"file:///etc/passwd"}`, "refers to another document"},
		{"dangling reference", `{"name":"a","description":"d","inputSchema":{"type":"object","$ref":"#/$defs/none"}}`, input, `{"type":"object","$ref":"#/$defs/none"}`, "does not compile"},
		{"hidden text in the schema", `{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"a":{"description":"\u202eabc"}}}}`, input, `{"type":"object","properties":{"a":{"description":"\u202eabc"}}}`, "characters that cannot be seen"},
		{"draft-07", `{"name":"a","description":"d","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"x":{}},"properties":{"a":{"$ref":"#/definitions/x"}}}}`, warnings, 0, ""},
		{"a large schema", `{"name":"a","description":"d","inputSchema":{` + large + `"type":"object"}}`, size(input), 53<<10 + 17, "is large: 53 KB"},
		{"a schema too large", `{"name":"a","description":"d","inputSchema":{` + strings.Repeat(large, 20) + `"type":"object"}}`, input, `{"type":"object"}`, "larger than 1024 KB"},
		{"a deep schema", `{"name":"a","description":"d","inputSchema":{"type":"object","x":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}}`, input, `{"type":"object"}`, "nested too deeply"},
		{"an output schema of another type", `{"name":"a","description":"d",` + schema + `,"outputSchema":"x"}`, output, "", "output schema is not an object"},
		{"an output schema that does not compile", `{"name":"a","description":"d",` + schema + `,"outputSchema":{"type":7}}`, output, `{"type":7}`, "output schema does not compile"},
		{"a name outside the standard", `{"name":"read file!","description":"d",` + schema + `}`, name, "read file!", "outside the standard"},
		{"a name with a slash", `{"name":"repo/read","description":"d",` + schema + `}`, name, "repo/read", "outside the standard"},
		{"a name that is too long", `{"name":"` + strings.Repeat("n", 129) + `","description":"d",` + schema + `}`, size(name), 129, "outside the standard"},
		{"a name that is far too long", `{"name":"` + strings.Repeat("n", 1000) + `","description":"d",` + schema + `}`, size(name), 507, "shown shortened"},
		{"a name that hides something", `{"name":"re\u200bad","description":"d",` + schema + `}`, name, "read", "cannot be seen"},
		{"a name with a line end", `{"name":"read\nme","description":"d",` + schema + `}`, name, "read me", "cannot be seen"},
		{"a name that cannot be seen", `{"name":"\u200b","description":"d",` + schema + `}`, size(name), len("unnamed-123456"), "cannot be seen"},
		{"fields in another case", `{"Name":"no","name":"a","Description":"no","description":"d",` + schema + `}`, description, "d", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tool := sanitize(t, tc.raw)
			if diff := cmp.Diff(tc.want, tc.check(tool)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if all := strings.Join(tool.Warnings, "\n"); !strings.Contains(all, tc.warning) || tc.warning == "" && all != "" {
				t.Errorf("warnings %q, want one with %q", tool.Warnings, tc.warning)
			}
		})
	}
}

func TestSanitizeRefusesWhatCannotBeCalled(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``: "not an object", `null`: "not an object", `[]`: "not an object", `"a"`: "not an object", `{`: "not an object",
		`{}`: "without a name", `{"Name":"a"}`: "without a name", `{"name":null}`: "not a string", `{"name":1}`: "not a string",
		`{"name":""}`: "empty name", `{"name":"a\u0000"}`: "broken name", "{\"name\":\"a\xff\"}": "broken name", `{"name":"\ud800"}`: "broken name",
		`{"name":"` + strings.Repeat("n", 1001) + `"}`: "1001 characters",
	} {
		if _, err := catalog.Sanitize(json.RawMessage(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Sanitize(%.40s) gives error %v, want %q", raw, err, want)
		}
	}
}

func TestHashFollowsTheContent(t *testing.T) {
	t.Parallel()
	hash := func(raw string) string { return sanitize(t, raw).SchemaHash }
	base := hash(`{"name":"a","description":"d","inputSchema":{"type":"object","maximum":1.0}}`)
	if got := hash(`{"inputSchema":{"maximum":1.0, "type":"object"}, "description":"d","name":"a","icons":[]}`); got != base {
		t.Error("order, space and other fields change the hash")
	}
	for _, raw := range []string{
		`{"name":"b","description":"d","inputSchema":{"type":"object","maximum":1.0}}`,
		`{"name":"a","description":"d\u200b","inputSchema":{"type":"object","maximum":1.0}}`,
		`{"name":"a","title":"d","inputSchema":{"type":"object","maximum":1.0}}`,
		`{"name":"a","description":"d","inputSchema":{"type":"object","maximum":1.00000000000000000001}}`,
		`{"name":"a","description":"d","inputSchema":{"type":"object","maximum":1.0},"outputSchema":{}}`,
		`{"name":"a","description":"d","inputSchema":{"type":"object","maximum":1.0},"annotations":{}}`,
	} {
		if hash(raw) == base {
			t.Errorf("the hash does not see %s", raw)
		}
	}
}

// FuzzSanitize holds that no definition panics, and that what is listed can be
// stored: valid text, within bounds, schemas that are objects.
func FuzzSanitize(f *testing.F) {
	for _, raw := range []string{`{"name":"a"}`, `{"name":"a","inputSchema":{"$ref":"#"}}`, `{"name":"\u202e","title":[],"description":0}`,
		`{"name":"a","inputSchema":{"$schema":"http://json-schema.org/draft-04/schema#","$id":"::","$dynamicRef":"#x"}}`,
		`{"name":"a","annotations":{"title":null,"readOnlyHint":1}}`, "{\"name\":\"\xff\"}", `{"name":"a","inputSchema":{"type":["object"],"pattern":"(?<=a)"}}`} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tool, err := catalog.Sanitize(raw)
		if err != nil {
			return
		}
		for what, text := range map[string]string{"name": tool.Name, "origin name": tool.OriginName, "title": tool.Title,
			"description": tool.Description, "definition": string(tool.Definition), "schema": string(tool.InputSchema), "warnings": fmt.Sprint(tool.Warnings)} {
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				t.Errorf("%s %q cannot be stored", what, text)
			}
		}
		if tool.Name == "" || tool.OriginName == "" || len(tool.Description) > 16<<10 {
			t.Errorf("name %q, origin %q, %d bytes of description", tool.Name, tool.OriginName, len(tool.Description))
		}
		var object map[string]any
		if err := json.Unmarshal(tool.InputSchema, &object); err != nil {
			t.Errorf("input schema: %v", err)
		}
		for what, doc := range map[string]json.RawMessage{"output": tool.OutputSchema, "annotations": tool.Annotations, "definition": tool.Definition} {
			if len(doc) > 0 && !json.Valid(doc) {
				t.Errorf("%s is not JSON: %q", what, doc)
			}
		}
	})
}

func sanitize(t *testing.T, raw string) core.Tool {
	t.Helper()
	tool, err := catalog.Sanitize(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func name(t core.Tool) any        { return t.Name }
func title(t core.Tool) any       { return t.Title }
func description(t core.Tool) any { return t.Description }
func input(t core.Tool) any       { return string(t.InputSchema) }
func output(t core.Tool) any      { return string(t.OutputSchema) }
func annotations(t core.Tool) any { return string(t.Annotations) }
func warnings(t core.Tool) any    { return len(t.Warnings) }

func size(of func(core.Tool) any) func(core.Tool) any {
	return func(t core.Tool) any { return len(of(t).(string)) }
}
