package config

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// At names a key of the file for people, with its line where it has one:
// "toolscout.toml:7: gateway.servers[1].timeout". A key that is not in the file
// has the line of the table or the list it would be in.
func (c Config) At(key string) string { return c.Place(key) + ": " + key }

// Place is where a key stands in the file: "toolscout.toml:7".
func (c Config) Place(key string) string {
	for part, more := key, true; more; part, more = above(part) {
		if line := c.lines[part]; line > 0 {
			return fmt.Sprintf("%s:%d", c.File, line)
		}
	}
	return cmp.Or(c.File, "configuration")
}

// above is the table or the list that a key is in.
func above(key string) (string, bool) {
	end := strings.LastIndexAny(key, ".[")
	return key[:max(end, 0)], end >= 0
}

// keyLines gives the line of each key, table and element of a TOML document. Elements
// are numbered from 0, as in gateway.servers[1].
func keyLines(raw []byte) map[string]int {
	r := reading{lines: map[string]int{}, count: map[string]int{}}
	r.Reset(raw)
	for r.NextExpression() {
		r.expression(r.Expression())
	}
	return r.lines
}

// reading is where a document has been read to.
type reading struct {
	unstable.Parser
	lines map[string]int
	// count is how many elements each array of tables has so far.
	count map[string]int
	table string
}

func (r *reading) expression(e *unstable.Node) {
	switch e.Kind {
	case unstable.ArrayTable:
		path, line := r.key(e)
		array := join(r.inside(path[:len(path)-1]), path[len(path)-1])
		r.table = fmt.Sprintf("%s[%d]", array, r.count[array])
		r.count[array]++
		r.note(r.table, line)
	case unstable.Table:
		path, line := r.key(e)
		r.table = r.inside(path)
		r.note(r.table, line)
	case unstable.KeyValue:
		r.keyValue(r.table, e)
	}
}

// key is the parts of a key, and its line.
func (r *reading) key(e *unstable.Node) (path []string, line int) {
	for it := e.Key(); it.Next(); {
		path = append(path, string(it.Node().Data))
		line = cmp.Or(line, r.Shape(it.Node().Raw).Start.Line)
	}
	return path, line
}

// inside is the table of a path, where an array of tables stands for its last one.
func (r *reading) inside(path []string) string {
	name := ""
	for _, part := range path {
		name = join(name, part)
		if n := r.count[name]; n > 0 {
			name = fmt.Sprintf("%s[%d]", name, n-1)
		}
	}
	return name
}

func (r *reading) keyValue(table string, e *unstable.Node) {
	path, line := r.key(e)
	name := join(table, strings.Join(path, "."))
	r.note(name, line)
	r.value(name, line, e.Value())
}

// value notes what is in a list or an inline table. Elements that do not say where
// they are have the line of the list.
func (r *reading) value(name string, line int, v *unstable.Node) {
	if v.Raw.Length > 0 {
		line = r.Shape(v.Raw).Start.Line
	}
	r.note(name, line)
	children := v.Children()
	switch v.Kind {
	case unstable.Array:
		for i := 0; children.Next(); i++ {
			r.value(fmt.Sprintf("%s[%d]", name, i), line, children.Node())
		}
	case unstable.InlineTable:
		for children.Next() {
			r.keyValue(name, children.Node())
		}
	}
}

// note says where a key is, and what it is in unless that is known.
func (r *reading) note(key string, line int) {
	for part, more := key, true; more && r.lines[part] == 0; part, more = above(part) {
		r.lines[part] = line
	}
}

func join(table, key string) string {
	if table == "" {
		return key
	}
	return table + "." + key
}
