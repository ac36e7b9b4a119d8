package sanitizer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/sanitizer"
)

const schema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string"},
		"limit": {"type": "integer", "default": 10},
		"options": {
			"type": "object",
			"properties": {"deep": {"type": "boolean", "default": false}, "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}}}
		},
		"free": {"type": "object"},
		"labels": {"type": "object", "additionalProperties": {"type": "object", "properties": {"color": {}}}},
		"x": {"oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {"default": 1}}}]}
	},
	"patternProperties": {"^x-": {}},
	"required": ["path"],
	"$defs": {"tag": {"properties": {"name": {}, "weight": {"default": 1.50}, "next": {"$ref": "#/$defs/tag"}}, "additionalProperties": false}}
}`

func newHook(t testing.TB, config string) hooks.Hook {
	t.Helper()
	h, err := sanitizer.Type().New(hooks.Instance{Config: json.RawMessage(config)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func newCall(args, schema string) *hooks.Call {
	raw := json.RawMessage(args)
	return &hooks.Call{Level: hooks.Tool, Action: "execute_tool", Args: raw, Original: raw,
		Tool: &core.Tool{ID: "t", Name: "find", InputSchema: json.RawMessage(schema)}}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	rules := func(list string) string { return `{"rules": [` + list + `]}` }
	for _, tc := range []struct{ name, config, args, want string }{
		{"nothing", `{}`, ` { "a" : 1.0 } `, ` { "a" : 1.0 } `},
		{"trim", rules(`{"do": "trim", "pointer": "/a"}`), `{"a":"  x\t","b":" y "}`, `{"a":"x","b":" y "}`},
		{"trim_all", rules(`{"do": "trim"}`), `{"a": " x", "l" : [ " y ", 1e2, {"z":"z "}]}`, `{"a": "x", "l" : [ "y", 1e2, {"z":"z"}]}`},
		{"cut", rules(`{"do": "trim", "pointer": "/a", "max_length": 3}`), `{"a":" öäü<"}`, `{"a":"öäü"}`},
		{"untouched_escapes", rules(`{"do": "trim"}`), `{"\u0061":"\u00e4\/"}`, `{"\u0061":"\u00e4\/"}`},
		{"escaped_name", rules(`{"do": "trim", "pointer": "/a~1b~0"}`), `{"\u0061/b~":"x "}`, `{"\u0061/b~":"x"}`},
		{"clamp", rules(`{"do": "clamp", "pointer": "/*", "min": -1, "max": 10.50}`), `{"a":11,"b":-2e0,"c":10.5,"d":"99","e":9.99}`,
			`{"a":10.50,"b":-1,"c":10.5,"d":"99","e":9.99}`},
		{"clamp_beyond_doubles", rules(`{"do": "clamp", "max": 9007199254740992}`), `[9007199254740993,9007199254740992,1e999999999,1e99999999999999999999,-1e999999999,1e-999999999]`,
			`[9007199254740992,9007199254740992,9007199254740992,9007199254740992,-1e999999999,1e-999999999]`},
		{"clamp_one_side", rules(`{"do": "clamp", "min": 0}`), `{"n":-0.0000001,"m":-0}`, `{"n":0,"m":-0}`},
		{"rename", rules(`{"do": "rename", "pointer": "/repo", "to": "repository"}`), `{"x":1, "repo" : "r"}`, `{"x":1, "repository" : "r"}`},
		{"rename_taken", rules(`{"do": "rename", "pointer": "/repo", "to": "repository"}`), `{"repository":1,"repo":"r"}`, `{"repository":1,"repo":"r"}`},
		{"rename_nested", rules(`{"do": "rename", "pointer": "/l/*/a", "to": "b\""}`), `{"l":[{"a":1},{"a":2,"c":3}]}`, `{"l":[{"b\"":1},{"b\"":2,"c":3}]}`},
		{"replace", rules(`{"do": "replace", "pointer": "/p", "match": "^/home/(\\w+)", "with": "~$1"}`), `{"p":"/home/ann/x"}`, `{"p":"~ann/x"}`},
		{"drop", rules(`{"do": "drop", "pointer": "/b"}`), `{ "a":1 , "b":2 , "c":3 }`, `{ "a":1 , "c":3 }`},
		{"drop_first", rules(`{"do": "drop", "pointer": "/a"}`), `{ "a":1, "b":2 }`, `{ "b":2 }`},
		{"drop_last", rules(`{"do": "drop", "pointer": "/b"}`), `{"a":1,"b":2}`, `{"a":1}`},
		{"drop_only", rules(`{"do": "drop", "pointer": "/a"}`), `{ "a":1 }`, `{  }`},
		{"drop_all", rules(`{"do": "drop", "pointer": "/*"}`), `{"a":1,"b":2}`, `{}`},
		{"drop_duplicates", rules(`{"do": "drop", "pointer": "/a"}`), `{"a":1,"b":2,"a":3}`, `{"b":2}`},
		{"drop_elements", rules(`{"do": "drop", "pointer": "/l/1"}`), `{"l":[1,2,3]}`, `{"l":[1,3]}`},
		{"drop_nested", rules(`{"do": "drop", "pointer": "/l/*/s"}`), `{"l":[{"s":1},{"t":2,"s":3}]}`, `{"l":[{},{"t":2}]}`},
		{"set", rules(`{"do": "set", "pointer": "/a", "value": {"n": 1.0}}`), `{"a":1}`, `{"a":{"n": 1.0}}`},
		{"set_absent", rules(`{"do": "set", "pointer": "/o/a", "value": "x"}`), `{"o":{"b":1}}`, `{"o":{"b":1,"a":"x"}}`},
		{"set_in_nothing", rules(`{"do": "set", "pointer": "/o/a", "value": "x"}`), `{}`, `{}`},
		{"set_empty", rules(`{"do": "set", "pointer": "/a", "value": 1}`), ` { } `, ` {"a":1 } `},
		{"set_everything", rules(`{"do": "set", "value": {}}`), ` {"a":1} `, ` {} `},
		{"set_null", rules(`{"do": "set", "pointer": "/a", "value": null}`), `{}`, `{"a":null}`},
		{"set_all_there", rules(`{"do": "set", "pointer": "/*", "value": 0}`), `{"a":1,"b":2}`, `{"a":0,"b":0}`},
		{"order", rules(`{"do":"rename","pointer":"/a","to":"b"},{"do":"trim","pointer":"/b"}`), `{"a":" x "}`, `{"b":"x"}`},
		{"own_pattern", rules(`{"do":"redact","pointer":"/q","patterns":["EMP-\\d+"],"kinds":[]}`), `{"q":"who is EMP-77?"}`, `{"q":"who is [redacted]?"}`},

		{"unknown_keep", `{}`, `{"path":"p","y":1}`, `{"path":"p","y":1}`},
		{"unknown_drop", `{"unknown":"drop"}`, `{"y":1, "path":"p","x-1":2,"options":{"deep":true,"z":{}},"free":{"q":1}}`,
			`{"path":"p","x-1":2,"options":{"deep":true},"free":{"q":1}}`},
		{"unknown_in_reference", `{"unknown":"drop"}`, `{"options":{"tags":[{"name":"n","bad":1,"next":{"bad":2,"name":"m"}}]}}`,
			`{"options":{"tags":[{"name":"n","next":{"name":"m"}}]}}`},
		{"unknown_in_additional", `{"unknown":"drop"}`, `{"labels":{"any":{"color":1,"size":2}}}`, `{"labels":{"any":{"color":1}}}`},
		{"unknown_in_alternatives", `{"unknown":"drop"}`, `{"x":{"a":1,"b":2,"c":3}}`, `{"x":{"a":1,"b":2}}`},
		{"defaults", `{"defaults":true}`, `{"path":"p"}`, `{"path":"p","limit":10}`},
		{"defaults_nested", `{"defaults":true}`, `{ "options":{ "tags":[ {} , {"weight":2,"next":{}} ] }, "limit":null }`,
			`{ "options":{ "tags":[ {"weight":1.50} , {"weight":2,"next":{"weight":1.50}} ],"deep":false }, "limit":null }`},
		{"defaults_of_alternatives", `{"defaults":true}`, `{"x":{},"limit":1}`, `{"x":{},"limit":1}`},
		{"all", `{"rules":[{"do":"rename","pointer":"/file","to":"path"}],"unknown":"drop","defaults":true}`, `{"file":"p","z":1}`, `{"path":"p","limit":10}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := newHook(t, tc.config)
			c := newCall(tc.args, schema)
			if err := h.Before(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(c.Args), tc.want); diff != "" {
				t.Error(diff)
			}
			if tc.args == tc.want && &c.Args[0] != &c.Original[0] {
				t.Error("other bytes, although nothing changed")
			}
			again := newCall(string(c.Args), schema)
			// Another element has taken the place of one that was dropped.
			if err := h.Before(t.Context(), again); err != nil || string(again.Args) != string(c.Args) && tc.name != "drop_elements" {
				t.Errorf("a second time: %s, %v", again.Args, err)
			}
		})
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	token := strings.Repeat("a1B2", 9)
	for name, tc := range map[string]struct{ in, want string }{
		"bearer":      {"Authorization: Bearer abcdef123456==, x", "Authorization: [redacted], x"},
		"aws":         {"key AKIAIOSFODNN7EXAMPLE.", "key [redacted]."},
		"aws_secret":  {"aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY", "[redacted]"},
		"private_key": {"a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b", "a [redacted] b"},
		"cut_key":     {"-----BEGIN PRIVATE KEY-----\nMII", "[redacted]"},
		"github":      {"ghp_" + token + " github_pat_" + token, "[redacted] [redacted]"},
		"jwt":         {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln!", "[redacted]!"},
		"api_key":     {"sk-proj-" + token + " xoxb-1234567890-abc", "[redacted] [redacted]"},
		"card":        {"pay with 4111 1111 1111 1111 or 5500-0000-0000-0004", "pay with [redacted] or [redacted]"},
		"no_card":     {"order 4111 1111 1111 1112, 1234567890123", "order 4111 1111 1111 1112, 1234567890123"},
		"plain":       {"the bearer of bad news, sk-1, eyJ, ghp_short", "the bearer of bad news, sk-1, eyJ, ghp_short"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := core.EncodeJSON(map[string]any{"a": []string{tc.in}})
			if err != nil {
				t.Fatal(err)
			}
			c := newCall(string(in), "")
			if err := newHook(t, `{"rules":[{"do":"redact"}]}`).Before(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			var got struct{ A []string }
			if err := json.Unmarshal(c.Args, &got); err != nil || got.A[0] != tc.want {
				t.Errorf("got %q, %v; want %q", got.A, err, tc.want)
			}
			if (len(c.Warnings) == 1) != (tc.in != tc.want) {
				t.Errorf("warnings %q", c.Warnings)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, config, args string
		want               []core.Fault
	}{
		{"deny", `{"rules":[{"do":"deny","pointer":"/sql","match":"(?i)\\bdrop\\b","message":"changes tables"},{"do":"deny","pointer":"/l","match":"x"}]}`,
			`{"sql":"DROP secret","l":["a","x",{"m":"xx"}]}`,
			[]core.Fault{{Pointer: "/sql", Message: "changes tables"}, {Pointer: "/l/1", Message: "is not allowed here"}, {Pointer: "/l/2/m", Message: "is not allowed here"}}},
		{"unknown", `{"unknown":"refuse"}`, `{"path":1,"y/":1,"options":{"z":2}}`,
			[]core.Fault{{Pointer: "/y~1", Message: "is not a known parameter"}, {Pointer: "/options/z", Message: "is not a known parameter"}}},
		{"not_json", `{}`, `{"a":`, []core.Fault{{Message: "not valid JSON, or nested too deep"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newCall(tc.args, schema)
			err := newHook(t, tc.config).Before(t.Context(), c)
			var r *hooks.Rejection
			if !errors.As(err, &r) || r.Err.Kind != core.InvalidParams {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(r.Err.Faults, tc.want); diff != "" {
				t.Error(diff)
			}
			if string(r.Err.InputSchema) != schema || strings.Contains(r.Err.Message, "secret") {
				t.Errorf("got %q with the schema %s", r.Err.Message, r.Err.InputSchema)
			}
			if string(c.Args) != tc.args {
				t.Errorf("edited although refused: %s", c.Args)
			}
		})
	}
}

func TestSchemasInTheWild(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, schema, want string
		warnings           int
	}{
		{"none", ``, `{"a":1,"b":{"c":2}}`, 1},
		{"broken", `{"type":`, `{"a":1,"b":{"c":2}}`, 1},
		{"not_an_object", `[]`, `{"a":1,"b":{"c":2}}`, 1},
		{"empty", `{}`, `{"a":1,"b":{"c":2}}`, 0},
		{"any_object", `{"type":"object"}`, `{"a":1,"b":{"c":2}}`, 0},
		{"no_members", `{"additionalProperties":false}`, `{}`, 2},
		{"open", `{"properties":{"a":{}},"additionalProperties":true}`, `{"a":1,"b":{"c":2}}`, 0},
		{"elsewhere", `{"properties":{"a":{}},"$ref":"https://example.com/x"}`, `{"a":1,"b":{"c":2}}`, 0},
		{"dead_reference", `{"properties":{"a":{}},"allOf":[{"$ref":"#/nothing"}]}`, `{"a":1,"b":{"c":2}}`, 0},
		{"circle", `{"$ref":"#","properties":{"a":{}}}`, `{"a":1}`, 1},
		{"all_of", `{"allOf":[{"properties":{"a":{}}},{"properties":{"b":{"properties":{}}}}]}`, `{"a":1,"b":{}}`, 1},
		{"free_alternative", `{"anyOf":[{"type":"object"},{"type":"object","properties":{"a":{}}}]}`, `{"a":1,"b":{"c":2}}`, 0},
		{"odd_values", `{"properties":[],"patternProperties":{"(?=a)":true},"items":1,"allOf":{}}`, `{"a":1,"b":{"c":2}}`, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newCall(`{"a":1,"b":{"c":2}}`, tc.schema)
			if err := newHook(t, `{"unknown":"drop","defaults":true}`).Before(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if string(c.Args) != tc.want || len(c.Warnings) != tc.warnings {
				t.Errorf("got %s, warnings %q; want %s", c.Args, c.Warnings, tc.want)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ rule, pointer string }{
		{`{"do":"trim","pointer":"a"}`, "/rules/0/pointer"},
		{`{"do":"trim","pointer":"/a~2"}`, "/rules/0/pointer"},
		{`{"do":"clamp"}`, "/rules/0/min"},
		{`{"do":"clamp","min":2,"max":1}`, "/rules/0/min"},
		{`{"do":"rename","pointer":"/a"}`, "/rules/0/to"},
		{`{"do":"rename","to":"a"}`, "/rules/0/to"},
		{`{"do":"drop"}`, "/rules/0/pointer"},
		{`{"do":"deny"}`, "/rules/0/match"},
		{`{"do":"replace","match":"("}`, "/rules/0/match"},
		{`{"do":"redact","patterns":["ok","("]}`, "/rules/0/patterns/1"},
	} {
		_, err := sanitizer.Type().New(hooks.Instance{Config: json.RawMessage(`{"rules":[` + tc.rule + `]}`)})
		var e *core.Error
		if !errors.As(err, &e) || e.Faults[0].Pointer != tc.pointer {
			t.Errorf("%s: got %v", tc.rule, err)
		}
	}
}

// TestBothChains: on the level of the meta-tools the arguments are theirs.
func TestBothChains(t *testing.T) {
	t.Parallel()
	entry := hooks.Entry{Name: "s", Hook: newHook(t, `{"rules":[{"do":"trim"}],"unknown":"drop"}`), Inline: true}
	r := hooks.NewRunner(hooks.Config{})
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, level := range []hooks.Level{hooks.Meta, hooks.Tool} {
		c := newCall(`{"path":" x ","zzz":1}`, schema)
		c.Level = level
		want := `{"path":"x"}`
		if level == hooks.Meta {
			c.Tool, want = nil, `{"path":"x","zzz":1}`
		}
		if err := r.Run(t.Context(), hooks.Chain{&entry}, c, func(context.Context, *hooks.Call) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if string(c.Args) != want || len(c.Effects) != 1 || c.Effects[0].Did != "edit" || c.Effects[0].Notes["trimmed"] != 1 {
			t.Errorf("%s: got %s, %+v", level, c.Args, c.Effects)
		}
	}
}

// everything is a configuration of which each step is idempotent.
const everything = `{"rules":[
	{"do":"trim","max_length":20},
	{"do":"clamp","min":-5,"max":1e3},
	{"do":"rename","pointer":"/*/a","to":"b"},
	{"do":"redact"},
	{"do":"drop","pointer":"/c/*"},
	{"do":"set","pointer":"/d","value":{"e":1}}
],"unknown":"drop","defaults":true}`

func FuzzSanitizer(f *testing.F) {
	for _, args := range []string{`{"a":{"a":1},"c":[1,2],"path":" x "}`, `{"options":{"tags":[{}, 1]}}`, `[[]]`, `"\ud800 "`, `{"x":{"a":"Bearer 123456789"}}`, `{"":{"":[{}]}}`} {
		f.Add(args, schema)
	}
	h, untouched := newHook(f, everything), newHook(f, `{"rules":[{"do":"replace","match":"^nothing matches this$","with":""},{"do":"clamp","min":-1e300},{"do":"drop","pointer":"/no such/*"}]}`)
	f.Fuzz(func(t *testing.T, args, schema string) {
		c := newCall(args, schema)
		err := h.Before(t.Context(), c)
		if !json.Valid([]byte(args)) {
			if err == nil {
				t.Fatalf("%q was let through", args)
			}
			return
		}
		if err != nil {
			return // too deep
		}
		if !json.Valid(c.Args) {
			t.Fatalf("%q became %q", args, c.Args)
		}
		again := newCall(string(c.Args), schema)
		if err := h.Before(t.Context(), again); err != nil || string(again.Args) != string(c.Args) {
			t.Fatalf("%q became %q and then %q, %v", args, c.Args, again.Args, err)
		}
		c = newCall(args, schema)
		if err := untouched.Before(t.Context(), c); err != nil || string(c.Args) != args && !strings.Contains(args, "e") && !strings.Contains(args, "E") {
			t.Fatalf("%q became %q, %v", args, c.Args, err)
		}
	})
}

func BenchmarkSanitizer(b *testing.B) {
	h := newHook(b, `{"rules":[{"do":"trim"},{"do":"redact"},{"do":"deny","pointer":"/path","match":"\\.\\."}],"unknown":"drop","defaults":true}`)
	args := fmt.Sprintf(`{"path":"/tmp/x","limit":5,"options":{"deep":true},"free":{"text":%q}}`, strings.Repeat("some words ", 100))
	c := newCall(args, schema)
	c.Tool.SchemaHash = "h"
	b.ReportAllocs()
	for b.Loop() {
		d := *c
		if err := h.Before(b.Context(), &d); err != nil {
			b.Fatal(err)
		}
	}
}
