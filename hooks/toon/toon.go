// Package toon is the hook that writes JSON in results as TOON, which says the same
// in fewer tokens: the fields of a list stand there once instead of in every row.
//
// What it cannot write without loss, and what would hardly become shorter, passes
// unchanged, byte for byte.
package toon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolscout/toolscout/core/tokens"
	"github.com/toolscout/toolscout/core/toon"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/result"
)

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "min_bytes": {"type": "integer", "minimum": 0, "maximum": 1073741824, "default": 256,
      "description": "JSON shorter than this passes unchanged."},
    "min_saving": {"type": "number", "minimum": 0, "maximum": 100, "default": 10,
      "description": "How many per cent of its estimated tokens JSON must lose; otherwise it passes unchanged."},
    "structured": {"enum": ["drop", "keep"], "default": "drop",
      "description": "What becomes of structuredContent: drop leaves it out once a text says the same as TOON, adding that text where there is none; keep leaves it as it is, for programs that read it. A model whose client shows it structured content saves nothing then."},
    "errors": {"type": "boolean", "default": false,
      "description": "Also results by which the tool says that it failed."},
    "delimiter": {"enum": ["comma", "tab", "pipe"], "default": "comma",
      "description": "What separates the values of a row."}
  }
}`

// Format is the member of a text block's _meta that says in which format the text
// is: "toon".
const Format = "toolscout/format"

type config struct {
	MinBytes   int     `json:"min_bytes"`
	MinSaving  float64 `json:"min_saving"`
	Structured string  `json:"structured"`
	Errors     bool    `json:"errors"`
	Delimiter  string  `json:"delimiter"`
}

// Type is the type toon_transform.
func Type() hooks.Type {
	return hooks.Type{
		Name:        "toon_transform",
		Description: "Writes JSON in results as TOON, which takes fewer tokens. What would not become shorter passes unchanged.",
		Events:      []hooks.Event{hooks.MetaAfter, hooks.ToolAfter},
		Level:       hooks.Tool, OnError: hooks.Ignore, Priority: 500, Inline: true,
		Schema: json.RawMessage(schema),
		New:    func(i hooks.Instance) (hooks.Hook, error) { return open(i.Config) },
	}
}

type hook struct {
	config
	delimiter byte
}

func open(raw json.RawMessage) (*hook, error) {
	h := &hook{config: config{MinBytes: 256, MinSaving: 10, Structured: "drop", Delimiter: "comma"}}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &h.config); err != nil {
			return nil, fmt.Errorf("configuration of toon_transform: %w", err)
		}
	}
	h.delimiter = map[string]byte{"comma": ',', "tab": '\t', "pipe": '|'}[h.Delimiter]
	return h, nil
}

// Before has nothing to do.
func (*hook) Before(context.Context, *hooks.Call) error { return nil }

// After writes the JSON of a result as TOON, and notes why it left what looks like
// JSON as it is.
func (h *hook) After(ctx context.Context, c *hooks.Call) error {
	r, err := result.Parse(c.Result)
	if err != nil {
		return nil // what is no result of a tool has no text
	}
	e := edit{hook: h, result: r}
	if r.IsError() && !h.Errors {
		e.leaveErrors()
	} else if err := e.all(ctx); err != nil {
		return err
	}
	if e.after == 0 {
		if e.left != "" {
			c.Note("left", e.left)
		}
		return nil
	}
	c.Result = r.Bytes()
	c.Note("tokensBefore", e.before)
	c.Note("tokensAfter", e.after)
	c.Note("tokensSaved", e.before-e.after)
	return nil
}

// edit is the work on one result.
type edit struct {
	*hook
	result *result.Result
	// mirrored: a text says the same as the structured content.
	mirrored bool
	// same is the structured content as TOON, once said: it is compared with every text.
	same string
	said bool
	// before and after are the estimated tokens of what was rewritten.
	before, after int
	// left is why the first JSON that was not rewritten was not.
	left string
}

// leaveErrors has nothing to do; it says so of JSON alone.
func (e *edit) leaveErrors() {
	for _, b := range e.result.Blocks() {
		if text, ok := b.Text(); ok && looksLikeJSON(text) {
			e.leave("the tool says that it failed, and errors is false")
		}
	}
}

// all rewrites what a result says.
func (e *edit) all(ctx context.Context) error {
	if err := e.texts(ctx); err != nil {
		return err
	}
	if e.Structured == "drop" && !e.mirrored {
		e.structured()
	}
	return nil
}

// texts rewrites the text blocks.
func (e *edit) texts(ctx context.Context) error {
	for i := range e.result.Blocks() {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, ok := e.result.Blocks()[i].Text()
		if !ok {
			continue
		}
		s := e.shorten(text)
		mirrors := !e.mirrored && e.mirrors(i, s)
		e.mirrored = e.mirrored || mirrors
		if !s.worth {
			continue
		}
		if mirrors && e.Structured == "drop" {
			e.result.DropStructured()
		}
		e.rewrite(s)
		e.result.SetBlock(i, marked(e.result.Blocks()[i], s.text))
	}
	return nil
}

// structured makes a text of structured content that no text says.
func (e *edit) structured() {
	if s := e.shorten(string(e.result.Structured())); s.worth {
		e.rewrite(s)
		e.result.DropStructured()
		e.result.AppendText(s.text, map[string]any{Format: "toon"})
	}
}

func (e *edit) rewrite(s shortened) {
	e.before += s.before
	e.after += s.after
}

// mirrors reports whether text block i says the same as the structured content. That
// both are the same in TOON is the quickest proof.
func (e *edit) mirrors(i int, s shortened) bool {
	structured := e.result.Structured()
	if structured == nil {
		return false
	}
	if s.text != "" {
		if !e.said {
			e.said = true
			e.same, _ = e.encode(string(structured)) // "" is no text's
		}
		if e.same == s.text {
			return true
		}
	}
	return e.result.Mirrors(i) || e.result.Wraps(i)
}

// shortened is JSON as TOON; the text is empty where that cannot be.
type shortened struct {
	text          string
	before, after int // estimated tokens
	worth         bool
}

// looksLikeJSON reports whether a text begins as an object or an array does.
func looksLikeJSON(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text != "" && (text[0] == '{' || text[0] == '[')
}

func (e *edit) shorten(json string) shortened {
	if !looksLikeJSON(json) {
		return shortened{}
	}
	if len(json) < e.MinBytes {
		return e.leave(fmt.Sprintf("%d bytes, and min_bytes is %d", len(json), e.MinBytes))
	}
	if strings.ContainsRune(json, utf8.RuneError) {
		return e.leave("it holds U+FFFD, which may stand for what is no Unicode") // and only the original has that
	}
	text, err := e.encode(json)
	if err != nil {
		return e.leave(obstacle(err))
	}
	s := shortened{text: text, before: tokens.Estimate(json), after: tokens.Estimate(text)}
	saved := s.before - s.after
	switch {
	case saved <= 0:
		e.leave(noShorter)
	case float64(saved) < e.MinSaving/100*float64(s.before):
		e.leave(fmt.Sprintf("%d of %d tokens would be saved, and min_saving is %v %%", saved, s.before, e.MinSaving))
	default:
		s.worth = true
	}
	return s
}

const noShorter = "TOON would take no fewer tokens"

// obstacle says why JSON cannot be written as TOON, without a word of its content.
func obstacle(err error) string {
	for _, known := range []error{toon.ErrTooDeep, toon.ErrInexact} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if errors.Is(err, toon.ErrTooLong) {
		return noShorter
	}
	return "it is no JSON, or a key occurs twice in it"
}

// leave remembers why JSON stays as it is.
func (e *edit) leave(why string) shortened {
	e.left = cmp.Or(e.left, why)
	return shortened{}
}

// encode writes JSON as TOON. The indentation of what is deeply nested makes it
// longer, yet not more tokens; twice as long is never worth while.
func (e *edit) encode(json string) (string, error) {
	return toon.Encode(json, toon.Options{Delimiter: e.delimiter, Limit: 2 * len(json), Exact: true})
}
