package admin

import "bytes"

// plainJSON turns the JSON that people write into editors' settings (comments,
// and commas before a closing bracket) into what encoding/json reads. What it
// takes out it replaces by spaces, so that offsets stay. A byte order mark goes.
func plainJSON(raw []byte) []byte {
	out := bytes.Clone(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")))
	last, comma := byte('{'), -1 // the last byte that means something; where, if it is a comma that may trail
	for i := 0; i < len(out); {
		c := out[i]
		switch c {
		case ' ', '\t', '\r', '\n':
			i++
			continue
		case '"':
			i = stringEnd(out, i)
		case '/':
			end := commentEnd(out, i)
			if end == i { // a lone slash: for the decoder to complain of
				return out
			}
			blank(out[i:end])
			i = end
			continue
		default:
			if (c == ']' || c == '}') && comma >= 0 {
				out[comma] = ' '
			}
			i++
		}
		comma = -1
		if c == ',' && !bytes.ContainsRune([]byte("{[,"), rune(last)) {
			comma = i - 1
		}
		last = c
	}
	return out
}

// stringEnd gives the index after the string that opens at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// commentEnd gives the index after the comment that opens at i, or i when none does.
func commentEnd(b []byte, i int) int {
	rest := b[i:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		if n := bytes.IndexByte(rest, '\n'); n >= 0 {
			return i + n
		}
		return len(b)
	case bytes.HasPrefix(rest, []byte("/*")):
		if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
			return i + 2 + n + 2
		}
	}
	return i
}

// blank keeps line ends, for the position in a complaint.
func blank(b []byte) {
	for i := range b {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
}
