package result

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/toolscout/toolscout/core/rawjson"
)

// Structured is the structured content as it stands, nil without any.
func (r *Result) Structured() json.RawMessage { return r.structured }

// SetStructured replaces the structured content, or adds it.
func (r *Result) SetStructured(raw json.RawMessage) {
	r.structured, r.follow, r.changed = raw, replaced, true
}

// DropStructured leaves the structured content out.
func (r *Result) DropStructured() {
	if r.structured == nil {
		return
	}
	r.structured, r.follow, r.changed = nil, dropped, true
}

// Mirrors reports whether text block i is the structured content as JSON, however
// either is written.
func (r *Result) Mirrors(i int) bool {
	text, ok := r.blocks[i].Text()
	return ok && r.structured != nil && sameJSON([]byte(text), r.structured)
}

// Wraps reports whether the structured content is nothing but block i under one
// name, as in {"result": …}: the same text, or the same JSON. Many servers put
// results that are no objects into structured content so.
func (r *Result) Wraps(i int) bool {
	_, _, ok := r.wrapped(i)
	return ok
}

// wrapped gives the one member that Wraps means, and whether its value is the text
// as a string.
func (r *Result) wrapped(i int) (m rawjson.Member, plain, ok bool) {
	text, isText := r.blocks[i].Text()
	if !isText || r.structured == nil {
		return m, false, false
	}
	object, err := rawjson.Scan(r.structured)
	if err != nil || len(object.Members) != 1 {
		return m, false, false
	}
	m = object.Members[0]
	value := r.structured[m.Start:m.End]
	if s, isString := stringOf(value); isString {
		return m, true, s == text
	}
	return m, false, sameJSON([]byte(text), value)
}

// Rewrite replaces the text of text block i. Structured content that says the same
// follows, so that nobody finds there what was changed here: it becomes the new text
// where that fits in its place, and is dropped otherwise.
func (r *Result) Rewrite(i int, text string) {
	if r.Mirrors(i) {
		r.put(text, func(value json.RawMessage) json.RawMessage { return value })
	} else if m, plain, ok := r.wrapped(i); ok {
		within := func(value json.RawMessage) json.RawMessage {
			return rawjson.Replace(r.structured, m.Start, m.End, value)
		}
		if plain {
			r.SetStructured(within(encode(text)))
		} else {
			r.put(text, within)
		}
	}
	r.SetText(i, text)
}

// put makes text the structured content if it is JSON of the same kind.
func (r *Result) put(text string, within func(json.RawMessage) json.RawMessage) {
	value := bytes.TrimSpace([]byte(text))
	if len(value) == 0 || value[0] != '{' && value[0] != '[' || !json.Valid(value) {
		r.DropStructured()
		return
	}
	r.SetStructured(within(value))
}

// sameJSON compares values: order, white space and spelling do not count, number
// literals do.
func sameJSON(a, b []byte) bool {
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	if len(a) == 0 || len(b) == 0 || a[0] != b[0] {
		return false
	}
	if bytes.Equal(a, b) {
		return true
	}
	x, ok := decode(a)
	if !ok {
		return false
	}
	y, ok := decode(b)
	return ok && reflect.DeepEqual(x, y)
}

func decode(b []byte) (any, bool) {
	if !json.Valid(b) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err == nil
}
