package toon

import (
	"strings"
	"unicode/utf8"
)

// marks are what a look at a string's bytes tells of how it is written.
type marks uint8

const (
	// quoted: as a value it needs quotes wherever it stands (§7.2).
	quoted marks = 1 << iota
	// commas and pipes: it holds that delimiter, and needs quotes where that is active.
	commas
	pipes
	// odd: as a key it needs quotes (§7.3).
	odd
	// unescaped: its text lies in document.extra.
	unescaped
	// stops: of a byte: a JSON string does not hold it as it is.
	stops
	// tabular: of an object: it holds something, and nothing but primitives and such
	// objects, so that it can be a row (§9.3).
	tabular
)

// byteMarks are the marks of single bytes.
var byteMarks = func() (t [256]marks) {
	for c := range t {
		switch {
		case c < ' ' || c == '"' || c == '\\':
			t[c] = stops | odd
		case c == ':' || c == '[' || c == ']' || c == '{' || c == '}':
			t[c] = quoted | odd
		case c == ',':
			t[c] = commas | odd
		case c == '|':
			t[c] = pipes | odd
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.':
		default:
			t[c] = odd
		}
	}
	return t
}()

// edges are the marks that depend on a string's ends, or on all of it.
func edges(s string) marks {
	if s == "" {
		return quoted | odd
	}
	var m marks
	first, last := s[0], s[len(s)-1]
	if digit := first >= '0' && first <= '9'; digit || first == '.' {
		m = odd
	}
	switch {
	case first == ' ' || last == ' ' || first == '-' || first == '#':
		m |= quoted
	case first == 't' && s == "true", first == 'f' && s == "false", first == 'n' && s == "null":
		m |= quoted
	case strings.HasPrefix(s, bom): // at the start of the document it would be taken for a mark
		m |= quoted
	case (first >= '0' && first <= '9' || first == '+') && looksNumeric(s):
		m |= quoted
	}
	return m
}

const bom = "\ufeff"

// appendQuoted adds a string in quotes (§7.1), in a way that JSON reads alike.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		if byteMarks[s[i]]&stops == 0 {
			continue
		}
		dst = append(append(dst, s[from:i]...), '\\')
		from = i + 1
		switch c := s[i]; c {
		case '"', '\\':
			dst = append(dst, c)
		case '\n':
			dst = append(dst, 'n')
		case '\r':
			dst = append(dst, 'r')
		case '\t':
			dst = append(dst, 't')
		default:
			const hex = "0123456789abcdef"
			dst = append(dst, 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// unquote reads a quoted token, which must be one to its last byte (§7.1, §7.4).
func unquote(s string) (string, error) {
	if closing(s) != len(s)-1 {
		return "", faultf("%s is no complete quoted string", s)
	}
	s = s[1 : len(s)-1]
	at := strings.IndexByte(s, '\\')
	if at < 0 {
		return s, nil
	}
	out := make([]byte, 0, len(s))
	for ; at >= 0; at = strings.IndexByte(s, '\\') {
		out = append(out, s[:at]...)
		s = s[at+1:]
		c := strings.IndexByte("\"\\nrt", s[0])
		if c >= 0 {
			out = append(out, "\"\\\n\r\t"[c])
			s = s[1:]
			continue
		}
		r, ok := hex4(s)
		if !ok || !utf8.ValidRune(r) {
			return "", faultf("\\%.5s is no escape", s)
		}
		out = utf8.AppendRune(out, r)
		s = s[5:]
	}
	return string(append(out, s...)), nil
}

// closing gives where the quote that s begins with is closed, or -1.
func closing(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}
