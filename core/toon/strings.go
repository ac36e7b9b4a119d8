package toon

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// string reads a string: a key or a value.
func (d *document) string(i int) (int, error) {
	start := i + 1
	var m marks
	for i = start; i < len(d.json); i++ {
		b := byteMarks[d.json[i]]
		if b&stops == 0 {
			m |= b
			continue
		}
		if d.json[i] != '"' {
			break
		}
		return d.add(node{kind: text, marks: m | edges(d.json[start:i])}, start, i) + 1, nil
	}
	if d.at(i) != '\\' {
		return 0, errNotJSON
	}
	return d.escaped(start)
}

// escaped reads a string with escapes, which is kept without them.
func (d *document) escaped(start int) (int, error) {
	from := len(d.extra)
	i := start
	for i < len(d.json) && d.json[i] != '"' {
		switch c := d.json[i]; {
		case c < ' ':
			return 0, errNotJSON
		case c != '\\':
			d.extra = append(d.extra, c)
			i++
		default:
			r, n := unescape(d.json[i+1:])
			if n == 0 {
				return 0, errNotJSON
			}
			d.extra = utf8.AppendRune(d.extra, r)
			i += 1 + n
		}
	}
	if i >= len(d.json) {
		return 0, errNotJSON
	}
	m := unescaped
	for _, c := range d.extra[from:] {
		m |= byteMarks[c] &^ stops
		if byteMarks[c]&stops != 0 {
			m |= quoted
		}
	}
	m |= edges(string(d.extra[from:]))
	d.add(node{kind: text, marks: m}, from, len(d.extra))
	return i + 1, nil
}

const shortEscapes = "\"\\/bfnrt"

// unescape reads what follows a backslash, and gives how long it is: 0 for what is
// no escape, or half a surrogate pair.
func unescape(s string) (rune, int) {
	if s == "" {
		return 0, 0
	}
	if i := strings.IndexByte(shortEscapes, s[0]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 1
	}
	r, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 5
	}
	if len(s) < 11 || s[5] != '\\' {
		return 0, 0
	}
	low, ok := hex4(s[6:])
	pair := utf16.DecodeRune(r, low)
	if !ok || pair == utf8.RuneError {
		return 0, 0
	}
	return pair, 11
}

// hex4 reads uXXXX.
func hex4(s string) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[1:5]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
