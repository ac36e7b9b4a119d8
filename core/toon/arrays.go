package toon

import "strings"

// header reads a line as a header.
func (d *decoder) header(s string) (header, bool, error) {
	h, ok, err := parseHeader(s)
	if ok && h.fields != nil && h.fields.repeated && !d.options.Lenient {
		return h, false, faultf("a field list with the same name twice")
	}
	return h, ok, err
}

// array reads what a header that stands at depth begins.
func (d *decoder) array(h header, depth int) {
	switch {
	case h.keyed:
		d.entries(h, depth)
	case h.fields != nil:
		d.rows(h, depth)
	case h.inline != "":
		d.values(h)
	default:
		d.list(h, depth)
	}
}

func (d *decoder) count(h header, n int) {
	if n != h.count && !d.options.Lenient {
		d.fail(faultf("%d elements where %d were announced", n, h.count))
	}
}

// values reads an array on one line (§9.1).
func (d *decoder) values(h header) {
	d.push('[')
	d.split(h.inline, h.delim)
	for i, cell := range d.cells {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		d.primitive(cell)
	}
	d.count(h, len(d.cells))
	d.pop(']')
}

// split takes a row apart; of nothing it makes no cells (§11.2).
func (d *decoder) split(s string, delim byte) {
	d.cells = d.cells[:0]
	for s != "" {
		i := unquotedIndex(s, delim)
		if i < 0 {
			d.cells = append(d.cells, strings.Trim(s, " "))
			return
		}
		d.cells = append(d.cells, strings.Trim(s[:i], " "))
		if s = s[i+1:]; s == "" {
			d.cells = append(d.cells, "")
		}
	}
}

// list reads an array's items, each from a line of its own (§9.2, §9.4).
func (d *decoder) list(h header, depth int) {
	d.push('[')
	depth = d.opened(depth + 1)
	n := 0
	for ; ; n++ {
		s, ok := d.next(depth)
		if !ok || s != "-" && !strings.HasPrefix(s, "- ") {
			break
		}
		d.take()
		if n == 0 {
			d.spans++
		} else {
			d.out = append(d.out, ',')
		}
		d.item(strings.TrimLeft(s[1:], " "), depth)
	}
	d.spans -= min(n, 1)
	d.count(h, n)
	d.pop(']')
}

// item reads what stands behind a hyphen (§10).
func (d *decoder) item(s string, depth int) {
	h, ok, err := d.header(s)
	if ok && h.keyless && h.fields != nil {
		ok, err = false, faultf("a table without a key, where an item should be")
	}
	switch {
	case err != nil && !d.options.Lenient:
		d.fail(err)
	case s == "":
		d.out = append(d.out, "{}"...)
	case s == "[]":
		d.out = append(d.out, s...)
	case ok && h.keyless:
		d.array(h, depth)
	case unquotedIndex(s, ':') >= 0:
		d.object(depth+1, s)
	default:
		d.primitive(s)
	}
}

// rows reads a table (§9.3).
func (d *decoder) rows(h header, depth int) {
	d.push('[')
	depth = d.opened(depth + 1)
	n := 0
	for ; ; n++ {
		s, ok := d.next(depth)
		if !ok || !isRow(s, h.delim) {
			break
		}
		d.take()
		if n == 0 {
			d.spans++
		} else {
			d.out = append(d.out, ',')
		}
		d.row(h, s)
	}
	d.spans -= min(n, 1)
	d.count(h, n)
	d.pop(']')
}

// isRow tells a row from a field that follows the table.
func isRow(s string, delim byte) bool {
	colon := unquotedIndex(s, ':')
	if colon < 0 {
		return true
	}
	i := unquotedIndex(s, delim)
	return i >= 0 && i < colon
}

// entries reads a table with keys before its rows, which is an object (§9.5).
func (d *decoder) entries(h header, depth int) {
	d.push('{')
	o := d.open()
	depth = d.opened(depth + 1)
	n := 0
	for {
		s, ok := d.next(depth)
		if !ok {
			break
		}
		d.take()
		if d.options.Lenient && unquotedIndex(s, ':') < 0 {
			continue
		}
		key, cells, ok := d.pair(s)
		if !ok {
			break
		}
		if n == 0 {
			d.spans++
		}
		n++
		d.begin(&o, key)
		d.row(h, cells)
		d.end(&o)
	}
	d.spans -= min(n, 1)
	d.count(h, n)
	d.close(&o)
	d.pop('}')
}

// row reads one row of a table.
func (d *decoder) row(h header, s string) {
	d.split(s, h.delim)
	if len(d.cells) != h.fields.leaves && !d.options.Lenient {
		d.fail(faultf("%d values where %d fields were announced", len(d.cells), h.fields.leaves))
		return
	}
	d.fill(h.fields, d.cells)
}

// fill makes an object of the next cells and gives the rest. A field that finds no
// cell is left out (§14.1).
func (d *decoder) fill(f *fields, cells []string) []string {
	d.push('{')
	o := d.open()
	for i := range f.list {
		one := &f.list[i]
		if one.nested == nil && len(cells) == 0 {
			continue
		}
		if f.repeated {
			d.begin(&o, one.name)
		} else {
			if len(d.out) > o.body {
				d.out = append(d.out, ',')
			}
			d.out = append(d.out, one.key...)
		}
		if one.nested != nil {
			cells = d.fill(one.nested, cells)
		} else {
			d.primitive(cells[0])
			cells = cells[1:]
		}
		if f.repeated {
			d.end(&o)
		}
	}
	d.close(&o)
	d.pop('}')
	return cells
}
