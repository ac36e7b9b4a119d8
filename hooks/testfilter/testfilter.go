// Package testfilter is the hook that keeps of a test run what matters: the summary
// and a bounded part of each failure. It knows the output of cargo test, pytest,
// jest, go test (also -v and -json), rspec and mix test. Everything else passes
// byte for byte.
//
// It works by leaving out what it knows to be of no interest (tests that passed,
// progress, what they logged) and by shortening what it knows to be a failure. What
// it does not know stays: errors of a compiler, a panic, the words of whoever ran
// the tests. Where something is left out, a line says how much.
package testfilter

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/tokens"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/result"
)

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "frameworks": {"type": "array", "minItems": 1, "uniqueItems": true,
      "items": {"enum": ["cargo", "pytest", "jest", "go", "rspec", "mix"]},
      "default": ["cargo", "pytest", "jest", "go", "rspec", "mix"],
      "description": "Whose output is shortened."},
    "max_failures": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 10,
      "description": "How many failures are shown. The others are named."},
    "max_lines": {"type": "integer", "minimum": 4, "maximum": 1000, "default": 30,
      "description": "How many lines of each failure are shown."}
  }
}`

// Type is the type test_filter.
func Type() hooks.Type {
	return hooks.Type{
		Name:        "test_filter",
		Description: "Shortens the output of test runs (cargo, pytest, jest, go, rspec, mix) to the summary and the failures.",
		Events:      []hooks.Event{hooks.MetaAfter, hooks.ToolAfter},
		Level:       hooks.Tool, OnError: hooks.Ignore, Priority: 700, Timeout: 2 * time.Second, Inline: true,
		Schema: json.RawMessage(schema),
		New:    func(i hooks.Instance) (hooks.Hook, error) { return open(i.Config) },
	}
}

// config is the configuration; the schema says what its members mean.
type config struct {
	Frameworks  []string `json:"frameworks"`
	MaxFailures int      `json:"max_failures"`
	MaxLines    int      `json:"max_lines"`
}

// hook shortens by one configuration.
type hook struct {
	config config
	known  []framework
}

func open(raw json.RawMessage) (hooks.Hook, error) {
	h := &hook{config: config{MaxFailures: 10, MaxLines: 30}}
	if err := json.Unmarshal(raw, &h.config); err != nil {
		return nil, core.Errorf(core.InvalidParams, "the configuration of test_filter is not valid").Because(err)
	}
	if h.config.Frameworks == nil {
		h.known = frameworks
	}
	for _, name := range h.config.Frameworks {
		for _, f := range frameworks {
			if f.name == name {
				h.known = append(h.known, f)
			}
		}
	}
	return h, nil
}

// Before has nothing to do.
func (*hook) Before(context.Context, *hooks.Call) error { return nil }

// After shortens the text blocks of the result.
func (h *hook) After(ctx context.Context, c *hooks.Call) error {
	if c.Err != nil || len(c.Result) == 0 {
		return nil
	}
	r, err := result.Parse(c.Result)
	if err != nil {
		return nil // the answer of a meta-tool that is no CallToolResult has no blocks
	}
	before, after, names := 0, 0, ""
	for i, b := range r.Blocks() {
		text, ok := b.Text()
		if !ok {
			continue
		}
		short, name, err := h.shorten(ctx, text)
		if err != nil {
			return err
		}
		if name == "" {
			continue
		}
		before, after = before+tokens.Estimate(text), after+tokens.Estimate(short)
		if names != "" {
			names += " "
		}
		names += name
		r.Rewrite(i, short)
	}
	if names == "" {
		return nil
	}
	c.Note("framework", names)
	c.Note("tokensBefore", before)
	c.Note("tokensAfter", after)
	c.Result = r.Bytes()
	return nil
}
