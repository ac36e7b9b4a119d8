package core_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolscout/toolscout/core"
)

func TestSignature(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, schema, want string }{
		{"order", `{"properties":{"body":{"type":"string"},"owner":{"type":"string"},"repo":{"type":"string"}},"required":["repo","owner"]}`,
			`(owner: string, repo: string, body?: string)`},
		{"types", `{"properties":{"a":{"type":"integer"},"b":{"type":"number"},"c":{"type":"boolean"},"d":{"type":["string","null"]},"e":{}},"required":["a","b","c","d","e"]}`,
			`(a: integer, b: number, c: boolean, d: string|null, e: any)`},
		{"enum", `{"properties":{"state":{"type":"string","enum":["open","closed"]},"v":{"const":2}}}`,
			`(state?: "open"|"closed", v?: 2)`},
		{"long_enum", `{"properties":{"n":{"enum":[1,2,3,4,5,6,7,8,9,10]}}}`, `(n?: 1|2|3|4|5|6|7|8|…)`},
		{"arrays", `{"properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"type":"array"},"c":{"type":"array","items":{"enum":["x","y"]}}}}`,
			`(a?: string[], b?: any[], c?: ("x"|"y")[])`},
		{"nested", `{"properties":{"o":{"type":"object","properties":{"x":{"type":"number"},"p":{"type":"object","properties":{"q":{}}}},"required":["x"]}}}`,
			`(o?: {x: number, p?: object})`},
		{"objects_in_array", `{"properties":{"es":{"type":"array","items":{"type":"object","properties":{"n":{"type":"string"},"t":{"type":"array","items":{"type":"string"}}},"required":["n","t"]}}}}`,
			`(es?: {n: string, t: string[]}[])`},
		{"any_of", `{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, `(a?: integer|null)`},
		{"local_reference", `{"$defs":{"P":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}},"properties":{"p":{"$ref":"#/$defs/P"}},"required":["p"]}`,
			`(p: {x: integer})`},
		{"format", `{"properties":{"u":{"type":"string","format":"uri"},"d":{"type":"string","pattern":"^\\d{4}$"}},"required":["u"]}`,
			`(u: string<uri>, d?: string</^\d{4}$/>)`},
		{"required_deep_down", `{"properties":{"f":{"items":{"properties":{"g":{"type":"array","items":{"properties":{"name":{"type":"string"},"note":{}},"required":["name"]}}},"required":["g"]}}},"required":["f"]}`,
			`(f: {g: {name: string, …}[]}[])`},
		{"union_in_array", `{"properties":{"a":{"type":"array","items":{"anyOf":[{"type":"object","properties":{"x":{}}},{"type":"string"}]}}}}`,
			`(a?: ({x?: any}|string)[])`},
		{"circular_reference", `{"$defs":{"P":{"$ref":"#/$defs/P"}},"properties":{"p":{"$ref":"#/$defs/P"}}}`, `(p?: any)`},
		{"odd_names", `{"properties":{"a b":{"type":"string"},"x-y.z":{"type":"string"},"":{},"é":{}}}`, `("a b"?: string, x-y.z?: string, ""?: any, é?: any)`},
		{"broken_required", `{"properties":{"a":{"type":7}},"required":"a"}`, `(a?: any)`},
		{"no_parameters", `{"type":"object"}`, `()`},
		{"not_a_schema", `"string"`, `()`},
		{"empty", ``, `()`},
		{"broken", `{"properties":{"a":`, `()`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := core.Signature(json.RawMessage(tc.schema)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestSignatureIsBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 200 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"parameter_` + strings.Repeat("x", i) + `":{"type":"string"}`)
	}
	got := core.Signature(json.RawMessage(`{"properties":{` + b.String() + `}}`))
	if len(got) > 310 || !strings.HasSuffix(got, ", …)") {
		t.Errorf("got %d bytes: %s", len(got), got)
	}
}

func FuzzSignature(f *testing.F) {
	for _, seed := range []string{
		`{"properties":{"a":{"type":["array","object"],"items":[{"$ref":"#/definitions/b"}]}},"definitions":{"b":{"$ref":"#/definitions/b"}}}`,
		`{"properties":{"a":{"enum":["\u0000","\n",{"x":[1e400]}]}},"required":["a",1]}`,
		`{"properties":[]}`, `{"properties":{"a":true}}`, `[`, `null`,
		`{"properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 50) + `1` + strings.Repeat(`}`, 50) + `}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		got := core.Signature(schema)
		if !strings.HasPrefix(got, "(") || !strings.HasSuffix(got, ")") || strings.ContainsAny(got, "\n\r\x00") ||
			len(got) > 1010 || !utf8.ValidString(got) {
			t.Errorf("%q gives %q", schema, got)
		}
	})
}
