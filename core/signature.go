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
	maxSignature  = 300
	maxEnum       = 8
	maxEnumBytes  = 80
	maxMembers    = 8 // of a nested object
	maxParamBytes = 64
	maxSchemaNest = 5 // of arrays and unions that are followed
	maxReferences = 5
)

// Signature is one line that a model can call a tool from, made of its input
// schema:
//
//	(owner: string, labels: string[], state?: "open"|"closed")
//
// Required parameters come first, each group in the schema's own order. It is at
// most some 300 bytes long; "…" stands for what did not fit. Any input is
// accepted: what is not a schema of an object gives "()".
func Signature(schema json.RawMessage) string {
	s := schemaPart{}.read(schema)
	s.root = s.members
	var b strings.Builder
	b.WriteByte('(')
	for i, p := range s.parameters() {
		text := p.name + ": " + p.schema.typeName(0)
		if i > 0 {
			text = ", " + text
		}
		if b.Len()+len(text) > maxSignature-len(", …)") {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString("…")
			break
		}
		b.WriteString(text)
	}
	b.WriteByte(')')
	return b.String()
}

// schemaPart is what a signature wants to know of a schema. Members that are not
// of the expected type are read as absent: schemas in the wild are broken.
type schemaPart struct {
	members map[string]json.RawMessage
	root    map[string]json.RawMessage // of the whole schema, for local references
}

// read reads a part of the same schema, following references within it.
func (s schemaPart) read(raw json.RawMessage) schemaPart {
	for range maxReferences {
		s.members = nil
		if json.Unmarshal(raw, &s.members) != nil {
			return schemaPart{root: s.root}
		}
		var ref string
		if json.Unmarshal(s.members["$ref"], &ref) != nil {
			return s
		}
		raw = s.lookUp(ref)
	}
	return schemaPart{root: s.root}
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
	name   string // with a ? when optional
	schema schemaPart
}

// parameters lists the properties, required ones first.
func (s schemaPart) parameters() []parameter {
	var names []string
	if json.Unmarshal(s.members["required"], &names) != nil {
		names = nil
	}
	var required, optional []parameter
	for key, raw := range orderedMembers(s.members["properties"]) {
		p := parameter{name: parameterName(key), schema: s.read(raw)}
		if slices.Contains(names, key) {
			required = append(required, p)
			continue
		}
		p.name += "?"
		optional = append(optional, p)
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
func (s schemaPart) typeName(depth int) string {
	if literals := s.literals(); literals != "" {
		return literals
	}
	if depth > maxSchemaNest {
		return "any"
	}
	switch types := s.types(); len(types) {
	case 0:
		return s.untyped(depth)
	case 1:
		return s.named(types[0], depth)
	default:
		var names []string
		for _, t := range types[:min(len(types), maxEnum)] {
			names = append(names, s.named(t, depth))
		}
		return union(names)
	}
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
func (s schemaPart) untyped(depth int) string {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		var options []json.RawMessage
		if json.Unmarshal(s.members[keyword], &options) != nil || len(options) == 0 {
			continue
		}
		var names []string
		for _, o := range options[:min(len(options), maxEnum)] {
			names = append(names, s.read(o).typeName(depth+1))
		}
		return union(names)
	}
	switch {
	case s.members["properties"] != nil:
		return s.named("object", depth)
	case s.members["items"] != nil:
		return s.named("array", depth)
	}
	return "any"
}

func (s schemaPart) named(t string, depth int) string {
	switch t {
	case "string", "number", "integer", "boolean", "null":
		return t
	case "array":
		return s.array(depth)
	case "object":
		return s.object(depth)
	}
	return "any"
}

func (s schemaPart) array(depth int) string {
	item := "any"
	if s.members["items"] != nil {
		item = s.read(s.members["items"]).typeName(depth + 1)
	}
	if strings.Contains(item, "|") && !strings.HasPrefix(item, "{") {
		item = "(" + item + ")"
	}
	return item + "[]"
}

// object opens one level of nesting; what lies deeper is an "object".
func (s schemaPart) object(depth int) string {
	params := s.parameters()
	if len(params) == 0 {
		return "object"
	}
	var members []string
	for i, p := range params {
		if i == maxMembers {
			members = append(members, "…")
			break
		}
		members = append(members, p.name+": "+p.schema.flat(depth+1))
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// flat is the type of a member of a nested object, without opening another.
func (s schemaPart) flat(depth int) string {
	if literals := s.literals(); literals != "" {
		return literals
	}
	switch types := s.types(); {
	case depth > maxSchemaNest:
		return "any"
	case len(types) == 1 && types[0] == "array":
		return s.read(s.members["items"]).flat(depth+1) + "[]"
	case len(types) == 1 && types[0] != "object":
		return s.named(types[0], maxSchemaNest)
	case len(types) == 1 || s.members["properties"] != nil:
		return "object"
	}
	return "any"
}

// literals is an enum or a const as a union, "" when there is none.
func (s schemaPart) literals() string {
	var values []json.RawMessage
	if s.members["const"] != nil {
		values = []json.RawMessage{s.members["const"]}
	} else if json.Unmarshal(s.members["enum"], &values) != nil {
		return ""
	}
	var names []string
	size := 0
	for i, v := range values {
		text := oneLine(string(v))
		size += len(text)
		if i == maxEnum || size > maxEnumBytes {
			names = append(names, "…")
			break
		}
		names = append(names, text)
	}
	return strings.Join(names, "|")
}

// union joins type names, each once.
func union(names []string) string {
	var distinct []string
	for _, n := range names {
		if !slices.Contains(distinct, n) {
			distinct = append(distinct, n)
		}
	}
	if len(distinct) > 1 && slices.Contains(distinct, "any") {
		return "any"
	}
	return strings.Join(distinct, "|")
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
