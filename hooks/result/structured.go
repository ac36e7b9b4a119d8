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
	r.structured, r.reading, r.follow, r.changed = raw, nil, replaced, true
}

// DropStructured leaves the structured content out.
func (r *Result) DropStructured() {
	if r.structured == nil {
		return
	}
	r.structured, r.reading, r.follow, r.changed = nil, nil, dropped, true
}

// Mirrors reports whether text block i is the structured content as JSON, however
// either is written.
func (r *Result) Mirrors(i int) bool {
	text, ok := r.blocks[i].Text()
	return ok && r.structured != nil && r.said().whole.is(text)
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
	s := r.said()
	switch {
	case !s.single:
		return m, false, false
	case s.isText:
		return s.member, true, s.text == text
	default:
		return s.member, false, s.inner.is(text)
	}
}

// reading is what structured content says. It is read once for all blocks that may
// say the same: there may be many of them, and much of it.
type reading struct {
	whole value
	// single: it has one member, whose value is inner or, as a string, text.
	single, isText bool
	member         rawjson.Member
	inner          value
	text           string
}

func (r *Result) said() *reading {
	if r.reading != nil {
		return r.reading
	}
	r.reading = &reading{whole: value{raw: bytes.TrimSpace(r.structured)}}
	object, err := rawjson.Scan(r.structured)
	if err != nil || len(object.Members) != 1 {
		return r.reading
	}
	s := r.reading
	s.single, s.member = true, object.Members[0]
	s.inner.raw = r.structured[s.member.Start:s.member.End]
	s.text, s.isText = stringOf(s.inner.raw)
	return s
}

// value is JSON that texts are compared with. It is decoded for the first of them
// that is not the same bytes.
type value struct {
	raw     []byte
	decoded any
	tried   bool
	ok      bool
}

// is reports whether text is the same value: order, white space and spelling do not
// count, number literals do.
func (v *value) is(text string) bool {
	a := bytes.TrimSpace([]byte(text))
	if len(a) == 0 || len(v.raw) == 0 || a[0] != v.raw[0] {
		return false
	}
	if bytes.Equal(a, v.raw) {
		return true
	}
	x, ok := decode(a)
	if !ok {
		return false
	}
	if !v.tried {
		v.tried = true
		v.decoded, v.ok = decode(v.raw)
	}
	return v.ok && reflect.DeepEqual(x, v.decoded)
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
