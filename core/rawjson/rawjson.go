// Package rawjson looks at JSON as text: it finds members and elements by their
// positions and puts text in their place. What is not touched stays byte for byte:
// number literals, the order of members, white space, escapes, duplicates.
//
// It expects valid JSON, which [Check] makes sure of. Of anything else the other
// functions give an error or nonsense, but they never panic and always end.
package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The errors of a value that is of another type.
var (
	ErrNotObject = errors.New("not a JSON object")
	ErrNotArray  = errors.New("not a JSON array")
)

// Member is one member of an object by its positions in the text. A name that
// occurs twice is two members; to most readers the last one counts.
type Member struct {
	// Name is without quotes and escapes. It may be a part of the text.
	Name []byte
	// Key is where the name begins, with its quote; the value lies from Start to End.
	Key, Start, End int
}

// Members calls yield for each member of an object, in order.
func Members(b []byte, yield func(Member)) error {
	i := Space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return ErrNotObject
	}
	i = Space(b, i+1)
	for i < len(b) && b[i] != '}' {
		m := Member{Key: i}
		end := Skip(b, i)
		var err error
		if m.Name, err = unquote(b[i:end]); err != nil {
			return err
		}
		i = Space(b, end)
		if i >= len(b) || b[i] != ':' {
			return ErrNotObject
		}
		m.Start = Space(b, i+1)
		m.End = Skip(b, m.Start)
		if m.End == m.Start {
			return ErrNotObject
		}
		yield(m)
		i = next(b, m.End)
	}
	if i >= len(b) || Space(b, i+1) != len(b) {
		return ErrNotObject
	}
	return nil
}

// Elements calls yield with where each element of an array lies, in order.
func Elements(b []byte, yield func(start, end int)) error {
	i := Space(b, 0)
	if i >= len(b) || b[i] != '[' {
		return ErrNotArray
	}
	i = Space(b, i+1)
	for i < len(b) && b[i] != ']' {
		end := Skip(b, i)
		if end == i {
			return ErrNotArray
		}
		yield(i, end)
		i = next(b, end)
	}
	if i >= len(b) || Space(b, i+1) != len(b) {
		return ErrNotArray
	}
	return nil
}

// Find gives the value of an object's last member of a name, nil without one.
func Find(b []byte, name string) json.RawMessage {
	var value json.RawMessage
	err := Members(b, func(m Member) {
		if string(m.Name) == name {
			value = b[m.Start:m.End:m.End]
		}
	})
	if err != nil {
		return nil
	}
	return value
}

// next goes over the comma behind a member or an element.
func next(b []byte, i int) int {
	if i = Space(b, i); i < len(b) && b[i] == ',' {
		i = Space(b, i+1)
	}
	return i
}

func unquote(b []byte) ([]byte, error) {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return nil, ErrNotObject
	}
	if bytes.IndexByte(b, '\\') < 0 {
		return b[1 : len(b)-1], nil
	}
	var s string
	err := json.Unmarshal(b, &s)
	return []byte(s), err
}

// Space gives the first position from i on that is not white space.
func Space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// Skip gives the end of the value that begins at i.
func Skip(b []byte, i int) int {
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

// text gives the end of the string that begins at i. Up to its first escaped quote
// it looks for quotes alone; behind that, in JSON that holds JSON, they are so dense
// that looking at each byte is faster.
func text(b []byte, i int) int {
	i++
	n := bytes.IndexByte(b[i:], '"')
	if n < 0 {
		return len(b)
	}
	escapes := 0
	for escapes < n && b[i+n-1-escapes] == '\\' {
		escapes++
	}
	if escapes%2 == 0 {
		return i + n + 1
	}
	for i += n + 1; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
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

// Check reports what keeps b from being one JSON value, nested no deeper than
// maxDepth.
func Check(b []byte, maxDepth int) error {
	brackets := bytes.Count(b, []byte("{")) + bytes.Count(b, []byte("["))
	if brackets > maxDepth && depth(b) > maxDepth {
		return fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	if json.Valid(b) {
		return nil
	}
	var v json.RawMessage
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	return errors.New("it is not JSON")
}

// depth is how deep objects and arrays are nested in b, valid or not.
func depth(b []byte) int {
	deepest, at, inString := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			at++
			deepest = max(deepest, at)
		case c == '}' || c == ']':
			at--
		}
	}
	return deepest
}
