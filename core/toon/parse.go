package toon

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// kind is a JSON type.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

// node is a value, or an object's key, in the order of the document: a container is
// followed by what it holds. Positions instead of pointers keep it small, and the
// garbage collector away.
type node struct {
	kind  kind
	marks marks
	// start and end are where the text lies: in the document, or, if it is marked
	// unescaped, in document.extra. An array has the number of its elements in
	// start, an object that of its members.
	start, end uint32
	// next is the node behind all that this one holds.
	next uint32
}

// document is a JSON text taken apart.
type document struct {
	json  string
	extra []byte // strings without their escapes
	nodes []node
	seen  map[string]bool // the keys of one object, kept for the next
}

// text gives a string's or a number's text.
func (d *document) text(n *node) string {
	if n.marks&unescaped == 0 {
		return d.json[n.start:n.end]
	}
	return string(d.extra[n.start:n.end])
}

var (
	errNotJSON = errors.New("not JSON")
	errUTF8    = errors.New("not UTF-8")
)

// parse takes JSON apart. It accepts what RFC 8259 does, but for duplicate keys and
// lone surrogates, which TOON has no way to say.
func parse(json string) (*document, error) {
	if len(json) > 1<<31 {
		return nil, ErrTooLong
	}
	if !utf8.ValidString(json) {
		return nil, errUTF8
	}
	d := &document{json: json, nodes: make([]node, 0, bound(json))}
	end, err := d.value(d.space(0), 0)
	if err != nil {
		return nil, err
	}
	if d.space(end) != len(json) {
		return nil, errNotJSON
	}
	return d, nil
}

// bound is how many nodes there may be at most: each but the first has one of these
// before it. Growing instead would copy a large document's nodes again and again.
func bound(json string) int {
	n := 1
	for _, before := range []string{",", ":", "[", "{"} {
		n += strings.Count(json, before)
	}
	return n
}

func (d *document) space(i int) int {
	for i < len(d.json) && (d.json[i] == ' ' || d.json[i] == '\n' || d.json[i] == '\t' || d.json[i] == '\r') {
		i++
	}
	return i
}

// at gives the byte at i, or 0 behind the end, where no token goes on.
func (d *document) at(i int) byte {
	if i < len(d.json) {
		return d.json[i]
	}
	return 0
}

// value reads one value at i, and gives where it ends.
func (d *document) value(i, depth int) (int, error) {
	switch c := d.at(i); c {
	case '{', '[':
		if depth == MaxDepth {
			return 0, ErrTooDeep
		}
		if c == '{' {
			return d.object(i, depth)
		}
		return d.array(i, depth)
	case '"':
		return d.string(i)
	case 't':
		return d.word(i, "true", boolean)
	case 'f':
		return d.word(i, "false", boolean)
	case 'n':
		return d.word(i, "null", null)
	default:
		return d.number(i)
	}
}

func (d *document) word(i int, word string, k kind) (int, error) {
	if !strings.HasPrefix(d.json[i:], word) {
		return 0, errNotJSON
	}
	return d.add(node{kind: k}, i, i+len(word)), nil
}

// add adds a value without parts, and gives its end.
func (d *document) add(n node, start, end int) int {
	n.start, n.end, n.next = uint32(start), uint32(end), uint32(len(d.nodes)+1)
	d.nodes = append(d.nodes, n)
	return end
}

func (d *document) number(i int) (int, error) {
	end := i
	for c := d.at(end); c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; c = d.at(end) {
		end++
	}
	if !isNumber(d.json[i:end]) {
		return 0, errNotJSON
	}
	return d.add(node{kind: number}, i, end), nil
}

func (d *document) array(i, depth int) (int, error) {
	return d.container(array, i, ']', func(i int) (int, error) { return d.value(i, depth+1) })
}

func (d *document) object(i, depth int) (int, error) {
	self := len(d.nodes)
	end, err := d.container(object, i, '}', func(i int) (int, error) {
		if d.at(i) != '"' {
			return 0, errNotJSON
		}
		i, err := d.string(i)
		if err != nil {
			return 0, err
		}
		if i = d.space(i); d.at(i) != ':' {
			return 0, errNotJSON
		}
		return d.value(d.space(i+1), depth+1)
	})
	if err != nil {
		return 0, err
	}
	if d.rowLike(self) {
		d.nodes[self].marks = tabular
	}
	return end, d.distinct(self)
}

// container reads elements until closing.
func (d *document) container(k kind, i int, closing byte, element func(int) (int, error)) (int, error) {
	self, count := len(d.nodes), uint32(0)
	d.nodes = append(d.nodes, node{kind: k})
	i = d.space(i + 1)
	if d.at(i) != closing {
		for {
			end, err := element(i)
			if err != nil {
				return 0, err
			}
			count++
			i = d.space(end)
			if d.at(i) == closing {
				break
			}
			if d.at(i) != ',' {
				return 0, errNotJSON
			}
			i = d.space(i + 1)
		}
	}
	d.nodes[self].start, d.nodes[self].next = count, uint32(len(d.nodes))
	return i + 1, nil
}

// rowLike reports whether an object can be a row.
func (d *document) rowLike(self int) bool {
	n := &d.nodes[self]
	for i := uint32(self) + 1; i < n.next; i = d.nodes[i+1].next {
		if v := &d.nodes[i+1]; v.kind == array || v.kind == object && v.marks&tabular == 0 {
			return false
		}
	}
	return n.start > 0
}

// distinct gives an error if two keys of an object are equal.
func (d *document) distinct(self int) error {
	n := &d.nodes[self]
	const few = 12 // below, looking at all pairs is faster than a map
	if n.start > few {
		if d.seen == nil || len(d.seen) > 1<<10 { // clearing a large map for each small object adds up
			d.seen = make(map[string]bool, n.start)
		}
		clear(d.seen)
		for i := uint32(self) + 1; i < n.next; i = d.nodes[i+1].next {
			key := d.text(&d.nodes[i])
			if d.seen[key] {
				return fmt.Errorf("the key %q occurs twice", key)
			}
			d.seen[key] = true
		}
		return nil
	}
	var keys [few]string
	count := 0
	for i := uint32(self) + 1; i < n.next; i = d.nodes[i+1].next {
		key := d.text(&d.nodes[i])
		if slices.Contains(keys[:count], key) {
			return fmt.Errorf("the key %q occurs twice", key)
		}
		keys[count] = key
		count++
	}
	return nil
}
