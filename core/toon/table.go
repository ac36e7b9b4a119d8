package toon

// shape is what the rows of a table have in common: the fields of the first one,
// those with fields of their own included (§9.3).
type shape struct {
	columns []column
	// mixed: some row has these fields in another order.
	mixed bool
	// index finds columns by name where there are many.
	index map[string]*column
}

type column struct {
	at     int // which one it is
	key    uint32
	name   string
	nested *shape   // nil for a column of primitives
	values []uint32 // of a column of objects, while it is not known what they have in common
}

// many is from how many columns on names are looked up in an index.
const many = 12

// table gives the shape of an array's elements, or nil if they make no table.
func (w *writer) table(self uint32) *shape {
	n := &w.nodes[self]
	if w.nodes[self+1].kind != object {
		return nil
	}
	rows := make([]uint32, 0, n.start)
	for i := self + 1; i < n.next; i = w.nodes[i].next {
		rows = append(rows, i)
	}
	return w.shape(rows)
}

// keyed gives the shape of an object's values, or nil if they make no table (§9.5).
func (w *writer) keyed(self uint32) *shape {
	n := &w.nodes[self]
	if n.start < 2 || w.nodes[self+2].kind != object {
		return nil
	}
	rows := make([]uint32, 0, n.start)
	for i := self + 1; i < n.next; i = w.nodes[i+1].next {
		rows = append(rows, i+1)
	}
	return w.shape(rows)
}

// shape gives what all these values have in common, or nil if they are no rows of
// one table. It compares all rows before it looks deeper, so that a mismatch costs
// no more than the rows have in common: the parts of what is no table are tried
// again, one by one, and in a deep document that must not add up.
func (w *writer) shape(rows []uint32) *shape {
	first := &w.nodes[rows[0]]
	for _, row := range rows {
		if n := &w.nodes[row]; n.marks&tabular == 0 || n.start != first.start {
			return nil
		}
	}
	s := &shape{columns: make([]column, 0, first.start)}
	for i := rows[0] + 1; i < first.next; i = w.nodes[i+1].next {
		c := column{at: len(s.columns), key: i, name: w.text(&w.nodes[i])}
		if w.nodes[i+1].kind == object {
			c.values = make([]uint32, 0, len(rows))
			c.values = append(c.values, i+1)
		}
		s.columns = append(s.columns, c)
	}
	for _, row := range rows[1:] {
		if !w.fits(row, s) {
			return nil
		}
	}
	for i := range s.columns {
		c := &s.columns[i]
		if c.values == nil {
			continue
		}
		if c.nested = w.shape(c.values); c.nested == nil {
			return nil
		}
		c.values = nil
	}
	return s
}

// fits reports whether a row has the fields of this shape, and collects those of
// its values that are objects.
func (w *writer) fits(row uint32, s *shape) bool {
	at, end := 0, w.nodes[row].next
	for i := row + 1; i < end; i = w.nodes[i+1].next {
		c := &s.columns[at]
		if name := w.text(&w.nodes[i]); c.name != name {
			if c = s.find(name); c == nil {
				return false
			}
			s.mixed = true
		}
		at++
		if (w.nodes[i+1].kind == object) != (c.values != nil) {
			return false
		}
		if c.values != nil {
			c.values = append(c.values, i+1)
		}
	}
	return true
}

// find gives the column of a name, or nil.
func (s *shape) find(name string) *column {
	if len(s.columns) < many {
		for i := range s.columns {
			if s.columns[i].name == name {
				return &s.columns[i]
			}
		}
		return nil
	}
	if s.index == nil {
		s.index = make(map[string]*column, len(s.columns))
		for i := range s.columns {
			s.index[s.columns[i].name] = &s.columns[i]
		}
	}
	return s.index[name]
}

// rows writes an array as a table.
func (w *writer) rows(self uint32, s *shape, depth int) {
	n := &w.nodes[self]
	w.header(n.start, false)
	w.fieldList(s)
	w.out = append(w.out, ':')
	for i := self + 1; i < n.next && w.err == nil; i = w.nodes[i].next {
		w.line(depth + 1)
		w.cells(i, s)
	}
}

// entries writes an object as a table with the keys before the rows.
func (w *writer) entries(self uint32, s *shape, depth int) {
	n := &w.nodes[self]
	w.header(n.start, true)
	w.fieldList(s)
	w.out = append(w.out, ':')
	for i := self + 1; i < n.next && w.err == nil; i = w.nodes[i+1].next {
		w.line(depth + 1)
		w.key(i)
		w.out = append(w.out, ": "...)
		w.cells(i+1, s)
	}
}

// fieldList writes the names of a shape's columns.
func (w *writer) fieldList(s *shape) {
	w.out = append(w.out, '{')
	for i, c := range s.columns {
		if i > 0 {
			w.out = append(w.out, w.options.Delimiter)
		}
		w.key(c.key)
		if c.nested != nil {
			w.fieldList(c.nested)
		}
	}
	w.out = append(w.out, '}')
}

// cells writes a row.
func (w *writer) cells(self uint32, s *shape) {
	n := &w.nodes[self]
	if s.mixed {
		w.sorted(self, s)
		return
	}
	c := 0
	for i := self + 1; i < n.next; i = w.nodes[i+1].next {
		w.cell(i+1, s, c)
		c++
	}
}

// sorted writes a row whose fields may have another order than the columns.
func (w *writer) sorted(self uint32, s *shape) {
	n := &w.nodes[self]
	values := make([]uint32, len(s.columns))
	for i := self + 1; i < n.next; i = w.nodes[i+1].next {
		values[s.find(w.text(&w.nodes[i])).at] = i + 1
	}
	for c, i := range values {
		w.cell(i, s, c)
	}
}

// cell writes the value at i as the one of column c.
func (w *writer) cell(i uint32, s *shape, c int) {
	if c > 0 {
		w.out = append(w.out, w.options.Delimiter)
	}
	if nested := s.columns[c].nested; nested != nil {
		w.cells(i, nested)
		return
	}
	w.primitive(i)
}
