package toon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core/hookset"
	codec "github.com/toolscout/toolscout/core/toon"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/toon"
)

// run sends a result through the hook, in a chain of its own.
func run(t testing.TB, config, in string) (string, *hooks.Call) {
	t.Helper()
	typ := toon.Type()
	h, err := typ.New(hooks.Instance{Key: "k", Name: "toon", Config: json.RawMessage(config)})
	if err != nil {
		t.Fatal(err)
	}
	r := hooks.NewRunner(hooks.Config{})
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	e := hooks.Entry{Name: "toon", Type: typ.Name, Level: typ.Level, Events: typ.Events, OnError: typ.OnError, Inline: typ.Inline, Hook: h}
	c := &hooks.Call{Level: hooks.Tool, Action: "execute_tool"}
	err = r.Run(t.Context(), hooks.Compile([]hooks.Entry{e}, c), c, func(_ context.Context, c *hooks.Call) error {
		c.Result = json.RawMessage(in)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(c.Result), c
}

const always = `{"min_bytes":0,"min_saving":0}`

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestAfter(t *testing.T) {
	t.Parallel()
	const (
		rows  = `[{"id":1,"name":"Ada"},{"id":2,"name":"Linus"},{"id":3,"name":"Grace"}]`
		table = `"[3]{id,name}:\n  1,Ada\n  2,Linus\n  3,Grace"`
		meta  = `"_meta":{"toolscout/format":"toon"}`
	)
	items := `{"items":` + rows + `}`
	for _, tc := range []struct{ name, config, in, want string }{
		{"array", always, `{"content":[{"type":"text","text":` + quote(rows) + `}]}`,
			`{"content":[{"type":"text","text":` + table + `,` + meta + `}]}`},
		{"other_members_stay", always, `{ "n":1.0, "content" : [ {"annotations":{"priority":0.10},"type":"text","text":` + quote(rows) + `,"_meta":{"a":1}} , {"type":"odd","x":1E2} ] }`,
			`{ "n":1.0, "content" : [ {"annotations":{"priority":0.10},"type":"text","text":` + table + `,"_meta":{"a":1,"toolscout/format":"toon"}} , {"type":"odd","x":1E2} ] }`},
		{"several_blocks", always, `{"content":[{"type":"text","text":` + quote(rows) + `},{"type":"text","text":"Done."},{"type":"text","text":` + quote(rows) + `}]}`,
			`{"content":[{"type":"text","text":` + table + `,` + meta + `},{"type":"text","text":"Done."},{"type":"text","text":` + table + `,` + meta + `}]}`},
		{"mirror_is_dropped", always, `{"content":[{"type":"text","text":` + quote(items) + `}],"structuredContent":` + items + `,"x":1}`,
			`{"content":[{"type":"text","text":"items` + table[1:] + `,` + meta + `}],"x":1}`},
		{"mirror_in_another_order_is_dropped", always, `{"structuredContent":{"b":1,"items":` + rows + `},"content":[{"type":"text","text":` + quote(`{ "items": `+rows+`, "b":1}`) + `}]}`,
			`{"content":[{"type":"text","text":"items` + table[1:len(table)-1] + `\nb: 1",` + meta + `}]}`},
		{"wrapped_mirror_is_dropped", always, `{"content":[{"type":"text","text":` + quote(rows) + `}],"structuredContent":{"result":` + rows + `}}`,
			`{"content":[{"type":"text","text":` + table + `,` + meta + `}]}`},
		{"mirror_is_kept", `{"min_bytes":0,"min_saving":0,"structured":"keep"}`, `{"content":[{"type":"text","text":` + quote(items) + `}],"structuredContent":` + items + `}`,
			`{"content":[{"type":"text","text":"items` + table[1:] + `,` + meta + `}],"structuredContent":` + items + `}`},
		{"structured_alone", always, `{"content":[],"structuredContent":` + items + `}`,
			`{"content":[{"type":"text","text":"items` + table[1:] + `,` + meta + `}]}`},
		{"structured_without_content", always, `{"structuredContent":` + items + `}`,
			`{"content":[{"type":"text","text":"items` + table[1:] + `,` + meta + `}]}`},
		{"structured_beside_words", always, `{"content":[{"type":"text","text":"Three people."}],"structuredContent":` + items + `}`,
			`{"content":[{"type":"text","text":"Three people."},{"type":"text","text":"items` + table[1:] + `,` + meta + `}]}`},
		{"pipe", `{"min_bytes":0,"min_saving":0,"delimiter":"pipe"}`, `{"content":[{"type":"text","text":` + quote(rows) + `}]}`,
			`{"content":[{"type":"text","text":"[3|]{id|name}:\n  1|Ada\n  2|Linus\n  3|Grace",` + meta + `}]}`},
		{"error_if_told", `{"min_bytes":0,"min_saving":0,"errors":true}`, `{"content":[{"type":"text","text":` + quote(rows) + `}],"isError":true}`,
			`{"content":[{"type":"text","text":` + table + `,` + meta + `}],"isError":true}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, c := run(t, tc.config, tc.in)
			if diff := cmp.Diff(got, tc.want); diff != "" {
				t.Errorf("result (-got +want):\n%s", diff)
			}
			if len(c.Effects) != 1 || c.Effects[0].Did != "edit" {
				t.Fatalf("effects: %+v", c.Effects)
			}
			n := c.Effects[0].Notes
			before, after, saved := n["tokensBefore"].(int), n["tokensAfter"].(int), n["tokensSaved"].(int)
			if after <= 0 || saved <= 0 || before != after+saved {
				t.Errorf("notes: %v", n)
			}
		})
	}
}

// TestAfter_unchanged lists what passes byte for byte, and what is noted of it: why,
// where it looks like JSON.
func TestAfter_unchanged(t *testing.T) {
	t.Parallel()
	text := func(s string) string { return `{"content":[{"type":"text","text":` + quote(s) + `}]}` }
	rows := `[` + strings.Repeat(`{"id":1,"name":"Ada"},`, 30) + `{"id":1,"name":"Ada"}]`
	const (
		noJSON    = "it is no JSON, or a key occurs twice in it"
		noShorter = "TOON would take no fewer tokens"
		noUnicode = "it holds U+FFFD, which may stand for what is no Unicode"
		tooDeep   = "nested deeper than 256 levels"
	)
	for name, tc := range map[string]struct{ config, in, left string }{
		"words":                  {always, text("The build is green."), ""},
		"not_quite_json":         {always, text(`[{"id":1},{"id":2},]`), noJSON},
		"markdown_link":          {always, text(`[a link](https://example.com/) and {more}`), noJSON},
		"json_lines":             {always, text("{\"a\":1}\n{\"a\":2}"), noJSON},
		"number":                 {always, text("12"), ""},
		"string":                 {always, text(`"[1,2]"`), ""},
		"small":                  {`{"min_bytes":4096}`, text(rows), "683 bytes, and min_bytes is 4096"},
		"little_saved":           {`{"min_bytes":0,"min_saving":95}`, text(rows), "77 of 232 tokens would be saved, and min_saving is 95 %"},
		"nothing_saved":          {always, text(`[[[[[[[[1]]]]]]]]`), noShorter},
		"duplicate_key":          {always, text(`[{"id":1,"id":2},{"id":1,"id":2},{"id":1,"id":2}]`), noJSON},
		"duplicate_structure":    {always, `{"content":[],"structuredContent":{"a":{"id":1,"id":2},"b":{"id":1,"id":2}}}`, noJSON},
		"negative_zero":          {always, text(`[{"id":-0,"name":"Ada"},{"id":2,"name":"Ada"},{"id":2,"name":"Ada"}]`), "TOON has no negative zero"},
		"half_surrogate":         {always, text(`[{"id":1,"name":"\ud800"},{"id":2,"name":"Ada"},{"id":2,"name":"Ada"}]`), noJSON},
		"half_surrogate_outside": {always, `{"content":[{"type":"text","text":"[{\"id\":1,\"name\":\"\ud800\"},{\"id\":2,\"name\":\"Ada\"},{\"id\":2,\"name\":\"Ada\"}]"}]}`, noUnicode},
		"not_utf8":               {always, "{\"content\":[{\"type\":\"text\",\"text\":\"[{\\\"id\\\":1,\\\"name\\\":\\\"\xff\\\"},{\\\"id\\\":2,\\\"name\\\":\\\"Ada\\\"}]\"}]}", noUnicode},
		"deep":                   {always, text(strings.Repeat(`[`, 300) + strings.Repeat(`]`, 300)), tooDeep},
		"far_too_deep":           {always, text(strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat(`}`, 100_000)), tooDeep},
		"error":                  {always, `{"content":[{"type":"text","text":` + quote(rows) + `}],"isError":true}`, "the tool says that it failed, and errors is false"},
		"image":                  {always, `{"content":[{"type":"image","data":"` + strings.Repeat("QUJD", 100) + `","mimeType":"image/png"}]}`, ""},
		"resource":               {always, `{"content":[{"type":"resource","resource":{"uri":"x:y","text":` + quote(rows) + `}}]}`, ""},
		"empty":                  {always, `{"content":[]}`, ""},
		"structured_kept":        {`{"min_bytes":0,"min_saving":0,"structured":"keep"}`, `{"content":[],"structuredContent":{"a":` + rows + `}}`, ""},
		"text_in_structured":     {always, `{"content":[{"type":"text","text":"Hello, world."}],"structuredContent":{"result":"Hello, world."}}`, ""},
		"of_a_meta_tool":         {always, `{"tools":` + rows + `}`, ""},
		"odd_content":            {always, `{"content":` + quote(rows) + `}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, c := run(t, tc.config, tc.in)
			if got != tc.in {
				t.Errorf("became %.500s", got)
			}
			var want []hooks.Effect
			if tc.left != "" {
				want = []hooks.Effect{{Hook: "toon", Event: hooks.ToolAfter, Did: "note", Notes: map[string]any{"left": tc.left}}}
			}
			if diff := cmp.Diff(c.Effects, want); diff != "" || len(c.Warnings) > 0 {
				t.Errorf("warnings %q, effects (-got +want):\n%s", c.Warnings, diff)
			}
		})
	}
}

// TestAfter_exact decodes what the hook wrote: no digit of a number is lost.
func TestAfter_exact(t *testing.T) {
	t.Parallel()
	in := `[{"identifier":9007199254740993,"price":0.10000000000000000001,"remaining":1e400},{"identifier":18446744073709551617,"price":12,"remaining":-1e-400}` +
		strings.Repeat(`,{"identifier":7,"price":1,"remaining":2}`, 3) + `]`
	got, _ := run(t, always, `{"content":[{"type":"text","text":`+quote(in)+`}]}`)
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal([]byte(got), &r); err != nil {
		t.Fatal(err)
	}
	back, err := codec.Decode(r.Content[0].Text, codec.Options{})
	want := strings.Replace(in, "1e400", "1e+400", 1)
	if string(back) != want || err != nil {
		t.Errorf("decoded to %s, %v; want %s", back, err, want)
	}
}

// FuzzAfter: whatever a server answers, the hook neither fails nor panics, a result
// stays JSON, and each text that it wrote says what was there.
func FuzzAfter(f *testing.F) {
	for _, seed := range []string{`{"content":[{"type":"text","text":"[{\"a\":1},{\"a\":2}]"}],"structuredContent":{"a":[1,1.50,-0]}}`,
		`{"content":[{"type":"text","text":"{}"},{"type":"image"},7,null],"isError":true}`, `{"structuredContent":{"k":{"k":"\ud800"}},"content":{}}`, `[]`, `x`, ``} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, c := run(t, `{"min_bytes":0,"min_saving":0,"errors":true,"structured":"keep"}`, in)
		if len(c.Warnings) > 0 || json.Valid([]byte(in)) != json.Valid([]byte(got)) {
			t.Fatalf("%q became %q, %q", in, got, c.Warnings)
		}
		if got == in {
			return
		}
		type texts struct{ Content []struct{ Text string } }
		var before, after texts
		if json.Unmarshal([]byte(in), &before) != nil || json.Unmarshal([]byte(got), &after) != nil || len(after.Content) != len(before.Content) {
			t.Fatalf("%q became %q", in, got)
		}
		for i, b := range after.Content {
			if b.Text == before.Content[i].Text {
				continue
			}
			if _, err := codec.Decode(b.Text, codec.Options{}); err != nil {
				t.Errorf("%q became %q: %v", before.Content[i].Text, b.Text, err)
			}
		}
	})
}

func BenchmarkAfter(b *testing.B) {
	var rows []string
	for i := 0; len(strings.Join(rows, ",")) < 4000; i++ {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"title":"The build fails on Windows","state":"open","labels":["bug"],"user":{"login":"ada","id":%d}}`, 1000+i, i))
	}
	list := `{"items":[` + strings.Join(rows, ",") + `]}`
	text := `{"content":[{"type":"text","text":` + quote(list) + `}]`
	for name, in := range map[string]string{
		"text": text + `}`, "mirrored": text + `,"structuredContent":` + list + `}`,
		"words": `{"content":[{"type":"text","text":` + quote(strings.Repeat("All is well. ", 315)) + `}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			h, err := toon.Type().New(hooks.Instance{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				c := &hooks.Call{Level: hooks.Tool, Result: json.RawMessage(in)}
				if err := h.After(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestType_config holds the schema: what it takes, and what it refuses and where.
func TestType_config(t *testing.T) {
	t.Parallel()
	set, err := hookset.New(hookset.Config{Types: []hooks.Type{toon.Type()}})
	if err != nil {
		t.Fatal(err)
	}
	for config, pointer := range map[string]string{
		`{}`: "", `{"min_bytes":0,"min_saving":12.5,"structured":"keep","errors":true,"delimiter":"tab"}`: "",
		`{"min_byte":1}`: "/config", `{"min_bytes":-1}`: "/config/min_bytes", `{"min_saving":101}`: "/config/min_saving",
		`{"structured":"maybe"}`: "/config/structured", `{"delimiter":";"}`: "/config/delimiter", `{"errors":1}`: "/config/errors",
	} {
		d := toon.Type().Definition()
		d.Config = json.RawMessage(config)
		_, faults := set.Prepare(d)
		if pointer == "" && len(faults) > 0 || pointer != "" && (len(faults) != 1 || !strings.HasPrefix(faults[0].Pointer, pointer)) {
			t.Errorf("%s: %+v, want a fault at %q", config, faults, pointer)
		}
	}
}

// TestManyTexts: what every text is compared with is written once.
func TestManyTexts(t *testing.T) {
	t.Parallel()
	text := `{\"a\":\"` + strings.Repeat("x", 300) + `\"}`
	content := strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"`+text+`"},`, 3_000), ",")
	structured := `{"k":[` + strings.TrimSuffix(strings.Repeat(`{"a":1},`, 100_000), ",") + `]}`
	raw := json.RawMessage(`{"content":[` + content + `],"structuredContent":` + structured + `}`)
	h, err := toon.Type().New(hooks.Instance{})
	if err != nil {
		t.Fatal(err)
	}
	c := &hooks.Call{Level: hooks.Tool, Action: "execute_tool", Result: raw}
	if err := h.After(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if len(c.Result) >= len(raw) {
		t.Errorf("nothing became shorter")
	}
}
