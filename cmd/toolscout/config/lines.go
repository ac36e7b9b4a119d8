package config

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// At names a key of the file for people, with its line where it has one:
// "toolscout.toml:7: gateway.servers[1].timeout". A key that is not in the file
// has the line of the table it would be in.
func (c Config) At(key string) string { return c.Place(key) + ": " + key }

// Place is where a key stands in the file: "toolscout.toml:7".
func (c Config) Place(key string) string {
	for part := key; ; {
		if line := c.lines[part]; line > 0 {
			return fmt.Sprintf("%s:%d", c.File, line)
		}
		end := strings.LastIndexByte(part, '.')
		if end < 0 {
			return cmp.Or(c.File, "configuration")
		}
		part = part[:end]
	}
}

// keyLines gives the line of each key and table of a TOML document. The tables of
// an array are numbered from 0, as in gateway.servers[1].
func keyLines(raw []byte) map[string]int {
	lines, count := map[string]int{}, map[string]int{}
	var p unstable.Parser
	p.Reset(raw)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		var path []string
		line := 0
		for it := e.Key(); it.Next(); {
			path = append(path, string(it.Node().Data))
			line = cmp.Or(line, p.Shape(it.Node().Raw).Start.Line)
		}
		name := strings.Join(path, ".")
		switch e.Kind {
		case unstable.ArrayTable:
			table = fmt.Sprintf("%s[%d]", name, count[name])
			count[name]++
			name = table
		case unstable.Table:
			table = within(name, count)
			name = table
		case unstable.KeyValue:
			if table != "" {
				name = table + "." + name
			}
		default:
			continue
		}
		if lines[name] == 0 {
			lines[name] = line
		}
	}
	return lines
}

// within puts a table that is written below an array, as in
// [gateway.servers.env], into the last table of that array.
func within(name string, count map[string]int) string {
	for array, n := range count {
		if rest, ok := strings.CutPrefix(name, array+"."); ok {
			return fmt.Sprintf("%s[%d].%s", array, n-1, rest)
		}
	}
	return name
}
