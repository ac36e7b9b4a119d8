package truncation_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/tokens"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/result"
	"github.com/toolscout/toolscout/hooks/truncation"
)

// TestStructured_stays_valid: structured content is shortened where the tool's output
// schema allows that, and left out with a word about it where it does not.
func TestStructured_stays_valid(t *testing.T) {
	t.Parallel()
	list := `{"total":100,"rows":` + rows(100) + `}`
	for _, tc := range []struct{ name, schema, content, want string }{
		{"none", ``, list, "shortened"},
		{"shorter_lists", `{"type":"object","properties":{"total":{"type":"integer"},"rows":{"type":"array","items":{"type":"object","required":["id","name"]}}},"required":["total","rows"],"additionalProperties":false}`,
			list, "shortened"},
		{"least_items", `{"properties":{"rows":{"minItems":100}}}`, list, "left out"},
		{"fixed_string", `{"properties":{"s":{"pattern":"^x+$"}}}`, `{"s":"` + strings.Repeat("x", 5000) + `"}`, "left out"},
		{"free_string", `{"properties":{"s":{"type":"string"}}}`, `{"s":"` + strings.Repeat("x", 5000) + `"}`, "shortened"},
		{"many_members", `{"type":"object"}`, `{` + strings.TrimSuffix(strings.Repeat(`"k":1,`, 1000), ",") + `}`, "left out"},
		{"broken_schema", `{"type":"objekt"}`, list, "left out"},
	} {
		for _, mirrored := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/mirrored_%v", tc.name, mirrored), func(t *testing.T) {
				t.Parallel()
				text := "short"
				if mirrored {
					text = tc.content
				}
				c := newCall(`{"content":[{"type":"text","text":` + quote(text) + `}],"structuredContent":` + tc.content + `}`)
				c.Tool = &core.Tool{Name: "t", SchemaHash: tc.name, OutputSchema: json.RawMessage(tc.schema)}
				if err := hookOf(t, `{"max_block_bytes":2048}`).After(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				r, err := result.Parse(c.Result)
				if err != nil {
					t.Fatal(err)
				}
				meta, err := json.Marshal(c.Meta["truncated"])
				if err != nil || !strings.Contains(string(meta), fmt.Sprintf(`"structuredContent":%q`, tc.want)) {
					t.Errorf("_meta says %s, want %q", meta, tc.want)
				}
				if left := r.Structured(); (left == nil) != (tc.want == "left out") || len(left) > 2048 || left != nil && !json.Valid(left) {
					t.Errorf("structured content %.200s", left)
				}
				if said := strings.Contains(string(c.Result), "[Toolscout: structured content"); said == mirrored {
					t.Errorf("the text says %s", c.Result)
				}
			})
		}
	}
}

// TestTokens_in_all: many blocks, none of them long, are bounded together.
func TestTokens_in_all(t *testing.T) {
	t.Parallel()
	var texts []string
	for range 50 {
		texts = append(texts, strings.Repeat("some words ", 50))
	}
	c := truncated(t, hookOf(t, `{"max_tokens":2000}`), textResult(texts...))
	r, err := result.Parse(c.Result)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, b := range r.Blocks() {
		text, _ := b.Text()
		sum += tokens.Estimate(text)
	}
	if sum > 2000 || sum < 1000 || len(r.Blocks()) == len(texts) {
		t.Errorf("%d tokens in %d blocks", sum, len(r.Blocks()))
	}
}

func TestNo_limits(t *testing.T) {
	t.Parallel()
	raw := textResult(strings.Repeat("long ", 1<<20))
	h := hookOf(t, `{"max_bytes":0,"max_tokens":0,"max_block_bytes":0,"max_block_tokens":0,"max_binary_bytes":0}`)
	if c := truncated(t, h, raw); string(c.Result) != raw {
		t.Error("without limits something was cut")
	}
}

// TestToo_large_to_keep: what cannot be kept is not promised.
func TestToo_large_to_keep(t *testing.T) {
	t.Parallel()
	c := truncated(t, hookOf(t, `{}`), textResult(strings.Repeat("long ", postgres.MaxResult/5)))
	if got := string(c.Result); !strings.Contains(got, "the rest is not kept: the result is larger than 16 MiB") || strings.Contains(got, "toolscout://") {
		t.Errorf("got %.200s", got[len(got)-200:])
	}
}

// TestOthers_pass: failures, and answers that are no results of tools, are left alone.
func TestOthers_pass(t *testing.T) {
	t.Parallel()
	h := hookOf(t, `{"max_bytes":1024}`)
	long := textResult(strings.Repeat("long ", 1000))
	for name, edit := range map[string]func(*hooks.Call){
		"failed":    func(c *hooks.Call) { c.Err, c.Result = core.Errorf(core.Denied, "no"), nil },
		"discovery": func(c *hooks.Call) { c.Level, c.Action = hooks.Meta, "discover_tools" },
	} {
		c := newCall(long)
		edit(c)
		before := string(c.Result)
		if err := h.After(t.Context(), c); err != nil || string(c.Result) != before {
			t.Errorf("%s: %v", name, err)
		}
	}
	outer := newCall(long)
	outer.Level = hooks.Meta
	if err := h.After(t.Context(), outer); err != nil || len(outer.Result) > 2000 {
		t.Errorf("on the outer chain: %d bytes, %v", len(outer.Result), err)
	}
}

func TestConfig_faults(t *testing.T) {
	t.Parallel()
	for _, ttl := range []string{"soon", "0s", "25h", "-5m"} {
		_, err := truncation.Type(nil).New(hooks.Instance{Config: json.RawMessage(fmt.Sprintf(`{"ttl":%q}`, ttl))})
		var told *core.Error
		if !errors.As(err, &told) || told.Kind != core.InvalidParams || len(told.Faults) != 1 || told.Faults[0].Pointer != "/ttl" {
			t.Errorf("ttl %q: %v", ttl, err)
		}
	}
}
