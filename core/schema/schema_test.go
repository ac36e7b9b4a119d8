package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/schema"
)

// check holds arguments against a schema: the faults, and why it could not.
func check(text, args string) ([]core.Fault, string) {
	in, faults := schema.DecodeObject(json.RawMessage(args))
	if len(faults) > 0 {
		return faults, ""
	}
	return schema.Compile(json.RawMessage(text)).Check(in)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const issue = `{"type":"object","properties":{"owner":{"type":"string"},"n":{"type":"integer","minimum":1},` +
		`"labels":{"type":"array","items":{"type":"string"}},"state":{"enum":["open","closed"]}},"required":["owner","n"],"additionalProperties":false}`
	for _, tc := range []struct {
		name, schema, args string
		want               []core.Fault
	}{
		{"valid", issue, `{"owner":"a","n":1}`, nil},
		{"every_fault", issue, `{"n":0,"labels":["a",2],"state":"x","more/~":1}`, []core.Fault{
			{Pointer: "/owner", Message: "is required"},
			{Pointer: "/more~1~0", Message: "is not a known parameter"},
			{Pointer: "/labels/1", Message: "got number, want string"},
			{Pointer: "/n", Message: "minimum: got 0, want 1"},
			{Pointer: "/state", Message: "value must be one of 'open', 'closed'"}}},
		{"exact_integers", `{"properties":{"n":{"const":9007199254740993}}}`, `{"n":9007199254740992}`,
			[]core.Fault{{Pointer: "/n", Message: "value must be 9007199254740993"}}},
		{"draft_07", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}`,
			`{"a":[1]}`, []core.Fault{{Pointer: "/a/0", Message: "got number, want string"}}},
		{"draft_2020_by_default", `{"properties":{"a":{"prefixItems":[{"type":"string"}]}}}`,
			`{"a":[1]}`, []core.Fault{{Pointer: "/a/0", Message: "got number, want string"}}},
		{"references", `{"$defs":{"p":{"type":"object","required":["x"]}},"properties":{"p":{"$ref":"#/$defs/p"}}}`,
			`{"p":{}}`, []core.Fault{{Pointer: "/p/x", Message: "is required"}}},
		{"recursive_schema", `{"$defs":{"tree":{"type":"object","properties":{"left":{"$ref":"#/$defs/tree"},"right":{"$ref":"#/$defs/tree"},"v":{"type":"number"}}}},"$ref":"#/$defs/tree"}`,
			`{"left":{"left":{"right":{"v":"x"}}},"right":{}}`, []core.Fault{{Pointer: "/left/left/right/v", Message: "got string, want number"}}},
		{"not_an_object", issue, `[]`, []core.Fault{{Message: "got array, want object"}}},
		{"not_json", issue, `{"owner"`, []core.Fault{{Message: "not valid JSON"}}},
		{"trailing", issue, `{"owner":"a","n":1} {}`, []core.Fault{{Message: "not valid JSON"}}},
		{"name_twice", issue, `{"owner":"a","n":1,"owner":"b"}`, []core.Fault{{Pointer: "/owner", Message: "the name occurs twice"}}},
		{"names_are_case_sensitive", issue, `{"Owner":"a","n":1,"owner":"b"}`, []core.Fault{{Pointer: "/Owner", Message: "is not a known parameter"}}},
		{"huge_number", issue, `{"owner":"a","n":1e999999999}`, []core.Fault{{Pointer: "/n", Message: "the number is out of range"}}},
		{"long_number", issue, `{"owner":"a","n":1` + strings.Repeat("0", 500) + `}`, []core.Fault{{Pointer: "/n", Message: "the number is out of range"}}},
		{"exotic_pattern", `{"properties":{"a":{"type":"string","pattern":"^(?!x)"},"b":{"type":"string"}}}`,
			`{"a":"x","b":1}`, []core.Fault{{Pointer: "/b", Message: "got number, want string"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, warning := check(tc.schema, tc.args)
			if warning != "" {
				t.Error(warning)
			}
			byPointer := cmp.Transformer("sort", func(fs []core.Fault) map[core.Fault]bool {
				m := map[core.Fault]bool{}
				for _, f := range fs {
					m[f] = true
				}
				return m
			})
			if diff := cmp.Diff(got, tc.want, byPointer); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckTooDeep(t *testing.T) {
	t.Parallel()
	faults, _ := check(`{}`, strings.Repeat(`{"a":`, 5000)+"1"+strings.Repeat("}", 5000))
	if len(faults) != 1 || !strings.Contains(faults[0].Message, "nested deeper") {
		t.Errorf("got %v", faults)
	}
}

func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `,"p%d":1`, i)
	}
	faults, _ := check(`{"additionalProperties":false}`, `{"a":1`+b.String()+`}`)
	if len(faults) != 20 {
		t.Errorf("got %d faults, want 20", len(faults))
	}
}

// TestUnusableSchemas: none of these keeps a tool from being called, and none
// takes long.
func TestUnusableSchemas(t *testing.T) {
	t.Parallel()
	clique := func(n int) string {
		var defs []string
		for i := range n {
			var refs []string
			for j := range n {
				refs = append(refs, fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, j))
			}
			defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[%s]}`, i, strings.Join(refs, ",")))
		}
		return `{"$defs":{` + strings.Join(defs, ",") + `},"$ref":"#/$defs/d0"}`
	}
	doubling := func(n int) string {
		var defs []string
		for i := range n {
			defs = append(defs, fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
		}
		return `{"$defs":{` + strings.Join(defs, ",") + fmt.Sprintf(`,"d%d":{"type":"string"}},"$ref":"#/$defs/d0"}`, n)
	}
	for name, schema := range map[string]string{
		"remote_reference": `{"properties":{"a":{"$ref":"https://example.com/schema.json"}}}`,
		"file_reference":   `{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`,
		"lost_reference":   `{"properties":{"a":{"$ref":"#/$defs/nowhere"}}}`,
		"wrong_types":      `{"type":"objekt","properties":{"a":{"type":7}}}`,
		"unknown_dialect":  `{"$schema":"https://example.com/draft-99"}`,
		"not_a_schema":     `[1,2]`,
		"not_json":         `{"type":`,
		"empty":            ``,
		"too_deep":         strings.Repeat(`{"not":`, 3000) + "true" + strings.Repeat("}", 3000),
		"too_large":        `{"description":"` + strings.Repeat("x", 2<<20) + `"}`,
		"circle":           `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`,
		"clique":           clique(12),
		"doubling":         doubling(60),
		"doubling_by_depth": `{"$defs":{"d":{"properties":{"a":{"$ref":"#/$defs/d"}},"additionalProperties":{"$ref":"#/$defs/d"},` +
			`"patternProperties":{"a":{"$ref":"#/$defs/d"},"^a":{"$ref":"#/$defs/d"},"a$":{"$ref":"#/$defs/d"}}}},"$ref":"#/$defs/d"}`,
		"huge_number": `{"properties":{"a":{"minimum":1e999999999}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)
			faults, warning := check(schema, args)
			if len(faults) != 0 || warning == "" {
				t.Errorf("got faults %v, warning %q", faults, warning)
			}
			if len(warning) > 600 || strings.Contains(warning, "root:") {
				t.Errorf("warning: %s", warning)
			}
		})
	}
}

// TestCostlySchema: a thousand alternatives are fine for a few values, and too many
// for a long list of them.
func TestCostlySchema(t *testing.T) {
	t.Parallel()
	values := strings.TrimSuffix(strings.Repeat(`{"const":1},`, 1000), ",")
	for name, schema := range map[string]string{
		"alternatives": `{"properties":{"a":{"items":{"anyOf":[` + values + `]}}}}`,
		"values":       `{"properties":{"a":{"items":{"enum":[` + strings.Repeat("1,", 5000) + `2]}}}}`,
	} {
		for n, want := range map[int]string{10: "", 5000: "it takes too long"} {
			faults, warning := check(schema, `{"a":[`+strings.Repeat("2,", n)+`2]}`)
			if warning != want || (len(faults) > 0) != (want == "" && name == "alternatives") {
				t.Errorf("%s of %d: got %d faults, warning %q", name, n, len(faults), warning)
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(`{"properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":1}}`)
	f.Add(`{"$dynamicRef":"#m","$dynamicAnchor":"m"}`, `{}`)
	f.Add(`{"patternProperties":{"(":{}},"uniqueItems":true}`, `{"a":[1,1.0,1e0]}`)
	f.Add(`{"$id":"x","$anchor":"y","allOf":[true,false,{"not":{}}]}`, `{"\u0061":1,"a":1}`)
	f.Add(`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`, `null`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		faults, _ := check(schema, args)
		if len(faults) > 20 {
			t.Errorf("%d faults", len(faults))
		}
		if len(faults) == 0 && !json.Valid([]byte(args)) {
			t.Errorf("%q passes", args)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	args := json.RawMessage(`{"owner":"octo","repo":"cat","title":"It is broken","body":"` + strings.Repeat("word ", 100) + `","labels":["a","b"]}`)
	compiled := schema.Compile(json.RawMessage(`{"type":"object","properties":{"owner":{"type":"string"},"repo":{"type":"string"},"title":{"type":"string"},` +
		`"body":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}}},"required":["owner","repo","title"]}`))
	b.ReportAllocs()
	for b.Loop() {
		in, _ := schema.DecodeObject(args)
		if faults, _ := compiled.Check(in); faults != nil {
			b.Fatal(faults)
		}
	}
}
