package toon

import "strconv"

// Encode writes a JSON text as TOON. The error says that the text is not JSON, not
// UTF-8, or holds what TOON cannot say: an object with a key twice, half a surrogate
// pair.
func Encode(json string, o Options) (string, error) {
	o, err := o.filled()
	if err != nil {
		return "", err
	}
	d, err := parse(json)
	if err != nil {
		return "", err
	}
	w := writer{document: d, options: o, delimiter: commas, out: make([]byte, 0, len(json))}
	switch o.Delimiter {
	case '|':
		w.delimiter = pipes
	case '\t':
		w.delimiter = 0 // a tab is a control character, and quoted anyway
	}
	w.root()
	if w.err != nil {
		return "", w.err
	}
	return string(w.out), nil
}

// writer writes a document. After its first error it adds nothing.
type writer struct {
	*document
	options   Options
	delimiter marks // a string with this mark needs quotes for its delimiters
	out       []byte
	err       error
}

// root writes the whole document (§5).
func (w *writer) root() {
	n := &w.nodes[0]
	switch n.kind {
	case array:
		if n.start == 0 {
			w.out = append(w.out, "[]"...)
			return
		}
		w.array(0, 0, true)
	case object:
		if s := w.keyed(0); s != nil {
			w.entries(0, s, 0)
			return
		}
		w.fields(0, 0, true)
	default:
		w.primitive(0)
	}
}

// fields writes an object's members, each on lines of its own at depth; the first
// on the line that has been begun, if open.
func (w *writer) fields(self uint32, depth int, open bool) {
	for i := self + 1; i < w.nodes[self].next && w.err == nil; i = w.nodes[i+1].next {
		if !open {
			w.line(depth)
		}
		open = false
		w.field(i, depth)
	}
}

// field writes the member whose key is at i (§8).
func (w *writer) field(i uint32, depth int) {
	w.key(i)
	value := i + 1
	switch n := &w.nodes[value]; {
	case n.kind == array && n.start == 0:
		w.out = append(w.out, ": []"...)
	case n.kind == array:
		w.array(value, depth, true)
	case n.kind == object:
		if s := w.keyed(value); s != nil {
			w.entries(value, s, depth)
			return
		}
		w.out = append(w.out, ':')
		w.fields(value, depth+1, false)
	default:
		w.out = append(w.out, ": "...)
		w.primitive(value)
	}
}

// array writes an array's header behind its key, if it has one, and what it holds
// (§9.1 to §9.4). Only the root and the value of a key may be a table.
func (w *writer) array(self uint32, depth int, table bool) {
	n := &w.nodes[self]
	if w.flat(self) {
		w.header(n.start, false)
		w.out = append(w.out, ':')
		for i := self + 1; i < n.next && w.err == nil; i++ {
			if i == self+1 {
				w.out = append(w.out, ' ')
			} else {
				w.out = append(w.out, w.options.Delimiter)
			}
			w.primitive(i)
		}
		return
	}
	if table {
		if s := w.table(self); s != nil {
			w.rows(self, s, depth)
			return
		}
	}
	w.header(n.start, false)
	w.out = append(w.out, ':')
	for i := self + 1; i < n.next && w.err == nil; i = w.nodes[i].next {
		w.line(depth + 1)
		w.item(i, depth+1)
	}
}

// flat reports whether an array holds no other array and no object.
func (w *writer) flat(self uint32) bool {
	n := &w.nodes[self]
	if n.next != self+1+n.start {
		return false
	}
	for i := self + 1; i < n.next; i++ {
		if w.nodes[i].kind >= array {
			return false
		}
	}
	return true
}

// item writes an element of a list (§9.4, §10).
func (w *writer) item(i uint32, depth int) {
	w.out = append(w.out, '-')
	n := &w.nodes[i]
	if n.kind == object && n.start == 0 {
		return
	}
	w.out = append(w.out, ' ')
	switch n.kind {
	case array:
		w.array(i, depth, false)
	case object:
		w.fields(i, depth+1, true)
	default:
		w.primitive(i)
	}
}

// header writes a bracket segment (§6).
func (w *writer) header(count uint32, keyed bool) {
	w.out = append(w.out, '[')
	w.out = strconv.AppendUint(w.out, uint64(count), 10)
	if keyed {
		w.out = append(w.out, ':')
	}
	if w.options.Delimiter != ',' {
		w.out = append(w.out, w.options.Delimiter)
	}
	w.out = append(w.out, ']')
}

// line begins a line, and stops the writer when there is no room for more.
func (w *writer) line(depth int) {
	if len(w.out) > w.options.Limit {
		w.err = ErrTooLong
		return
	}
	w.out = append(w.out, '\n')
	for range depth * w.options.Indent {
		w.out = append(w.out, ' ')
	}
}

func (w *writer) key(i uint32) {
	n := &w.nodes[i]
	if n.marks&odd != 0 {
		w.out = appendQuoted(w.out, w.text(n))
		return
	}
	w.out = append(w.out, w.text(n)...)
}

func (w *writer) primitive(i uint32) {
	n := &w.nodes[i]
	s := w.text(n)
	switch {
	case n.kind == text && n.marks&(quoted|w.delimiter) != 0:
		w.out = appendQuoted(w.out, s)
	case n.kind == number:
		if w.options.Exact && isNegativeZero(s) {
			w.err = ErrInexact
		}
		w.out = appendNumber(w.out, s)
	default:
		w.out = append(w.out, s...)
	}
}
