package core

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The bounds of a signature, in bytes and in parts.
const (
	maxSignature  = 300 // with optional parameters
	maxRequired   = 900 // what is required is worth more
	maxParts      = 500 // of the schema that are looked at
	maxEnum       = 8
	maxEnumBytes  = 80
	maxShortEnum  = 3
	maxMembers    = 8  // of a nested object, where they are optional
	maxPattern    = 40 // bytes of a regular expression
	maxParamBytes = 64
	maxSchemaNest = 5 // of arrays, objects and unions that are followed
	maxReferences = 5
)

// most is how long what is required may be in each style.
var most = [...]int{whole: 2 * maxSignature, short: maxRequired, bare: maxRequired}

// style is how much a type says.
type style int

const (
	whole style = iota // everything
	short              // of objects what is required, of enums a few values
	bare               // types alone, and of enums one value
)

// values is how many values of an enum are named.
func (s style) values() int {
	switch s {
	case whole:
		return maxEnum
	case short:
		return maxShortEnum
	default:
		return 1
	}
}

// Signature is one line that a model can call a tool from, made of its input
// schema:
//
//	(owner: string, labels: string[], site: string<uri>, state?: "open"|"closed")
//
// Required parameters come first, each group in the schema's own order. It is some
// 300 bytes long at most, and longer only for what is required: of that all is said
// down to the members of nested objects, in fewer words where there is much of it.
// "…" stands for what did not fit. Any input is accepted: what is not a schema of an
// object gives "()".
func Signature(schema json.RawMessage) string {
	s := schemaPart{}.read(schema)
	s.root, s.room = s.members, newRoom()
	required := s.required(s.parameters())
	var parts []string
	size := 0
	for ; s.style <= bare; s.style++ {
		if parts, size = s.rendered(required); size <= most[s.style] {
			break
		}
	}
	s.style = whole
	s.room = newRoom()
	for _, p := range s.parameters()[len(required):] {
		text := p.text(0)
		if size+len(text) > maxSignature-len(", …)") {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, text)
		size += len(text) + len(", ")
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// required are those of parameters that are.
func (s schemaPart) required(all []parameter) []parameter {
	if i := slices.IndexFunc(all, func(p parameter) bool { return p.optional }); i >= 0 {
		return all[:i]
	}
	return all
}

// rendered gives parameters as text, as many as there may be, and its size.
func (s schemaPart) rendered(list []parameter) (parts []string, size int) {
	size = len("()")
	room := newRoom()
	for _, p := range list {
		p.schema.style, p.schema.room = s.style, room
		text := p.text(0)
		if size+len(text) > maxRequired && s.style == bare {
			return append(parts, "…"), size + len("…")
		}
		parts = append(parts, text)
		size += len(text) + len(", ")
	}
	return parts, size
}

// schemaPart is what a signature wants to know of a schema. Members that are not
// of the expected type are read as absent: schemas in the wild are broken.
type schemaPart struct {
	members map[string]json.RawMessage
	root    map[string]json.RawMessage // of the whole schema, for local references
	style   style
	inner   bool // within an object
	room    *int // how many more parts are looked at
}

// newRoom bounds the work: a schema that refers to itself would have no end.
func newRoom() *int {
	n := maxParts
	return &n
}

// read reads a part of the same schema, following references within it.
func (s schemaPart) read(raw json.RawMessage) schemaPart {
	for range maxReferences {
		s.members = nil
		if json.Unmarshal(raw, &s.members) != nil {
			return schemaPart{root: s.root, style: s.style, inner: s.inner, room: s.room}
		}
		var ref string
		if json.Unmarshal(s.members["$ref"], &ref) != nil {
			return s
		}
		raw = s.lookUp(ref)
	}
	return schemaPart{root: s.root, style: s.style, inner: s.inner, room: s.room}
}

// lookUp finds a part of the schema by a reference like #/$defs/name.
func (s schemaPart) lookUp(ref string) json.RawMessage {
	path, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil
	}
	var found json.RawMessage
	members := s.root
	for step := range strings.SplitSeq(path, "/") {
		if found != nil {
			members = membersOf(found)
		}
		if found = members[unescape.Replace(step)]; found == nil {
			return nil
		}
	}
	return found
}

// unescape reads a step of a JSON pointer (RFC 6901, 4).
var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// membersOf are those of an object, or of an array by their numbers.
func membersOf(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	var list []json.RawMessage
	if json.Unmarshal(raw, &members) != nil && json.Unmarshal(raw, &list) == nil {
		members = make(map[string]json.RawMessage, len(list))
		for i, m := range list {
			members[strconv.Itoa(i)] = m
		}
	}
	return members
}

type parameter struct {
	name     string
	optional bool
	schema   schemaPart
}

func (p parameter) text(depth int) string {
	if p.optional {
		return p.name + "?: " + p.schema.typeName(depth)
	}
	return p.name + ": " + p.schema.typeName(depth)
}

// parameters lists the properties, required ones first. A name that is required and
// described nowhere may be anything.
func (s schemaPart) parameters() []parameter {
	var names []string
	if json.Unmarshal(s.members["required"], &names) != nil {
		names = nil
	}
	var required, optional []parameter
	for key, raw := range orderedMembers(s.members["properties"]) {
		p := parameter{name: parameterName(key), schema: s.read(raw)}
		at := slices.Index(names, key)
		if p.optional = at < 0; p.optional {
			optional = append(optional, p)
			continue
		}
		required = append(required, p)
		names = slices.Delete(names, at, at+1)
	}
	for _, name := range names {
		required = append(required, parameter{name: parameterName(name), schema: s.read(nil)})
	}
	return append(required, optional...)
}

// orderedMembers gives an object's members in the order in which they are
// written. It ends at the first error.
func orderedMembers(raw json.RawMessage) func(yield func(string, json.RawMessage) bool) {
	return func(yield func(string, json.RawMessage) bool) {
		dec := json.NewDecoder(bytes.NewReader(raw))
		if open, err := dec.Token(); err != nil || open != json.Delim('{') {
			return
		}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return
			}
			name, ok := key.(string)
			var value json.RawMessage
			if !ok || dec.Decode(&value) != nil || !yield(name, value) {
				return
			}
		}
	}
}

// parameterName is a name as it can stand in a signature: quoted when it is not a
// plain word.
func parameterName(name string) string {
	plain := name != "" && len(name) <= maxParamBytes && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if plain {
		return name
	}
	quoted, err := json.Marshal(strings.ToValidUTF8(name[:min(len(name), maxParamBytes)], ""))
	if err != nil {
		return `""`
	}
	return string(quoted)
}

// oneLine takes line breaks and other control characters out of JSON text.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) && r != ' ' {
			return -1
		}
		return r
	}, s)
}
