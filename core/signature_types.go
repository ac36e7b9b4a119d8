package core

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// typeName is the type of a parameter. depth counts what it is nested in.
func (s schemaPart) typeName(depth int) string { return strings.Join(s.options(depth), "|") }

// options are the types that a parameter may have, each once.
func (s schemaPart) options(depth int) []string {
	if literals := s.literals(); literals != nil {
		return literals
	}
	if *s.room--; *s.room < 0 {
		return []string{"any"}
	}
	types := s.types()
	if len(types) == 0 {
		return s.untyped(depth)
	}
	if s.variants() {
		if options := s.untyped(depth); options[0] != "any" {
			return options
		}
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

// variants reports whether an object has members only by the union that it is.
func (s schemaPart) variants() bool {
	return s.members["properties"] == nil && (s.members["anyOf"] != nil || s.members["oneOf"] != nil) &&
		slices.Equal(s.types(), []string{"object"})
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
				names = append(names, option.options(depth)...) // the room bounds these
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
		if options := part.options(depth); found[0] == "any" || len(options[0]) > len(found[0]) {
			found = options
		}
	}
	return found
}

func (s schemaPart) named(t string, depth int) string {
	switch t {
	case "boolean", "null":
		return t
	case "number", "integer":
		return t + s.bracketed(s.bounds("minimum", "maximum"))
	case "string":
		return "string" + s.bracketed(s.bounds("minLength", "maxLength"), s.form())
	case "array":
		return s.array(depth)
	case "object":
		return s.object(depth)
	}
	return "any"
}

// bracketed says in few words what a type is bound by: <8 /^\d+$/>.
func (s schemaPart) bracketed(bounds ...string) string {
	said := strings.TrimSpace(strings.Join(bounds, " "))
	if said == "" || s.style == bare {
		return ""
	}
	return "<" + said + ">"
}

// bounds are how small and large a number, a text or a list may be: 2..5, or 8.., or 4
// for no other than that. They are said where a small one would be refused, which is
// what a model cannot know; few ask for as much as a maximum forbids.
func (s schemaPart) bounds(least, most string) string {
	var from, to float64
	if json.Unmarshal(s.members[least], &from) != nil || from <= 1 {
		return ""
	}
	switch {
	case json.Unmarshal(s.members[most], &to) != nil || to < from:
		return plainNumber(from) + ".."
	case to == from:
		return plainNumber(from)
	}
	return plainNumber(from) + ".." + plainNumber(to)
}

func plainNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// form is what a text must look like: the name of a format, or a short regular
// expression.
func (s schemaPart) form() string {
	var text string
	if json.Unmarshal(s.members["format"], &text) == nil && parameterName(text) == text && text != "" {
		return text
	}
	if json.Unmarshal(s.members["pattern"], &text) == nil && text != "" && len(text) <= maxPattern &&
		oneLine(text) == text && !strings.Contains(text, "/>") {
		return "/" + text + "/"
	}
	return ""
}

func (s schemaPart) array(depth int) string {
	var places []json.RawMessage
	if json.Unmarshal(s.members["prefixItems"], &places) == nil && len(places) > 0 && len(places) <= maxMembers && depth <= maxSchemaNest {
		var names []string
		for _, place := range places {
			names = append(names, s.read(place).typeName(depth+1))
		}
		return "[" + strings.Join(names, ", ") + "]"
	}
	bounds := s.bracketed(s.bounds("minItems", "maxItems"))
	if s.members["items"] == nil || depth > maxSchemaNest {
		return "any[]" + bounds
	}
	options := s.read(s.members["items"]).options(depth + 1)
	if len(options) > 1 {
		return "(" + strings.Join(options, "|") + ")[]" + bounds
	}
	return options[0] + "[]" + bounds
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
