package truncation

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/rawjson"
)

// markerName is the member that says what is missing. In an array an object with
// nothing but it stands in the place of what is missing.
const markerName = "toolscout/truncated"

const (
	// maxDepth is how deep the cutter looks for what to shorten. Each level reads
	// what is below it once more; further down values are left out whole.
	maxDepth = 20
	// leastValue is how many bytes the cutter wants for a value before it shortens
	// it: of less nothing would be left but the marker.
	leastValue = 100
)

// cutter shortens JSON: arrays and objects at the borders of elements, strings at
// those of characters. What it keeps, it keeps byte for byte, but for white space
// between the parts of what it shortened.
type cutter struct {
	// marker describes the shortened whole, given what its outermost object or array
	// lacks and where in the text the first thing is missing. nil means that nothing
	// is marked and no member is left out, for JSON with a schema.
	marker func(missing string, first int) any
	tail   bool // keep some of the end of an array too
	// first is where in the text the first thing is missing.
	first int
}

// cut gives the JSON object or array v, which is longer than n bytes, in at most n
// bytes. It reports false when that cannot be done.
func (c *cutter) cut(v []byte, n int) ([]byte, bool) {
	start := rawjson.Space(v, 0)
	end := rawjson.Skip(v, start)
	c.first = end
	if c.marker == nil && end-start <= n {
		return v[start:end], true
	}
	return c.value(v[start:end], start, n, 0)
}

// value gives v, which lies at a position of the whole text, in at most n bytes.
func (c *cutter) value(v []byte, at, n, depth int) ([]byte, bool) {
	if len(v) <= n && depth > 0 {
		return v, true
	}
	switch v[0] {
	case '"':
		return c.text(v, at, n)
	case '[':
		if depth < maxDepth {
			return c.array(v, at, n, depth)
		}
	case '{':
		if depth < maxDepth {
			return c.object(v, at, n, depth)
		}
	}
	return nil, false
}

// missing notes that something is missing at a position of the text.
func (c *cutter) missing(at int) { c.first = min(c.first, at) }

// mark is the value of the marker in what lies at a depth.
func (c *cutter) mark(missing string, depth int) []byte {
	if depth > 0 {
		return encode(missing)
	}
	return encode(c.marker(missing, c.first))
}

// room is how long the marker can become, its name and what separates it included.
func (c *cutter) room(missing string, depth int) int {
	if c.marker == nil {
		return 0
	}
	const around = len(`,{"` + markerName + `":}`)
	if depth > 0 {
		return around + len(encode(missing))
	}
	return around + len(encode(c.marker(missing, 1<<30)))
}

// text shortens a string. What is escaped stays as it is.
func (c *cutter) text(v []byte, at, n int) ([]byte, bool) {
	ending := "…"
	if c.marker != nil {
		ending = fmt.Sprintf("… [%d bytes left out]", len(v))
	}
	end := 1
	for end < len(v)-1 {
		size := character(v[end:])
		if end+size+len(ending)+1 > n {
			break
		}
		end += size
	}
	if end == 1 {
		return nil, false
	}
	c.missing(at + end)
	if c.marker != nil {
		ending = fmt.Sprintf("… [%d bytes left out]", len(v)-1-end)
	}
	return append(append(append([]byte{}, v[:end]...), ending...), '"'), true
}

// character is the length of the character that a string goes on with, as it is
// written. Two escapes that are one character are not torn apart.
func character(b []byte) int {
	if b[0] != '\\' {
		_, n := utf8.DecodeRune(b)
		return n
	}
	if len(b) < 6 || b[1] != 'u' {
		return min(2, len(b))
	}
	high := (b[2] == 'd' || b[2] == 'D') && b[3] >= '8' && (b[3] <= '9' || b[3]|0x20 >= 'a' && b[3]|0x20 <= 'b')
	if high && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		return 12
	}
	return 6
}

// span is where an element lies.
type span struct{ start, end int }

func (s span) len() int { return s.end - s.start }

// spans are the first elements of an array, those of the end if asked, no more of
// either than can find place, and how many there are.
func spans(v []byte, most int, tail bool) (first, last []span, count int, err error) {
	err = rawjson.Elements(v, func(start, end int) {
		if count++; count <= most {
			first = append(first, span{start, end})
		}
	})
	if err != nil || !tail {
		return first, nil, count, err
	}
	i, from := 0, count-most
	err = rawjson.Elements(v, func(start, end int) {
		if i++; i > from {
			last = append(last, span{start, end})
		}
	})
	return first, last, count, err
}

// array keeps elements from the beginning and, if asked, from the end.
func (c *cutter) array(v []byte, at, n, depth int) ([]byte, bool) {
	first, last, count, err := spans(v, n/2, c.tail)
	n -= 2 + c.room(fmt.Sprintf("%d of %d elements left out", count, count), depth)
	if err != nil || n < 0 {
		return nil, false
	}
	forHead := n
	if c.tail {
		forHead = n * 2 / 3
	}
	list, used := c.head(v, first, at, forHead, depth)
	head := len(list)
	last = last[max(0, min(head-(count-len(last)), len(last))):]
	last = last[len(last)-fromEnd(last, n-used):]
	left := count - head - len(last)
	if c.marker == nil && left == count && count > 0 {
		return nil, false // an array without anything says that there is nothing
	}
	if left > 0 {
		c.missing(at + endOf(first, head))
	}
	if c.marker != nil && (left > 0 || depth == 0) {
		missing := fmt.Sprintf("%d of %d elements left out", left, count)
		list = append(list, append(append([]byte(`{"`+markerName+`":`), c.mark(missing, depth)...), '}'))
	}
	for _, e := range last {
		list = append(list, v[e.start:e.end])
	}
	return join('[', list, ']'), true
}

// endOf is where the first element that is not among the head begins, or about
// there.
func endOf(first []span, head int) int {
	if head < len(first) {
		return first[head].start
	}
	if head == 0 {
		return 0
	}
	return first[head-1].end
}

// fromEnd is how many elements from the end find place in n bytes.
func fromEnd(last []span, n int) int {
	for i := range last {
		if n -= last[len(last)-1-i].len() + 1; n < 0 {
			return i
		}
	}
	return len(last)
}

// head keeps elements from the beginning in n bytes. The first that does not fit is
// shortened if there is room worth it.
func (c *cutter) head(v []byte, all []span, at, n, depth int) (list [][]byte, used int) {
	for _, e := range all {
		if used+e.len()+1 <= n {
			list = append(list, v[e.start:e.end])
			used += e.len() + 1
			continue
		}
		if left := n - used - 1; left >= leastValue && (left >= n/4 || len(list) == 0) {
			if cut, ok := c.value(v[e.start:e.end], at+e.start, left, depth+1); ok {
				list = append(list, cut)
				used += len(cut) + 1
			}
		}
		break
	}
	return list, used
}

// object keeps small members whole and gives the large ones a like share of what is
// left, so that one large member does not cost the others their place.
func (c *cutter) object(v []byte, at, n, depth int) ([]byte, bool) {
	all, count, err := members(v, n/4)
	n -= 2 + c.room(fmt.Sprintf("%d of %d members left out", count, count), depth)
	fitting, n := prefix(all, n)
	if err != nil || n < 0 || c.marker == nil && fitting < count {
		return nil, false
	}
	if fitting < count {
		c.missing(at + keyOf(all, fitting))
	}
	all = all[:fitting]
	level, spare := level(all, n), 0
	var list [][]byte
	for _, m := range all {
		value, ok := v[m.Start:m.End], true
		if len(value) > level {
			value, ok = c.value(value, at+m.Start, level+spare, depth+1)
			spare += level - len(value)
		}
		if ok {
			key := v[m.Key:rawjson.Skip(v, m.Key)]
			list = append(list, append(append(append([]byte{}, key...), ':'), value...))
			continue
		}
		if c.marker == nil {
			return nil, false
		}
		c.missing(at + m.Key)
	}
	if kept := len(list); c.marker != nil && (kept < count || depth == 0) {
		missing := fmt.Sprintf("%d of %d members left out", count-kept, count)
		list = append(list, append([]byte(`"`+markerName+`":`), c.mark(missing, depth)...))
	}
	return join('{', list, '}'), true
}

// members are the first members of an object, no more than can find place, and how
// many there are.
func members(v []byte, most int) (first []rawjson.Member, count int, err error) {
	err = rawjson.Members(v, func(m rawjson.Member) {
		if count++; count <= most {
			first = append(first, m)
		}
	})
	return first, count, err
}

// keyOf is where member i begins, or about there if it was not looked at.
func keyOf(first []rawjson.Member, i int) int {
	if i < len(first) {
		return first[i].Key
	}
	if i == 0 {
		return 0
	}
	return first[i-1].End
}

// prefix is how many members from the beginning find place in n bytes, each value
// with leastValue or, if it is shorter, its own length; and what of n is then for
// values.
func prefix(all []rawjson.Member, n int) (fitting, forValues int) {
	least, names := 0, 0
	for i, m := range all {
		// Name and colon as they are written, and a comma.
		name := m.Start - m.Key + 1
		least += name + min(m.End-m.Start, leastValue)
		if least > n {
			return i, n - names
		}
		names += name
	}
	return len(all), n - names
}

// level is how many bytes a value may have, so that those which are longer share
// alike what the others leave of n.
func level(all []rawjson.Member, n int) int {
	sizes := make([]int, len(all))
	for i, m := range all {
		sizes[i] = m.End - m.Start
	}
	slices.Sort(sizes)
	for i, size := range sizes {
		if large := len(sizes) - i; size > n/large {
			return n / large
		}
		n -= size
	}
	return math.MaxInt
}

func join(open byte, parts [][]byte, end byte) []byte {
	size := 2
	for _, p := range parts {
		size += len(p) + 1
	}
	out := append(make([]byte, 0, size), open)
	for i, p := range parts {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, p...)
	}
	return append(out, end)
}

func encode(v any) json.RawMessage {
	raw, err := core.EncodeJSON(v)
	if err != nil {
		panic(fmt.Sprintf("encode a marker: %v", err)) // strings and numbers only
	}
	return raw
}
