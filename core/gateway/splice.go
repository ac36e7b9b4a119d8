package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// ours is the prefix of the members of _meta that the gateway writes. A server
// that writes some itself is not believed.
const ours = "toolscout/"

var errNotObject = errors.New("not a JSON object")

// splice adds members to the _meta of a JSON object and leaves every other byte
// as it is: literals, order, whitespace. members is the inside of an object,
// without braces.
func splice(raw, members []byte) ([]byte, error) {
	top, err := scan(raw)
	if err != nil {
		return nil, err
	}
	meta, found := top.last("_meta")
	if !found {
		return top.insert(raw, append([]byte(`"_meta":{`), append(members, '}')...)), nil
	}
	inner, err := scan(raw[meta.start:meta.end])
	value := append(append([]byte{'{'}, members...), '}')
	if err == nil {
		value = inner.without(raw[meta.start:meta.end], ours).with(members)
	}
	out := make([]byte, 0, len(raw)+len(members)+2)
	out = append(out, raw[:meta.start]...)
	out = append(out, value...)
	return append(out, raw[meta.end:]...), nil
}

// member is one member of an object, by positions: of its name, and of its value.
type member struct {
	key        int
	start, end int
	name       string
}

// object is where the members of an object lie.
type object struct {
	open    int
	members []member
}

func (o object) last(name string) (member, bool) {
	for i := len(o.members) - 1; i >= 0; i-- {
		if o.members[i].name == name {
			return o.members[i], true
		}
	}
	return member{}, false
}

// has reports whether a member is written exactly like this.
func (o object) has(raw []byte, name, value string) bool {
	m, found := o.last(name)
	return found && string(raw[m.start:m.end]) == value
}

// insert puts text behind the last member.
func (o object) insert(raw, text []byte) []byte {
	at := o.open + 1
	out := make([]byte, 0, len(raw)+len(text)+1)
	if n := len(o.members); n > 0 {
		at = o.members[n-1].end
	}
	out = append(out, raw[:at]...)
	if len(o.members) > 0 {
		out = append(out, ',')
	}
	out = append(out, text...)
	return append(out, raw[at:]...)
}

// rest is the text of an object on its way to become another.
type rest []byte

// without leaves out the members whose names begin with a prefix.
func (o object) without(raw []byte, prefix string) rest {
	var kept []member
	for _, m := range o.members {
		if !strings.HasPrefix(m.name, prefix) {
			kept = append(kept, m)
		}
	}
	if len(kept) == len(o.members) {
		return raw
	}
	out := []byte{'{'}
	for i, m := range kept {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, raw[m.key:m.end]...)
	}
	return append(out, '}')
}

// with adds members behind the last one.
func (r rest) with(members []byte) []byte {
	o, err := scan(r)
	if err != nil {
		return r
	}
	return o.insert(r, members)
}

// scan finds the members of an object without reading what they hold. It expects
// valid JSON; of anything else it gives an error or nonsense, but never panics.
func scan(b []byte) (object, error) {
	o := object{open: space(b, 0)}
	if o.open >= len(b) || b[o.open] != '{' {
		return o, errNotObject
	}
	i := space(b, o.open+1)
	for i < len(b) && b[i] != '}' {
		m := member{key: i}
		end := skip(b, i)
		name, err := unquote(b[i:end])
		if err != nil {
			return o, err
		}
		m.name = name
		i = space(b, end)
		if i >= len(b) || b[i] != ':' {
			return o, errNotObject
		}
		m.start = space(b, i+1)
		m.end = skip(b, m.start)
		if m.end == m.start {
			return o, errNotObject
		}
		o.members = append(o.members, m)
		i = space(b, m.end)
		if i < len(b) && b[i] == ',' {
			i = space(b, i+1)
		}
	}
	if i >= len(b) || space(b, i+1) != len(b) {
		return o, errNotObject
	}
	return o, nil
}

func unquote(b []byte) (string, error) {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return "", errNotObject
	}
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b[1 : len(b)-1]), nil
	}
	var s string
	err := json.Unmarshal(b, &s)
	return s, err
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skip gives the end of the value that begins at i.
func skip(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			i = text(b, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			i = literal(b, i)
		}
		if depth == 0 {
			return i
		}
	}
	return len(b)
}

// text gives the end of the string that begins at i.
func text(b []byte, i int) int {
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n + 1
		escapes := 0
		for b[i-2-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
	return len(b)
}

func literal(b []byte, i int) int {
	for i < len(b) && strings.IndexByte(",:]} \n\t\r", b[i]) < 0 {
		i++
	}
	return i
}
