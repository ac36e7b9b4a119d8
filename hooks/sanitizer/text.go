package sanitizer

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/rawjson"
)

// span is where a value lies in the text, and the path that leads to it.
type span struct {
	path       []string
	start, end int
}

// edit puts text in the place of a part of the arguments.
type edit struct {
	start, end int
	text       []byte
}

// edits are in the order of their places, and none overlaps another.
type edits []edit

// of gives b with the edits made; b itself without any.
func (es edits) of(b []byte) []byte {
	if len(es) == 0 {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	at := 0
	for _, e := range es {
		out = append(append(out, b[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, b[at:]...)
}

// whole is the value that b is, without the white space around it.
func whole(b []byte) span {
	start := rawjson.Space(b, 0)
	return span{start: start, end: rawjson.Skip(b, start)}
}

// child is a member of an object, with key where its name begins, or an element of
// an array.
type child struct {
	span
	key  int
	name string
}

// children gives the members or elements of a value.
func children(b []byte, at span) (list []child, isObject bool) {
	add := func(name string, key, start, end int) {
		path := append(at.path[:len(at.path):len(at.path)], name)
		list = append(list, child{span{path, at.start + start, at.start + end}, at.start + key, name})
	}
	text := b[at.start:at.end]
	switch text[0] {
	case '{':
		// The only error is of what is not an object.
		_ = rawjson.Members(text, func(m rawjson.Member) { add(string(m.Name), m.Key, m.Start, m.End) })
		return list, true
	case '[':
		_ = rawjson.Elements(text, func(start, end int) { add(strconv.Itoa(len(list)), start, start, end) })
	}
	return list, false
}

// matching calls visit for every value that a pointer's tokens lead to, in order. "*"
// leads to every member and element.
func matching(b []byte, at span, tokens []string, visit func(span)) {
	if len(tokens) == 0 {
		visit(at)
		return
	}
	list, _ := children(b, at)
	for _, c := range list {
		if tokens[0] == "*" || tokens[0] == c.name {
			matching(b, c.span, tokens[1:], visit)
		}
	}
}

// leaves calls visit for every text and number in a value, the value itself included.
func leaves(b []byte, at span, visit func(span)) {
	switch b[at.start] {
	case '{', '[':
		list, _ := children(b, at)
		for _, c := range list {
			leaves(b, c.span, visit)
		}
	default:
		visit(at)
	}
}

// without are the edits that take children out of their object or array, with the
// commas that went with them.
func without(list []child, drop func(child) bool) edits {
	var es edits
	for i := 0; i < len(list); i++ {
		if !drop(list[i]) {
			continue
		}
		first := i
		for i+1 < len(list) && drop(list[i+1]) {
			i++
		}
		switch {
		case first > 0:
			es = append(es, edit{start: list[first-1].end, end: list[i].end})
		case i+1 < len(list):
			es = append(es, edit{start: list[first].key, end: list[i+1].key})
		default:
			es = append(es, edit{start: list[first].key, end: list[i].end})
		}
	}
	return es
}

// insertion puts members, the inside of an object, behind the last one of the object
// that lies at at.
func insertion(at span, list []child, members []byte) edit {
	if n := len(list); n > 0 {
		return edit{list[n-1].end, list[n-1].end, append([]byte{','}, members...)}
	}
	return edit{at.start + 1, at.start + 1, members}
}

// member is the text of one.
func member(name string, value []byte) []byte {
	return append(append(quote(name), ':'), value...)
}

// quote writes a JSON string.
func quote(s string) []byte {
	text, err := core.EncodeJSON(s)
	if err != nil {
		panic(err) // a string
	}
	return bytes.TrimSpace(text)
}

// unquote reads a JSON string; it reports whether there is one.
func unquote(b []byte) (string, bool) {
	if len(b) == 0 || b[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(b, &s)
	return s, err == nil
}
