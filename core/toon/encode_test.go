package toon_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core/toon"
)

func lines(s ...string) string { return strings.Join(s, "\n") }

// TestEncode has a case for each rule of the specification that encoders follow, by
// its section.
func TestEncode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"2_order_is_kept", `{"z":1,"a":2,"m":3}`, lines("z: 1", "a: 2", "m: 3")},
		{"2_exponents_are_written_out", `[1e3,25e-1,-4E+2,1e-6,9e20]`, "[5]: 1000,2.5,-400,0.000001,900000000000000000000"},
		{"2_exponents_outside_the_range_stay", `[1E21,1.50e-7,-12e30]`, "[3]: 1e+21,1.5e-7,-1.2e+31"},
		{"2_trailing_zeros_go", `[2.50,3.000,10,0.0]`, "[4]: 2.5,3,10,0"},
		{"2_negative_zero_is_zero", `[-0,-0.0,-0e3]`, "[3]: 0,0,0"},
		{"2_digits_are_kept", `[90071992547409931,0.12345678901234567890123,123456789012345678901234567890]`,
			"[3]: 90071992547409931,0.12345678901234567890123,123456789012345678901234567890"},
		{"5_empty_object", ` { } `, ""},
		{"5_primitive", `"plain words"`, "plain words"},
		{"5_empty_array", `[]`, "[]"},
		{"7.1_escapes", `{"s":"q\" b\\ n\n r\r t\t \u0000 \u001f \u007f é 🚀"}`, `s: "q\" b\\ n\n r\r t\t \u0000 \u001f ` + "\x7f é 🚀\""},
		{"7.1_json_escapes_are_resolved", `["\u00e9\/\ud83d\ude80"]`, "[1]: é/🚀"},
		{"7.2_quotes", `["", " x", "x ", "true", "007", "+3", "1e2", "a:b", "a[0]", "}", "-x", "#x"]`,
			`[12]: ""," x","x ","true","007","+3","1e2","a:b","a[0]","}","-x","#x"`},
		{"7.2_no_quotes", `["True", "nil", "1.2.3", "0x1f", "1,5", "a-b", "a#b", "e5", ".5", "a  b", "\u00a0"]`,
			"[11]: True,nil,1.2.3,0x1f,\"1,5\",a-b,a#b,e5,.5,a  b,\u00a0"},
		{"7.3_keys", `{"_a.B9":1,"9a":2,"a b":3,"":4,"ä":5,".a":6,"a-b":7,"true":8}`,
			lines("_a.B9: 1", `"9a": 2`, `"a b": 3`, `"": 4`, `"ä": 5`, `".a": 6`, `"a-b": 7`, "true: 8")},
		{"8_nested_and_empty", `{"a":{"b":{}},"c":null}`, lines("a:", "  b:", "c: null")},
		{"9.1_inline", `{"a":["x",1,null,true],"b":[]}`, lines("a[4]: x,1,null,true", "b: []")},
		{"9.2_arrays_in_arrays", `{"a":[[1,2],[],["x"]]}`, lines("a[3]:", "  - [2]: 1,2", "  - [0]:", "  - [1]: x")},
		{"9.3_table", `{"a":[{"x":1,"y":"p,q"},{"y":"r","x":2}]}`, lines("a[2]{x,y}:", `  1,"p,q"`, "  2,r")},
		{"9.3_one_row", `[{"only":true}]`, lines("[1]{only}:", "  true")},
		{"9.3_groups", `[{"n":{"b":1,"a":{"c":2}},"m":3},{"m":6,"n":{"a":{"c":5},"b":4}}]`, lines("[2]{n{b,a{c}},m}:", "  1,2,3", "  4,5,6")},
		{"9.3_missing_key_is_no_table", `[{"x":1,"y":2},{"x":3}]`, lines("[2]:", "  - x: 1", "    y: 2", "  - x: 3")},
		{"9.3_other_key_is_no_table", `[{"x":1},{"y":1}]`, lines("[2]:", "  - x: 1", "  - y: 1")},
		{"9.3_array_in_a_column_is_no_table", `[{"x":[]},{"x":1}]`, lines("[2]:", "  - x: []", "  - x: 1")},
		{"9.3_group_with_other_keys_is_no_table", `[{"x":{"a":1}},{"x":{"a":1,"b":2}}]`,
			lines("[2]:", "  - x:", "      a: 1", "  - x:", "      a: 1", "      b: 2")},
		{"9.4_mixed", `[1,"-",{"a":[{"b":1}]},[{"c":1}],{},[]]`,
			lines("[6]:", "  - 1", `  - "-"`, "  - a[1]{b}:", "      1", "  - [1]:", "    - c: 1", "  -", "  - [0]:")},
		{"9.5_keyed", `{"m":{"x":{"v":1,"w":{"u":2}},"y z":{"w":{"u":4},"v":3}}}`, lines("m[2:]{v,w{u}}:", "  x: 1,2", `  "y z": 3,4`)},
		{"9.5_keyed_root", `{"x":{"v":"a:b"},"y":{"v":""}}`, lines("[2:]{v}:", `  x: "a:b"`, `  y: ""`)},
		{"9.5_one_entry_is_none", `{"m":{"x":{"v":1}}}`, lines("m:", "  x:", "    v: 1")},
		{"9.5_group_before_entries", `[{"m":{"x":{"v":1},"y":{"v":2}}}]`, lines("[1]{m{x{v},y{v}}}:", "  1,2")},
		{"10_table_on_the_hyphen", `[{"t":[{"a":1},{"a":2}],"z":3}]`, lines("[1]:", "  - t[2]{a}:", "      1", "      2", "    z: 3")},
		{"10_keyed_on_the_hyphen", `[{"t":{"p":{"a":1},"q":{"a":2}},"z":[]}]`, lines("[1]:", "  - t[2:]{a}:", "      p: 1", "      q: 2", "    z: []")},
		{"10_list_on_the_hyphen", `[{"t":[1,[2]],"z":3}]`, lines("[1]:", "  - t[2]:", "      - 1", "      - [1]: 2", "    z: 3")},
		{"10_object_on_the_hyphen", `[{"t":{"a":[]},"z":3}]`, lines("[1]:", "  - t:", "      a: []", "    z: 3")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := toon.Encode(tc.in, toon.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, tc.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

// TestEncode_delimiters holds §11.1: quotes depend on the delimiter, wherever a
// string stands.
func TestEncode_delimiters(t *testing.T) {
	t.Parallel()
	const in = `{"v":"a,b|c","l":["a,b","c|d","e\tf"],"t":[{"x,y":1,"z":"|"},{"x,y":2,"z":","}],"m":{"p":{"q":"|"},"r":{"q":","}},"i":["a,b",{}]}`
	for delimiter, want := range map[byte]string{
		',': lines(`v: "a,b|c"`, `l[3]: "a,b",c|d,"e\tf"`, `t[2]{"x,y",z}:`, "  1,|", `  2,","`, "m[2:]{q}:", "  p: |", `  r: ","`, "i[2]:", `  - "a,b"`, "  -"),
		'|': lines(`v: "a,b|c"`, `l[3|]: a,b|"c|d"|"e\tf"`, `t[2|]{"x,y"|z}:`, `  1|"|"`, "  2|,", "m[2:|]{q}:", `  p: "|"`, "  r: ,", "i[2|]:", "  - a,b", "  -"),
		'\t': lines("v: a,b|c", "l[3\t]: a,b\tc|d\t\"e\\tf\"", "t[2\t]{\"x,y\"\tz}:", "  1\t|", "  2\t,", "m[2:\t]{q}:", "  p: |", "  r: ,",
			"i[2\t]:", "  - a,b", "  -"),
	} {
		got, err := toon.Encode(in, toon.Options{Delimiter: delimiter})
		if diff := cmp.Diff(got, want); diff != "" || err != nil {
			t.Errorf("%q: %v (-got +want):\n%s", delimiter, err, diff)
		}
	}
}

func TestEncode_indent(t *testing.T) {
	t.Parallel()
	got, err := toon.Encode(`{"a":{"b":[{"c":[1,[]]}]}}`, toon.Options{Indent: 3})
	want := lines("a:", "   b[1]:", "      - c[2]:", "            - 1", "            - [0]:")
	if diff := cmp.Diff(got, want); diff != "" || err != nil {
		t.Errorf("%v (-got +want):\n%s", err, diff)
	}
}

// TestEncode_refused lists what is no JSON, and what TOON cannot say.
func TestEncode_refused(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", " ", "{", "[", "[1", "[1,]", "[,1]", "[1 2]", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{'a':1}`, `{1:2}`, `{"a":1 "b":2}`, "]", "[1]]", "[1] x",
		"tru", "truex", "nul", "NaN", "Infinity", "-", "+1", "01", "-01", "1.", ".1", "1e", "1e+", "0x1", "1_000", "--1", `"`, `"a`, `"\"`, `"\x"`, `"\u12"`,
		`"\u12g4"`, "\"\n\"", "\"\x00\"", `"\`, `"\u`, "\ufeff[]", "// x\n1", "/**/1",
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `[{"b":{"a":1,"a":1}}]`, `["\ud800"]`, `["\ud800\u0041"]`, `["\udc00"]`, `["\ud800\ud800"]`, `{"\ud800":1}`,
		"[\"\xff\"]", "[\"\xed\xa0\x80\"]", "\xff",
	} {
		if got, err := toon.Encode(in, toon.Options{}); err == nil {
			t.Errorf("%q became %q, want an error", in, got)
		}
	}
}

func TestEncode_bounds(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	if _, err := toon.Encode(deep(toon.MaxDepth), toon.Options{}); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	for _, n := range []int{toon.MaxDepth + 1, 1_000_000} {
		if _, err := toon.Encode(deep(n), toon.Options{}); !errors.Is(err, toon.ErrTooDeep) {
			t.Errorf("%d levels: %v, want %v", n, err, toon.ErrTooDeep)
		}
	}
	// Each of the inner lists stands on a line of its own, behind 400 spaces.
	wide := strings.Repeat("[", 200) + strings.Repeat("[[]],", 10_000) + "1" + strings.Repeat("]", 200)
	if _, err := toon.Encode(wide, toon.Options{Limit: 100_000}); !errors.Is(err, toon.ErrTooLong) {
		t.Errorf("%v, want %v", err, toon.ErrTooLong)
	}
	for _, in := range []string{"-0", `{"a":[-0.00]}`, `[{"a":1},{"a":-0E9}]`} {
		if _, err := toon.Encode(in, toon.Options{Exact: true}); !errors.Is(err, toon.ErrInexact) {
			t.Errorf("%s: %v, want %v", in, err, toon.ErrInexact)
		}
	}
	for _, o := range []toon.Options{{Delimiter: ';'}, {Indent: -1}, {Limit: -1}} {
		if _, err := toon.Encode("1", o); err == nil {
			t.Errorf("%+v: no error", o)
		}
		if _, err := toon.Decode("1", o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// TestEncode_wide has objects with many keys in opposite orders, whose columns are
// found by an index, and many keys twice.
func TestEncode_wide(t *testing.T) {
	t.Parallel()
	var up []string
	for i := range 20_000 {
		up = append(up, fmt.Sprintf(`"k%d":1`, i))
	}
	down := slices.Clone(up)
	slices.Reverse(down)
	in := "[{" + strings.Join(up, ",") + "},{" + strings.Join(down, ",") + "}]"
	out, err := toon.Encode(in, toon.Options{})
	if err != nil || strings.Count(out, "\n") != 2 {
		t.Fatalf("%d lines, %v; want a table of two rows", strings.Count(out, "\n")+1, err)
	}
	if _, err := toon.Encode("{"+strings.Join(append(up, up[0]), ",")+"}", toon.Options{}); err == nil {
		t.Error("a key twice among many: no error")
	}
}
