// Package result edits a CallToolResult as text: what is not edited stays byte for
// byte, blocks of unknown type and unknown members included.
package result

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/rawjson"
)

// Result is a CallToolResult under edit. It never modifies the bytes it was parsed
// from.
type Result struct {
	raw     json.RawMessage
	top     rawjson.Object
	content rawjson.Member // zero without one
	listed  bool           // content is an array, not null
	spans   []span         // where its blocks lay in raw

	blocks     []Block // as they stand; those behind len(spans) were appended
	edited     []bool  // by block
	structured json.RawMessage
	reading    *reading // of structured, nil until it is needed
	follow     follow
	changed    bool
}

type span struct{ start, end int }

// follow is what becomes of structuredContent.
type follow int

const (
	kept follow = iota
	replaced
	dropped
)

// Block is one content block.
type Block struct {
	// Type is "" where the block says none.
	Type string
	Raw  json.RawMessage
}

// Parse takes a CallToolResult apart. The bytes must be valid JSON, as all results
// of servers are; the error is that they are no object, or its content no array.
func Parse(raw json.RawMessage) (*Result, error) {
	top, err := rawjson.Scan(raw)
	if err != nil {
		return nil, fmt.Errorf("parse a result: %w", err)
	}
	r := &Result{raw: raw, top: top}
	if m, ok := top.Last("structuredContent"); ok {
		r.structured = clipped(raw, m.Start, m.End)
	}
	content, ok := top.Last("content")
	r.content = content
	if !ok || string(raw[content.Start:content.End]) == "null" {
		return r, nil
	}
	r.listed = true
	err = rawjson.Elements(raw[content.Start:content.End], func(start, end int) {
		at := span{content.Start + start, content.Start + end}
		r.spans = append(r.spans, at)
		r.blocks = append(r.blocks, blockOf(clipped(raw, at.start, at.end)))
	})
	if err != nil {
		return nil, fmt.Errorf("parse the content of a result: %w", err)
	}
	r.edited = make([]bool, len(r.blocks))
	return r, nil
}

// Check reports what keeps clients from taking raw, which is valid JSON, for a
// CallToolResult: it is an object whose content is a list of objects, each with a type,
// and those of type text with a text.
func Check(raw json.RawMessage) error {
	r, err := Parse(raw)
	if err != nil {
		return err
	}
	if !r.listed {
		return errors.New(`it needs "content", a list`)
	}
	for i, b := range r.blocks {
		if b.Type == "" {
			return fmt.Errorf("element %d of its content is no object with a type", i)
		}
		if _, ok := b.Text(); !ok && b.Type == "text" {
			return fmt.Errorf("element %d of its content is of type text, but has none", i)
		}
	}
	return nil
}

func clipped(raw json.RawMessage, start, end int) json.RawMessage { return raw[start:end:end] }

func blockOf(raw json.RawMessage) Block {
	typ, _ := stringOf(rawjson.Find(raw, "type"))
	return Block{Type: typ, Raw: raw}
}

// Text gives the text of a text block.
func (b Block) Text() (string, bool) {
	if b.Type != "text" {
		return "", false
	}
	return stringOf(rawjson.Find(b.Raw, "text"))
}

func stringOf(raw json.RawMessage) (string, bool) { return rawjson.String(raw) }

// Blocks are the content blocks as they stand.
func (r *Result) Blocks() []Block { return r.blocks }

// IsError reports whether the tool says that it failed.
func (r *Result) IsError() bool {
	m, ok := r.top.Last("isError")
	return ok && string(r.raw[m.Start:m.End]) == "true"
}

// SetBlock puts another block in the place of block i.
func (r *Result) SetBlock(i int, raw json.RawMessage) {
	r.blocks[i], r.edited[i], r.changed = blockOf(raw), true, true
}

// SetText replaces the text of block i, and leaves its other members. Where structured
// content may mirror it, use Rewrite.
func (r *Result) SetText(i int, text string) {
	r.SetBlock(i, r.blocks[i].WithText(text))
}

// DropFrom leaves out block n and all that follow.
func (r *Result) DropFrom(n int) {
	if n < len(r.blocks) {
		r.blocks, r.edited, r.changed = r.blocks[:n:n], r.edited[:n:n], true
	}
}

// Append adds a block behind the last.
func (r *Result) Append(raw json.RawMessage) {
	r.blocks = append(r.blocks, blockOf(raw))
	r.edited = append(r.edited, true)
	r.changed = true
}

// AppendText adds a text block, with a _meta unless it is empty. The values of meta
// are such that encoding/json can encode them.
func (r *Result) AppendText(text string, meta map[string]any) { r.Append(TextBlock(text, meta)) }

// TextBlock makes a text block, with a _meta unless it is empty.
func TextBlock(text string, meta map[string]any) json.RawMessage {
	return encode(struct {
		Type string         `json:"type"`
		Text string         `json:"text"`
		Meta map[string]any `json:"_meta,omitempty"`
	}{"text", text, meta})
}

// encode is for what can always be encoded.
func encode(v any) json.RawMessage {
	raw, err := core.EncodeJSON(v)
	if err != nil {
		panic(fmt.Sprintf("encode a part of a result: %v", err))
	}
	return raw
}
