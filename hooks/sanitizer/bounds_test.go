package sanitizer_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core"
)

// TestBounds: no rule and no schema makes more of arguments than a request may have.
func TestBounds(t *testing.T) {
	t.Parallel()
	again := func(rule string, times int) string {
		return `{"rules": [` + strings.TrimSuffix(strings.Repeat(rule+",", times), ",") + `]}`
	}
	long, many := strings.Repeat("x", 10000), strings.Repeat(`{},`, 10000)+`{}`
	for _, tc := range []struct{ name, config, args, schema string }{
		{"doubling", again(`{"do": "replace", "match": "(?s)^.*$", "with": "$0$0"}`, 200), `{"a":"x"}`, `{}`},
		{"growing", again(`{"do": "replace", "match": ".", "with": "`+long+`"}`, 1), `{"a":"` + long + `"}`, `{}`},
		{"growing in many texts", again(`{"do": "replace", "match": "^", "with": "`+long+`"}`, 1), `{"a":["x"` + strings.Repeat(`,"x"`, 10000) + `]}`, `{}`},
		{"redacting what was redacted", again(`{"do": "redact", "patterns": ["."]}`, 100), `{"a":"x"}`, `{}`},
		{"setting", again(`{"do": "set", "pointer": "/a/*", "value": "`+long+`"}`, 1), `{"a":[` + many + `]}`, `{}`},
		{"adding", again(`{"do": "set", "pointer": "/a/*/b", "value": "`+long+`"}`, 1), `{"a":[` + many + `]}`, `{}`},
		{"renaming", again(`{"do": "rename", "pointer": "/a/*/b", "to": "`+long+`"}`, 1), `{"a":[` + strings.ReplaceAll(many, "{}", `{"b":1}`) + `]}`, `{}`},
		{"defaults", `{"defaults": true}`, `{"a":[` + many + `]}`,
			`{"properties":{"a":{"items":{"properties":{"b":{"default":"` + long + `"}}}}}}`},
		{"too many matches", again(`{"do": "replace", "match": "x", "with": ""}`, 1), `{"a":"` + strings.Repeat("x", 200_000) + `"}`, `{}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCall(tc.args, tc.schema)
			err := newHook(t, tc.config).Before(t.Context(), c)
			if !errors.Is(err, core.InvalidParams) {
				t.Errorf("got %.100v", err)
			}
			if string(c.Args) != tc.args {
				t.Errorf("left %d bytes", len(c.Args))
			}
		})
	}
}

// TestSearchEnds: each match of this pattern reads to the end of the text, which
// takes an hour in all.
func TestSearchEnds(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{`"do": "replace", "match": "x*y|x"`, `"do": "redact", "kinds": [], "patterns": ["x*y|x"]`} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		args := fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", 200_000))
		err := newHook(t, `{"rules": [{`+rule+`}]}`).Before(ctx, newCall(args, `{}`))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	}
}

// TestReferences: a schema in which a reference leads to each part of a chain that
// holds almost all of it is not read as often as that.
func TestReferences(t *testing.T) {
	var references, names strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&names, `,"%d":{}`, i)
	}
	inner, path := `{`+names.String()[1:]+`}`, "#"
	for range 40 {
		inner, path = `{"properties":`+inner+`}`, path+"/properties"
		fmt.Fprintf(&references, `,{"$ref":"%s"}`, path)
	}
	before := heap()
	c := newCall(`{"a":1}`, `{"allOf":[`+references.String()[1:]+`],`+inner[1:])
	h := newHook(t, `{"unknown": "drop"}`)
	if err := h.Before(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warned %q", c.Warnings)
	}
	if grown := heap() - before; grown > 96<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	runtime.KeepAlive(h)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestStarInReference: a star in a reference is a name.
func TestStarInReference(t *testing.T) {
	t.Parallel()
	c := newCall(`{"a":1,"b":2}`, `{"$ref":"#/$defs/*","$defs":{"*":{"properties":{"a":{}}},"z":{"properties":{"b":{}}}}}`)
	if err := newHook(t, `{"unknown": "drop"}`).Before(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if string(c.Args) != `{"a":1}` {
		t.Errorf("got %s", c.Args)
	}
}
