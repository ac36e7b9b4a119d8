package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxDepth bounds the nesting of a message; the SDK's decoder has the same bound.
const maxDepth = 1000

// checkJSON reports what keeps data from being one JSON value, nested no deeper
// than maxDepth.
func checkJSON(data []byte) error {
	brackets := bytes.Count(data, []byte("{")) + bytes.Count(data, []byte("["))
	if brackets > maxDepth && depth(data) > maxDepth {
		return fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	if json.Valid(data) {
		return nil
	}
	var v json.RawMessage
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	return errors.New("it is not JSON")
}

// depth is how deep objects and arrays are nested in data, valid or not.
func depth(data []byte) int {
	deepest, at, inString := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
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

// members calls yield for each member of a JSON object, in order, with the key as
// it is written between its quotes and where the value lies in data. data must be
// valid JSON; members reports false when it is not an object. Keys are compared as
// they are written: case counts, and an escaped spelling is another key.
func members(data []byte, yield func(key []byte, start, end int)) bool {
	i := skipSpace(data, 0)
	if i == len(data) || data[i] != '{' {
		return false
	}
	i = skipSpace(data, i+1)
	for data[i] != '}' {
		end := skipValue(data, i)
		key := data[i+1 : end-1]
		i = skipSpace(data, skipSpace(data, end)+1) // past the colon
		end = skipValue(data, i)
		yield(key, i, end)
		if i = skipSpace(data, end); data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
	return true
}

// elements counts the elements of a JSON array.
func elements(data []byte) int {
	n := 0
	i := skipSpace(data, skipSpace(data, 0)+1)
	for data[i] != ']' {
		n++
		if i = skipSpace(data, skipValue(data, i)); data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
	return n
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
		i++
	}
	return i
}

// skipValue gives the index behind the value that begins at i.
func skipValue(data []byte, i int) int {
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		depth := 0
		for {
			switch data[i] {
			case '"':
				i = skipString(data, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(data) && !isDelimiter(data[i]) {
		i++
	}
	return i
}

func isDelimiter(c byte) bool {
	return c == ',' || c == ']' || c == '}' || c == ' ' || c == '\n' || c == '\r' || c == '\t'
}

func skipString(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i + 1
}
