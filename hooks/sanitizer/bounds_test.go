package sanitizer_test

import (
	"context"
	"errors"
	"fmt"
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
// takes hours in all.
func TestSearchEnds(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{`"do": "replace", "match": "x*y|x"`, `"do": "redact", "kinds": [], "patterns": ["x*y|x"]`} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		args := fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", 1_000_000))
		err := newHook(t, `{"rules": [{`+rule+`}]}`).Before(ctx, newCall(args, `{}`))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	}
}
