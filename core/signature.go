package core

import (
	"bytes"
	"encoding/json"
	"slices"
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

// lookUp finds a definition by a reference like #/$defs/name.
func (s schemaPart) lookUp(ref string) json.RawMessage {
	for _, section := range []string{"$defs", "definitions"} {
		name, local := strings.CutPrefix(ref, "#/"+section+"/")
		if !local {
			continue
		}
		var defs map[string]json.RawMessage
		if json.Unmarshal(s.root[section], &defs) == nil {
			return defs[name]
		}
	}
	return nil
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

// typeName is the type of a parameter. depth counts what it is nested in.
func (s schemaPart) typeName(depth int) string { return strings.Join(s.options(depth), "|") }

// options are the types that a parameter may have, each once.
func (s schemaPart) options(depth int) []string {
	if literals := s.literals(); literals != nil {
		return literals
	}
	if *s.room--; depth > maxSchemaNest || *s.room < 0 {
		return []string{"any"}
	}
	types := s.types()
	if len(types) == 0 {
		return s.untyped(depth)
	}
	var names []string
	for _, t := range types[:min(len(types), maxEnum)] {
		names = append(names, s.named(t, depth))
	}
	return distinct(names)
}

func (s schemaPart) types() []string {
	var one string
	if json.Unmarshal(s.members["type"], &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(s.members["type"], &many) != nil {
		return nil
	}
	return many
}

// untyped guesses the type of a schema that names none.
func (s schemaPart) untyped(depth int) []string {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		var options []json.RawMessage
		if json.Unmarshal(s.members[keyword], &options) != nil || len(options) == 0 {
			continue
		}
		var names []string
		for _, o := range options[:min(len(options), maxEnum)] {
			if option := s.read(o); option.members["not"] == nil { // such as {"not": {}}, which nothing is
				names = append(names, option.options(depth+1)...)
			}
		}
		if len(names) > 0 {
			return distinct(names)
		}
	}
	switch {
	case s.members["allOf"] != nil:
		return s.intersection(depth)
	case s.members["properties"] != nil:
		return []string{s.named("object", depth)}
	case s.members["items"] != nil, s.members["prefixItems"] != nil:
		return []string{s.named("array", depth)}
	}
	return []string{"any"}
}

// intersection is the part that says most: an enum, or else the longest.
func (s schemaPart) intersection(depth int) []string {
	var parts []json.RawMessage
	found := []string{"any"}
	if json.Unmarshal(s.members["allOf"], &parts) != nil {
		return found
	}
	for _, raw := range parts[:min(len(parts), maxEnum)] {
		part := s.read(raw)
		if literals := part.literals(); literals != nil {
			return literals
		}
		if options := part.options(depth + 1); found[0] == "any" || len(options[0]) > len(found[0]) {
			found = options
		}
	}
	return found
}

func (s schemaPart) named(t string, depth int) string {
	switch t {
	case "number", "integer", "boolean", "null":
		return t
	case "string":
		return "string" + s.form()
	case "array":
		return s.array(depth)
	case "object":
		return s.object(depth)
	}
	return "any"
}

// form is what a text must look like: <uri>, or a short regular expression.
func (s schemaPart) form() string {
	var text string
	if s.style == bare {
		return ""
	}
	if json.Unmarshal(s.members["format"], &text) == nil && parameterName(text) == text && text != "" {
		return "<" + text + ">"
	}
	if json.Unmarshal(s.members["pattern"], &text) == nil && text != "" && len(text) <= maxPattern &&
		oneLine(text) == text && !strings.Contains(text, "/>") {
		return "</" + text + "/>"
	}
	return ""
}

func (s schemaPart) array(depth int) string {
	var places []json.RawMessage
	if json.Unmarshal(s.members["prefixItems"], &places) == nil && len(places) > 0 && len(places) <= maxMembers {
		var names []string
		for _, place := range places {
			names = append(names, s.read(place).typeName(depth+1))
		}
		return "[" + strings.Join(names, ", ") + "]"
	}
	if s.members["items"] == nil {
		return "any[]"
	}
	options := s.read(s.members["items"]).options(depth + 1)
	if len(options) > 1 {
		return "(" + strings.Join(options, "|") + ")[]"
	}
	return options[0] + "[]"
}

// object names the members: all of an object that is no part of another, and of those
// within it what is required.
func (s schemaPart) object(depth int) string {
	params := s.parameters()
	required := s.required(params)
	if s.style == bare || depth > maxSchemaNest || len(params) == 0 || s.inner && len(required) == 0 {
		return "object"
	}
	shown := max(len(required), min(len(params), maxMembers))
	if s.inner || s.style == short {
		shown = len(required)
	}
	var members []string
	for _, p := range params[:shown] {
		p.schema.inner = true
		members = append(members, p.text(depth+1))
	}
	if shown < len(params) {
		members = append(members, "…")
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// literals are the values of an enum or a const, none when there is neither.
func (s schemaPart) literals() []string {
	var values []json.RawMessage
	if s.members["const"] != nil {
		values = []json.RawMessage{s.members["const"]}
	} else if json.Unmarshal(s.members["enum"], &values) != nil {
		return nil
	}
	var names []string
	size := 0
	for i, v := range values {
		text := oneLine(string(v))
		size += len(text)
		if i > 0 && (i == s.style.values() || size > maxEnumBytes) {
			names = append(names, "…")
			break
		}
		names = append(names, text)
	}
	return names
}

// distinct gives type names, each once: the one any where it is among them.
func distinct(names []string) []string {
	var list []string
	for _, n := range names {
		if n == "any" {
			return []string{n}
		}
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
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
