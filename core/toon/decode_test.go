package toon_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core/toon"
)

// TestDecode has a case for each rule of the specification that decoders follow, by
// its section. The answers are the same in strict mode and outside of it.
func TestDecode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"2_order_is_kept", lines("z: 1", "a: 2"), `{"z":1,"a":2}`},
		{"4_numbers", "[7]: 1.50,-0,2E+2,1e400,00,12345678901234567890,0e5", `[1.5,0,200,1e+400,"00",12345678901234567890,0]`},
		{"4_not_numbers", "[8]: +1,.5,1.,0x1,1_0,NaN,--1,1e", `["+1",".5","1.","0x1","1_0","NaN","--1","1e"]`},
		{"4_literals", "[5]: true,True,null,nul,false", `[true,"True",null,"nul",false]`},
		{"4_quoted_is_text", `[3]: "true","1",""`, `["true","1",""]`},
		{"5_nothing", "", `{}`},
		{"5_blank", "\n  \n\n", `{}`},
		{"5_primitive", "two words", `"two words"`},
		{"5_primitive_with_brackets", "a[2] b", `"a[2] b"`},
		{"5_quoted_primitive", `"a: b"`, `"a: b"`},
		{"5_empty_arrays", "[0]:", `[]`},
		{"5.1_comments", lines("# first", "a:", "      # deep", "  b: 1 # no comment", "# last"), `{"a":{"b":"1 # no comment"}}`},
		{"5.1_comment_in_a_table", lines("t[2]{a}:", "  1", "# between", "  2"), `{"t":[{"a":1},{"a":2}]}`},
		{"5.2_colon_before_bracket", "a:b[2]: x", `{"a":"b[2]: x"}`},
		{"5.2_quoted_colon_before_bracket", `"a:b"[2]: x,y`, `{"a:b":["x","y"]}`},
		{"5.2_hyphen_outside_of_a_list", "- a: 1", `{"- a":1}`},
		{"7.1_escapes", `"\"\\\n\r\t\u0000\u00e9\uFFFD"`, `"\"\\\n\r\t\u0000é` + "\ufffd\""},
		{"7.1_tab_in_quotes", "a: \"x\ty\"", `{"a":"x\ty"}`},
		{"7.4_any_key", lines("a-b: 1", "2: 3", "ä ö: 4", ": 5"), `{"a-b":1,"2":3,"ä ö":4,"":5}`},
		{"7.4_any_field", lines("x[1]{a-b,9,\"c,d\"}:", "  1,2,3"), `{"x":[{"a-b":1,"9":2,"c,d":3}]}`},
		{"7.4_unquoted_values", lines("a: -x", "b: [1", "c: {}", "d: x: y", `e: say "hi"`), `{"a":"-x","b":"[1","c":"{}","d":"x: y","e":"say \"hi\""}`},
		{"8_dots_mean_nothing", lines("a.b: 1", "a:", "  b: 2"), `{"a.b":1,"a":{"b":2}}`},
		{"8_empty_and_nested", lines("a:", "b:", "  c:", "    d: 1", "e: 2"), `{"a":{},"b":{"c":{"d":1}},"e":2}`},
		{"9.1_empty", lines("a: []", "b[0]:", "c[0|]:"), `{"a":[],"b":[],"c":[]}`},
		{"9.1_empty_tokens", "a[3]: ,x,", `{"a":["","x",""]}`},
		{"9.1_one_empty", `a[1]: ""`, `{"a":[""]}`},
		{"9.2_lists", lines("a[4]:", "  - [2]: 1,2", "  - []", "  - [0]:", "  - [1|]: a,b"), `{"a":[[1,2],[],[],["a,b"]]}`},
		{"9.3_table", lines("a[2]{x,y{z}}:", "  1,p:q", `  "r,s",[]`), `{"a":[{"x":1,"y":{"z":"p:q"}},{"x":"r,s","y":{"z":"[]"}}]}`},
		{"9.4_mixed", lines("[4]:", "  - x", "  -", "  - a: 1", "    b[1]: 2", "  - [2]:", "    - 1", "    - c:"), `["x",{},{"a":1,"b":[2]},[1,{"c":{}}]]`},
		{"9.5_keyed", lines("m[2:]{v,w}:", `  "a:b": 1,x:y`, "  c[3]: 2,[]"), `{"m":{"a:b":{"v":1,"w":"x:y"},"c[3]":{"v":2,"w":"[]"}}}`},
		{"9.5_keyed_root", lines("[1:|]{v}:", "  a: x,y"), `{"a":{"v":"x,y"}}`},
		{"9.5_no_entries", "m[0:]{v}:", `{"m":{}}`},
		{"10_table_on_the_hyphen", lines("[1]:", "  - t[1]{a}:", "      1", "    z: 3"), `[{"t":[{"a":1}],"z":3}]`},
		{"10_keyed_on_the_hyphen", lines("[1]:", "  - t[1:]{a}:", "      k: 1", "    z: 3"), `[{"t":{"k":{"a":1}},"z":3}]`},
		{"10_nested_on_the_hyphen", lines("[2]:", "  - t:", "      a: 1", "    z: 3", "  - u[1]:", "      - [1]: 4"), `[{"t":{"a":1},"z":3},{"u":[[4]]}]`},
		{"11_nearest_delimiter", lines("a[1\t]:", "  - b[2|]: x,y|z", "    c[2]: p|q,r"), `{"a":[{"b":["x,y","z"],"c":["p|q","r"]}]}`},
		{"11_delimiter_in_groups", lines("a[1|]{b|c{d|e}}:", "  1|2|3,4"), `{"a":[{"b":1,"c":{"d":2,"e":"3,4"}}]}`},
		{"12_byte_order_mark", "\ufeffa: 1", `{"a":1}`},
		{"12_mark_elsewhere", "a: \ufeffb", `{"a":"` + "\ufeff" + `b"}`},
		{"12_carriage_returns", "a:\r\n  b: 1\r\n\r\n  c: x\ry\r\n", `{"a":{"b":1,"c":"x\ry"}}`},
		{"12_spaces_around", lines("a :  1  ", "b[2]:  x ,  y  ", "t[1]{ c , d }:", "  1 , 2 "), `{"a":1,"b":["x","y"],"t":[{"c":1,"d":2}]}`},
		{"12_other_spaces_count", "a: \u00a0x", `{"a":"` + "\u00a0" + `x"}`},
		{"12_blank_lines_outside", lines("", "a[1]:", "", "  - 1", "", "b:", "", "  c: 1", "", "  d: 2", ""), `{"a":[1],"b":{"c":1,"d":2}}`},
		{"15_no_key_is_special", lines("__proto__: 1", "constructor:", "  prototype: 2"), `{"__proto__":1,"constructor":{"prototype":2}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, lenient := range []bool{false, true} {
				got, err := toon.Decode(tc.in, toon.Options{Lenient: lenient})
				if diff := cmp.Diff(string(got), tc.want); diff != "" || err != nil {
					t.Errorf("lenient %v: %v (-got +want):\n%s", lenient, err, diff)
				}
			}
		})
	}
}

// TestDecode_strict lists what §14 calls errors of strict mode alone, and what
// becomes of it outside.
func TestDecode_strict(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, fault, lenient string }{
		{"14.1_too_many", "a[1]: 1,2", "line 1: 2 elements where 1 were announced", `{"a":[1,2]}`},
		{"14.1_too_few_items", lines("a[2]:", "  - 1"), "line 2: 1 elements where 2 were announced", `{"a":[1]}`},
		{"14.1_too_few_rows", lines("a[3]{b}:", "  1"), "line 2: 1 elements where 3 were announced", `{"a":[{"b":1}]}`},
		{"14.1_too_many_entries", lines("a[1:]{b}:", "  x: 1", "  y: 2"), "line 3: 2 elements where 1 were announced", `{"a":{"x":{"b":1},"y":{"b":2}}}`},
		{"14.1_huge_length", "a[99999999999999999999]: 1", "line 1: 1 elements where 9223372036854775807 were announced", `{"a":[1]}`},
		{"14.1_narrow_row", lines("[1]{a,b{c}}:", "  1"), "line 2: 1 values where 2 fields were announced", `[{"a":1,"b":{}}]`},
		{"14.1_wide_row", lines("[1]{a}:", "  1,2"), "line 2: 2 values where 1 fields were announced", `[{"a":1}]`},
		{"14.1_entry_without_cells", lines("[1:]{a}:", "  x:"), "line 2: 0 values where 1 fields were announced", `{"x":{}}`},
		{"14.1_absent_before_a_group", lines("[1:]{a,b{c}}:", "  x:"), "line 2: 0 values where 2 fields were announced", `{"x":{"b":{}}}`},
		{"14.2_leading_zero", "a[01]: 1", "line 1: a length must be a number without leading zeros", `{"a[01]":1}`},
		{"14.2_no_length", "a[]: 1", "line 1: a length must be a number without leading zeros", `{"a[]":1}`},
		{"14.2_space_before_bracket", "a [1]: 1", "line 1: space between a key and its bracket", `{"a [1]":1}`},
		{"14.2_between_bracket_and_colon", "a[1]x: 1", "line 1: no colon behind the bracket", `{"a[1]x":1}`},
		{"14.2_other_delimiter", lines("a[1|]{b,c}:", "b: 1"), `line 1: a field list with ',' between its names`, `{"a[1|]{b,c}":{},"b":1}`},
		{"14.2_empty_fields", "a[1]{}: x", "line 1: a field without a name", `{"a[1]{}":"x"}`},
		{"14.2_open_fields", "a[1]{b: x", "line 1: a field list is not closed", `{"a[1]{b":"x"}`},
		{"14.2_same_field_twice", lines("a[1]{b,b}:", "  1,2"), "line 1: a field list with the same name twice", `{"a":[{"b":2}]}`},
		{"14.2_same_field_twice_one_cell", lines("a[1]{b,b}:", "  1"), "line 1: a field list with the same name twice", `{"a":[{"b":1}]}`},
		{"14.2_keyed_without_fields", "a[1:]: x", "line 1: a keyed header without a field list", `{"a[1":"]: x"}`},
		{"14.2_values_behind_fields", "a[1]{b}: 1", "line 1: values behind a field list", `{"a[1]{b}":1}`},
		{"14.2_keyless_field", lines("a: 1", "[1]: 2"), "line 2: a header without a key, where a field should be", `{"a":1,"[1]":2}`},
		{"14.2_keyless_table_item", lines("a[1]:", "  - [1]{b}: 2"), "line 2: values behind a field list", `{"a":[{"[1]{b}":2}]}`},
		{"14.2_entry_without_colon", lines("a[1:]{b}:", "  x: 1", "  y"), "line 3: no colon behind the key", `{"a":{"x":{"b":1}}}`},
		{"14.2_trailing", lines("[1]: 1", "a: 2"), "line 2: the document goes on behind its end", `[1]`},
		{"14.2_too_deep", lines("a: 1", "  b: 2"), "line 2: indented too deep", `{"a":1}`},
		{"14.2_jump", lines("a:", "    b: 1"), "line 2: indented too deep", `{"a":{"b":1}}`},
		{"14.2_deep_root", lines("  a: 1", "b: 2"), "line 1: indented too deep", `{"b":2}`},
		{"12_odd_indentation", lines("a:", "   b: 1"), "line 2: indented by 3 spaces, which is no multiple of 2", `{"a":{"b":1}}`},
		{"12_tab", lines("a:", "\tb: 1"), "line 2: a tab in the indentation", `{"a":{"b":1}}`},
		{"12_blank_in_a_list", lines("a[2]:", "  - b: 1", "", "    c: 2", "  - 3"), "line 4: a blank line inside an array", `{"a":[{"b":1,"c":2},3]}`},
		{"12_blank_in_a_table", lines("a[2]{b}:", "  1", "", "  2"), "line 4: a blank line inside an array", `{"a":[{"b":1},{"b":2}]}`},
		{"12_blank_in_an_inner_scope", lines("a[1]:", "  - b:", "", "      c: 1"), "line 4: a blank line inside an array", `{"a":[{"b":{"c":1}}]}`},
		{"14.3_key_twice", lines("a: 1", "b: 2", "a: 3"), `line 3: the key "a" occurs twice`, `{"a":3,"b":2}`},
		{"14.3_entry_twice", lines("[2:]{v}:", "  a: 1", "  a: 2"), `line 3: the key "a" occurs twice`, `{"a":{"v":2}}`},
		{"14.3_same_key_quoted", lines("a: 1", `"\u0061":`, "  b[1]: 2"), `line 2: the key "a" occurs twice`, `{"a":{"b":[2]}}`},
		{"4_not_utf8", "a: \xff", "not UTF-8", `{"a":"` + "\ufffd" + `"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got, err := toon.Decode(tc.in, toon.Options{}); err == nil || err.Error() != tc.fault {
				t.Errorf("strict: %s, %v; want %s", got, err, tc.fault)
			}
			got, err := toon.Decode(tc.in, toon.Options{Lenient: true})
			if diff := cmp.Diff(string(got), tc.lenient); diff != "" || err != nil {
				t.Errorf("lenient: %v (-got +want):\n%s", err, diff)
			}
		})
	}
}

// TestDecode_faults lists what is an error in any mode.
func TestDecode_faults(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"4_no_colon": lines("a: 1", "b"), "5_two_primitives": lines("a", "b"), "5.2_scalar_in_an_object": lines("a:", "  b"),
		"7.1_unknown_escape": `"\x"`, "7.1_slash": `"\/"`, "7.1_short_escape": `"\u12"`, "7.1_surrogate": `"\ud83d\ude80"`, "7.1_open": `a: "b`,
		"7.1_open_by_escape": `a: "b\"`, "7.4_behind_the_quote": `a: "b"c`, "7.4_key_behind_the_quote": `"a"b: 1`, "7.4_cell_behind_the_quote": `a[1]: "b"c`,
	} {
		for _, lenient := range []bool{false, true} {
			if got, err := toon.Decode(in, toon.Options{Lenient: lenient}); err == nil {
				t.Errorf("%s, lenient %v: became %s", name, lenient, got)
			}
		}
	}
}

func TestDecode_indent(t *testing.T) {
	t.Parallel()
	got, err := toon.Decode(lines("a[1]:", "    - b:", "            c: 1"), toon.Options{Indent: 4})
	if want := `{"a":[{"b":{"c":1}}]}`; string(got) != want || err != nil {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// TestDecode_bounds gives documents that would become far larger, or nest without
// end.
func TestDecode_bounds(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 10_000)
	amplified := "[10000]{" + name + "}:\n" + strings.Repeat("  1\n", 10_000)
	if got, err := toon.Decode(amplified, toon.Options{Limit: 1 << 20}); !errors.Is(err, toon.ErrTooLong) {
		t.Errorf("%d bytes, %v; want %v", len(got), err, toon.ErrTooLong)
	}
	var objects, lists strings.Builder
	lists.WriteString("[1]:\n")
	for i := range 2 * toon.MaxDepth {
		objects.WriteString(strings.Repeat("  ", i) + "a:\n")
		lists.WriteString(strings.Repeat("  ", i+1) + "- [1]:\n")
	}
	for name, in := range map[string]string{
		"objects": objects.String(), "lists": lists.String(),
		"groups": "[1]{" + strings.Repeat("a{", 100_000) + "a" + strings.Repeat("}", 100_000) + "}:\n  1",
	} {
		if _, err := toon.Decode(in, toon.Options{}); !errors.Is(err, toon.ErrTooDeep) {
			t.Errorf("%s: %v, want %v", name, err, toon.ErrTooDeep)
		}
	}
}
