package result_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolscout/toolscout/hooks/result"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in, want string
		edit           func(*result.Result)
	}{
		{"nothing", ` {"content" : [ ] , "x":1.0 }`, ` {"content" : [ ] , "x":1.0 }`, func(*result.Result) {}},
		{"text", `{"n":1E2,"content":[ {"text":"a","type":"text","annotations":{"p":0.10}} , {"type":"odd"}]}`,
			`{"n":1E2,"content":[ {"text":"<b>","type":"text","annotations":{"p":0.10}} , {"type":"odd"}]}`,
			func(r *result.Result) { r.SetText(0, "<b>") }},
		{"last_text_counts", `{"content":[{"type":"text","text":"a","text":"b"}]}`, `{"content":[{"type":"text","text":"a","text":"c"}]}`,
			func(r *result.Result) { r.SetText(0, "c") }},
		{"block", `{"content":[{"type":"image"},{"type":"text","text":"a"}]}`, `{"content":[{"type":"x"},{"type":"text","text":"a"}]}`,
			func(r *result.Result) { r.SetBlock(0, json.RawMessage(`{"type":"x"}`)) }},
		{"append", `{"content":[{"type":"x"} ] }`, `{"content":[{"type":"x"},{"type":"text","text":"m","_meta":{"k":1}} ] }`,
			func(r *result.Result) { r.AppendText("m", map[string]any{"k": 1}) }},
		{"append_to_empty", `{"content":[ ]}`, `{"content":[{"type":"text","text":"m"},{"type":"y"} ]}`,
			func(r *result.Result) { r.AppendText("m", nil); r.Append(json.RawMessage(`{"type":"y"}`)) }},
		{"append_to_none", `{}`, `{"content":[{"type":"text","text":"m"}]}`, func(r *result.Result) { r.AppendText("m", nil) }},
		{"append_to_null", `{"content":null,"a":1}`, `{"content":[{"type":"text","text":"m"}],"a":1}`, func(r *result.Result) { r.AppendText("m", nil) }},
		{"edit_appended", `{"content":[]}`, `{"content":[{"type":"text","text":"n"}]}`,
			func(r *result.Result) { r.AppendText("m", nil); r.SetText(0, "n") }},
		{"text_of_a_resource", `{"content":[{"type":"resource","resource":{"uri":"u","text":"a", "mimeType":"m"}}]}`,
			`{"content":[{"type":"resource","resource":{"uri":"u","text":"b", "mimeType":"m"}}]}`,
			func(r *result.Result) { r.SetText(0, "b") }},
		{"drop_last", `{"content":[ 1 , 2 , 3 ]}`, `{"content":[ 1 ]}`, func(r *result.Result) { r.DropFrom(1) }},
		{"drop_all", `{"content":[ 1 , 2 ],"a":1}`, `{"content":[  ],"a":1}`, func(r *result.Result) { r.DropFrom(0) }},
		{"drop_and_append", `{"content":[ 1 , 2 , 3 ]}`, `{"content":[ 1 , {"type":"x"} ]}`,
			func(r *result.Result) { r.DropFrom(1); r.Append(json.RawMessage(`{"type":"x"}`)) }},
		{"append_and_drop", `{"content":[1]}`, `{"content":[1]}`,
			func(r *result.Result) { r.Append(json.RawMessage(`{"type":"x"}`)); r.DropFrom(1) }},
		{"drop_nothing", `{"content":[1]}`, `{"content":[1]}`, func(r *result.Result) { r.DropFrom(5) }},
		{"structured", `{"structuredContent": {"a":1} ,"content":[]}`, `{"structuredContent": {"b":2} ,"content":[]}`,
			func(r *result.Result) { r.SetStructured(json.RawMessage(`{"b":2}`)) }},
		{"structured_added", `{"content":[]}`, `{"content":[],"structuredContent":{"b":2}}`,
			func(r *result.Result) { r.SetStructured(json.RawMessage(`{"b":2}`)) }},
		{"dropped_first", `{ "structuredContent":{} , "a":1}`, `{ "a":1}`, (*result.Result).DropStructured},
		{"dropped_last", `{"a":1 , "structuredContent":{} }`, `{"a":1 }`, (*result.Result).DropStructured},
		{"dropped_only", `{ "structuredContent":{} }`, `{  }`, (*result.Result).DropStructured},
		{"dropped_middle", `{"a":1, "structuredContent":{} , "b":2}`, `{"a":1 , "b":2}`, (*result.Result).DropStructured},
		{"dropped_twice", `{"structuredContent":1,"structuredContent":{},"b":2,"structuredContent":3}`, `{"b":2}`, (*result.Result).DropStructured},
		{"dropped_none", `{"a":1}`, `{"a":1}`, (*result.Result).DropStructured},
		{"all", `{"structuredContent":{"s":"a"},"content":[{"type":"text","text":"a"}],"isError":false}`,
			`{"content":[{"type":"text","text":"b"},{"type":"z"}],"isError":false}`,
			func(r *result.Result) {
				r.SetText(0, "b")
				r.Append(json.RawMessage(`{"type":"z"}`))
				r.DropStructured()
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, err := result.Parse(json.RawMessage(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			tc.edit(r)
			if diff := cmp.Diff(tc.want, string(r.Bytes())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBytes_are_the_same_slice(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(`{"content":[{"type":"text","text":"a"}]}`)
	r, err := result.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if out := r.Bytes(); &out[0] != &raw[0] {
		t.Error("what nobody edited was copied")
	}
}

func TestParse_refuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`[]`, `1`, ``, `{"content":1}`, `{"content":{}}`} {
		if _, err := result.Parse(json.RawMessage(in)); err == nil {
			t.Errorf("%q was parsed", in)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	r, err := result.Parse(json.RawMessage(`{"content":[{"type":"text","text":"\u00e9\n"},{"type":"image","data":"AA=="},5,{"type":"text"}],"isError":true}`))
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, b := range r.Blocks() {
		types = append(types, b.Type)
	}
	if diff := cmp.Diff([]string{"text", "image", "", "text"}, types); diff != "" {
		t.Error(diff)
	}
	if text, ok := r.Blocks()[0].Text(); text != "é\n" || !ok {
		t.Errorf("text %q, %v", text, ok)
	}
	for _, i := range []int{1, 2, 3} {
		if text, ok := r.Blocks()[i].Text(); ok {
			t.Errorf("block %d has the text %q", i, text)
		}
	}
	if !r.IsError() || r.Structured() != nil {
		t.Errorf("isError %v, structured %s", r.IsError(), r.Structured())
	}
}

func TestRewrite(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text, structured string
		mirrors, wraps         bool
		rewrite, want          string
	}{
		{"mirror", `{ "a":1, "b":[] }`, `{"b":[],"a":1}`, true, false, `{"a":2}`, `{"a":2}`},
		{"mirror_no_longer_json", `{"a":1}`, `{"a":1}`, true, false, `a: 2`, ``},
		{"literals_count", `{"a":1.0}`, `{"a":1}`, false, false, `{"a":2}`, `{"a":1}`},
		{"other", `hello`, `{"a":1}`, false, false, `bye`, `{"a":1}`},
		{"wrapped_text", `hello`, `{"result":"hello"}`, false, true, `bye`, `{"result":"bye"}`},
		{"wrapped_json", `[1, 2]`, `{ "result" : [1,2] }`, false, true, `[1]`, `{ "result" : [1] }`},
		{"wrapped_json_no_longer", `[1, 2]`, `{"result":[1,2]}`, false, true, `1,2`, ``},
		{"wrapped_twice", `hello`, `{"result":"hello","more":1}`, false, false, `bye`, `{"result":"hello","more":1}`},
		{"array", `[1]`, `[ 1 ]`, true, false, `[2]`, `[2]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			r, err := result.Parse(fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"structuredContent":%s}`, text, tc.structured))
			if err != nil {
				t.Fatal(err)
			}
			if r.Mirrors(0) != tc.mirrors || r.Wraps(0) != tc.wraps {
				t.Errorf("mirrors %v, wraps %v", r.Mirrors(0), r.Wraps(0))
			}
			r.Rewrite(0, tc.rewrite)
			if got, _ := r.Blocks()[0].Text(); got != tc.rewrite || string(r.Structured()) != tc.want {
				t.Errorf("text %s, structured %s, want %s and %s", got, r.Structured(), tc.rewrite, tc.want)
			}
			again, err := result.Parse(r.Bytes())
			if err != nil || string(again.Structured()) != tc.want {
				t.Errorf("%s: %v", r.Bytes(), err)
			}
		})
	}
}

// TestEdits_touch_nothing_else makes random edits of random results and looks at
// what nobody edited.
func TestEdits_touch_nothing_else(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		in, blocks := randomResult(rng)
		r, err := result.Parse(json.RawMessage(in))
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		for i := range r.Blocks() {
			if string(r.Blocks()[i].Raw) != blocks[i] {
				t.Fatalf("block %d is %s, want %s", i, r.Blocks()[i].Raw, blocks[i])
			}
			switch rng.IntN(3) {
			case 0:
				blocks[i] = `{"type":"new"}`
				r.SetBlock(i, json.RawMessage(blocks[i]))
			}
		}
		if n := rng.IntN(8); n <= len(blocks) {
			r.DropFrom(n)
			blocks = blocks[:n]
		}
		if rng.IntN(3) == 0 {
			blocks = append(blocks, `{"type":"more"}`)
			r.Append(json.RawMessage(`{"type":"more"}`))
		}
		if rng.IntN(2) == 0 {
			r.DropStructured()
		}
		out := r.Bytes()
		if !json.Valid(out) {
			t.Fatalf("%s\nbecame\n%s", in, out)
		}
		again, err := result.Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range again.Blocks() {
			got = append(got, string(b.Raw))
		}
		if diff := cmp.Diff(blocks, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\nbecame\n%s\n%s", in, out, diff)
		}
		if string(again.Structured()) != string(r.Structured()) {
			t.Fatalf("structured content %s, want %s", again.Structured(), r.Structured())
		}
	}
}

func randomResult(rng *rand.Rand) (text string, blocks []string) {
	space := func() string { return [...]string{"", "", " ", "\n\t"}[rng.IntN(4)] }
	var members []string
	for range rng.IntN(4) {
		members = append(members, [...]string{`"isError":false`, `"x":1.50`, `"structuredContent":{"a":[1]}`, `"_meta":{}`}[rng.IntN(4)])
	}
	for range rng.IntN(4) {
		blocks = append(blocks, [...]string{`{"type":"text","text":"a\"]}"}`, `{ "type" : "image" }`, `null`, `{"type":"new-kind","n":1e400}`, `[1,2]`}[rng.IntN(5)])
	}
	if len(blocks) > 0 || rng.IntN(2) == 0 {
		list := `"content":[` + space() + strings.Join(blocks, space()+","+space()) + space() + "]"
		at := rng.IntN(len(members) + 1)
		members = append(members[:at], append([]string{list}, members[at:]...)...)
	}
	return space() + "{" + space() + strings.Join(members, space()+","+space()) + space() + "}" + space(), blocks
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{}`, `{"content":[{"type":"text","text":"a"}]}`, `{"content":null}`, `{"structuredContent":1,"content":[1,]}`, `{"content":[{"text":"\ud800"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := result.Parse(in)
		if err != nil {
			return
		}
		for i := range r.Blocks() {
			r.Rewrite(i, "new")
		}
		r.AppendText("more", nil)
		r.DropStructured()
		if out := r.Bytes(); json.Valid(in) && !json.Valid(out) {
			t.Errorf("%q became %q", in, out)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text, err := json.Marshal(strings.Repeat("some words and \"quotes\"\n", 4096/26))
	if err != nil {
		b.Fatal(err)
	}
	in := fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"isError":false}`, text)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := result.Parse(in); err != nil {
			b.Fatal(err)
		}
	}
}

// TestManyBlocks: that each of many blocks may say what much structured content says
// does not have it read for each.
func TestManyBlocks(t *testing.T) {
	t.Parallel()
	const blocks = 2_000
	for name, structured := range map[string]string{
		"object": `{` + strings.TrimSuffix(strings.Repeat(`"k":[1,2],`, 20_000), ",") + `}`,
		"wrap":   `{"result":{` + strings.TrimSuffix(strings.Repeat(`"k":[1,2],`, 20_000), ",") + `}}`,
	} {
		content := strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"{}"},`, blocks), ",")
		r, err := result.Parse(json.RawMessage(`{"content":[` + content + `],"structuredContent":` + structured + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if i := r.Mirror(); i >= 0 {
			t.Errorf("%s: block %d mirrors it", name, i)
		}
		for i := range blocks {
			r.Rewrite(i, "[]")
		}
	}
}

// TestMirrorAfterEdit: what a block is compared with is what the structured content
// says by then.
func TestMirrorAfterEdit(t *testing.T) {
	t.Parallel()
	r, err := result.Parse(json.RawMessage(`{"content":[{"type":"text","text":"{\"a\": 1}"}],"structuredContent":{"a":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	before := r.Mirrors(0)
	r.SetStructured(json.RawMessage(`{"a":2}`))
	if !before || r.Mirrors(0) {
		t.Errorf("mirrors before %v, after %v", before, r.Mirrors(0))
	}
	r.SetText(0, `{"a":2}`)
	if !r.Mirrors(0) {
		t.Error("the new text is not the new content")
	}
}
