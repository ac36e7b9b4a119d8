package toon

import (
	"math"
	"strconv"
	"strings"
)

// header is the beginning of an array, or of an object as a table (§6).
type header struct {
	key     string
	keyless bool
	count   int
	keyed   bool
	delim   byte
	fields  *fields // nil without a field list
	// inline are the values behind the colon.
	inline string
}

// fields is a field list.
type fields struct {
	list   []field
	leaves int
	// repeated: two of them have the same name.
	repeated bool
}

type field struct {
	name   string
	key    []byte // the name as JSON, with a colon
	nested *fields
}

// parseHeader reads a line as a header. There is none, and no error, if the line
// has no bracket before its first colon, or no colon; the error is that it has, but
// not as §6 wants it.
func parseHeader(s string) (header, bool, error) {
	h := header{delim: ','}
	open, colon := unquotedIndex(s, '['), unquotedIndex(s, ':')
	if open < 0 || colon < open {
		return h, false, nil
	}
	var err error
	if h.keyless = open == 0; !h.keyless {
		if strings.HasSuffix(s[:open], " ") || strings.HasSuffix(s[:open], "\t") {
			return h, false, faultf("space between a key and its bracket")
		}
		if h.key, err = parseKey(s[:open]); err != nil {
			return h, false, err
		}
	}
	s, err = h.bracket(s[open+1:])
	if err != nil {
		return h, false, err
	}
	if strings.HasPrefix(s, "{") {
		if h.fields, s, err = parseFields(s[1:], h.delim, 1); err != nil {
			return h, false, err
		}
	}
	if !strings.HasPrefix(s, ":") {
		return h, false, faultf("no colon behind the bracket")
	}
	h.inline = strings.Trim(s[1:], " ")
	if h.keyed && h.fields == nil {
		return h, false, faultf("a keyed header without a field list")
	}
	if h.fields != nil && h.inline != "" {
		return h, false, faultf("values behind a field list")
	}
	return h, true, nil
}

// bracket reads the bracket segment behind its opening, and gives the rest.
func (h *header) bracket(s string) (string, error) {
	n := digits(s)
	if n == 0 || n > 1 && s[0] == '0' {
		return "", faultf("a length must be a number without leading zeros")
	}
	var err error
	if h.count, err = strconv.Atoi(s[:n]); err != nil {
		h.count = math.MaxInt // never reached
	}
	s = s[n:]
	if strings.HasPrefix(s, ":") {
		h.keyed, s = true, s[1:]
	}
	if strings.HasPrefix(s, "\t") || strings.HasPrefix(s, "|") {
		h.delim, s = s[0], s[1:]
	}
	if !strings.HasPrefix(s, "]") {
		return "", faultf("a bracket holds more than a length and a delimiter")
	}
	return s[1:], nil
}

// parseFields reads a field list behind its opening brace, and gives the rest.
func parseFields(s string, delim byte, depth int) (*fields, string, error) {
	if depth > MaxDepth {
		return nil, "", ErrTooDeep
	}
	f := &fields{}
	seen := map[string]bool{}
	for {
		one, rest, err := parseField(s, delim, depth)
		if err != nil {
			return nil, "", err
		}
		f.repeated = f.repeated || seen[one.name] || one.nested != nil && one.nested.repeated
		seen[one.name] = true
		f.list = append(f.list, one)
		if f.leaves++; one.nested != nil {
			f.leaves += one.nested.leaves - 1
		}
		if rest == "" {
			return nil, "", faultf("a field list is not closed")
		}
		s = rest[1:]
		switch rest[0] {
		case '}':
			return f, s, nil
		case delim:
		default:
			return nil, "", faultf("a field list with %q between its names", rest[0])
		}
	}
}

// parseField reads one field, and gives the rest, from what ends it.
func parseField(s string, delim byte, depth int) (field, string, error) {
	var f field
	s = strings.TrimLeft(s, " ")
	end := 0
	for end < len(s) && strings.IndexByte(",|\t{}", s[end]) < 0 {
		if s[end] == '"' {
			n := closing(s[end:])
			if n < 0 {
				return f, "", faultf("a quote in a field list is not closed")
			}
			end += n
		}
		end++
	}
	var err error
	if f.name, err = parseKey(s[:end]); err != nil {
		return f, "", err
	}
	if f.name == "" && s[:end] != `""` {
		return f, "", faultf("a field without a name")
	}
	f.key = append(appendQuoted(nil, f.name), ':')
	if s = s[end:]; strings.HasPrefix(s, "{") {
		f.nested, s, err = parseFields(s[1:], delim, depth+1)
	}
	return f, strings.TrimLeft(s, " "), err
}

// parseKey reads a key (§7.4).
func parseKey(s string) (string, error) {
	s = strings.Trim(s, " ")
	if strings.HasPrefix(s, `"`) {
		return unquote(s)
	}
	return s, nil
}
