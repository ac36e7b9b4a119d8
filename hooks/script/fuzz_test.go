package script_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/script"
)

// FuzzSource: whatever the script, it neither panics nor hangs, and its errors are
// words for people.
func FuzzSource(f *testing.F) {
	files, err := filepath.Glob("../../examples/hooks/*.star")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, h := range hostile {
		f.Add(before(h.body))
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 4000 || source == "" {
			return
		}
		config, err := json.Marshal(map[string]any{"source": source, "max_steps": 20000, "max_memory": 4 << 20})
		if err != nil {
			t.Fatal(err)
		}
		publish := func(context.Context, core.Event) error { return nil }
		h, err := script.Type(script.Config{Publish: publish}).New(hooks.Instance{Name: "test", Config: config})
		if err != nil {
			readable(t, err)
			return
		}
		c := call(`{"a":1.0,"b":["x",{"c":null}]}`)
		if err := h.Before(t.Context(), c); err != nil {
			readable(t, err)
		}
		if !json.Valid(c.Args) {
			t.Errorf("left the arguments %q", c.Args)
		}
		c.Result = json.RawMessage(mirrored)
		if err := h.After(t.Context(), c); err != nil {
			readable(t, err)
		}
		if !json.Valid(c.Result) {
			t.Errorf("left the result %q", c.Result)
		}
	})
}

func readable(t *testing.T, err error) {
	t.Helper()
	message := told(err)
	for _, odd := range []string{"runtime error", "0xc0", ".go:", "*starlark", "%!", "json: ", "internal error"} {
		if strings.Contains(message, odd) && !strings.Contains(message, "fail: ") {
			t.Errorf("the error shows its insides: %s", message)
		}
	}
}

// FuzzValues: arguments that a script returns unchanged are the same bytes, and
// those that it changed are JSON.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1.0}`, ` { "a" : [ 1e5 , -0 , "\u00e9\ud800" ] , "a":2} `, mirrored, mixed, `null`, `[1]`,
		`{"a":1e999,"b":123456789012345678901234567890}`, "{\"\xff\":\"\xfe\"}"} {
		f.Add(seed)
	}
	world := newWorld()
	same := world.source(f, before(`return request.arguments`))
	changed := world.source(f, before("request.arguments[\"new\"] = 1.5\nreturn request.arguments"))
	mapped := world.source(f, afterwards(`return result.map_text(lambda s: s.upper())`))
	kept := world.source(f, afterwards("x = [result.text, result.content]\nreturn result.map_text(lambda s: s)"))
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || len(text) > 10000 {
			return
		}
		c := call(text)
		if err := same.Before(t.Context(), c); err == nil && string(c.Args) != text {
			t.Errorf("got %q, want %q", c.Args, text)
		}
		if err := changed.Before(t.Context(), c); err == nil && !json.Valid(c.Args) {
			t.Errorf("no JSON: %q", c.Args)
		}
		c.Result = json.RawMessage(text)
		if err := kept.After(t.Context(), c); err == nil && string(c.Result) != text {
			t.Errorf("got %q, want %q", c.Result, text)
		}
		if err := mapped.After(t.Context(), c); err == nil && !json.Valid(c.Result) {
			t.Errorf("no JSON: %q", c.Result)
		}
	})
}
