package rawjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// String gives what a JSON string says, false if b is none. It is encoding/json's
// answer, U+FFFD for what is not Unicode included, several times as fast: the texts
// of results are JSON in JSON, and every other byte of that may be escaped.
func String(b []byte) (string, bool) {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return "", false
	}
	inner := b[1 : len(b)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), true
	}
	if out, ok := unescaped(inner); ok && utf8.Valid(out) {
		return string(out), true
	}
	var s string
	err := json.Unmarshal(b, &s)
	return s, err == nil
}

// escapes are what stands for what behind a backslash.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescaped replaces the escapes in a string, unless one is half of a surrogate pair.
func unescaped(s []byte) ([]byte, bool) {
	out := make([]byte, 0, len(s))
	from := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		out = append(out, s[from:i]...)
		if i++; i == len(s) {
			return nil, false
		}
		if s[i] == 'u' {
			if i+4 >= len(s) {
				return nil, false
			}
			r, err := strconv.ParseUint(string(s[i+1:i+5]), 16, 16)
			if err != nil || utf16.IsSurrogate(rune(r)) {
				return nil, false
			}
			out = utf8.AppendRune(out, rune(r))
			i += 4
		} else {
			c := escapes[s[i]]
			if c == 0 {
				return nil, false
			}
			out = append(out, c)
		}
		from = i + 1
	}
	return append(out, s[from:]...), true
}
