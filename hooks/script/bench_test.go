package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/hooks"
)

// rows is about 4 KB of JSON.
func rows() string {
	var list []string
	for i := range 40 {
		list = append(list, fmt.Sprintf(`{"id":%d,"title":"the title of entry %d","mail":"ann%d@example.com","price":%d.50,"open":true}`, i, i, i, i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func BenchmarkCompile(b *testing.B) {
	w, source := newWorld(), example(b, "keep-fields")
	b.ReportAllocs()
	for b.Loop() {
		w.source(b, source)
	}
}

func BenchmarkCall(b *testing.B) {
	cases := map[string]string{
		"empty":          "def before_call(ctx, request): pass\n" + "def after_call(ctx, result): pass",
		"keep fields":    "FIELDS = [\"id\", \"title\"]\n" + afterwards("return result.with_json([{k: row[k] for k in FIELDS} for row in result.json()])"),
		"redact":         example(b, "redact-emails"),
		"one argument":   example(b, "default-repository"),
		"look at a text": afterwards(`if "nothing" in result.text: reject("no")`),
	}
	result := json.RawMessage(textResult(b, rows()))
	for name, source := range cases {
		b.Run(name, func(b *testing.B) {
			h := newWorld().source(b, source)
			c := call(`{"title":"x","n":1.50}`)
			b.ReportAllocs()
			for b.Loop() {
				pass(b, h, c, result)
			}
		})
	}
}

func pass(b *testing.B, h hooks.Hook, c *hooks.Call, result json.RawMessage) {
	b.Helper()
	c.Args, c.Result = c.Original, nil
	if err := h.Before(context.Background(), c); err != nil {
		b.Fatal(err)
	}
	c.Result = result
	if err := h.After(context.Background(), c); err != nil {
		b.Fatal(err)
	}
}
