package script

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

const (
	mostPatterns   = 100
	longestPattern = 1000
	// largestPattern bounds the compiled form: "a{1000}" counts as a thousand.
	largestPattern = 5000
)

// patterns are the compiled regular expressions of one script.
type patterns struct {
	mu       sync.Mutex
	compiled map[string]*pattern
}

// pattern is a regular expression in Go's syntax (RE2): its time is linear in the
// text, times its own size.
type pattern struct {
	*regexp.Regexp
	size int64
}

// compile gives the expression of a source. When there are too many it forgets all.
func (p *patterns) compile(source string) (*pattern, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found := p.compiled[source]; found != nil {
		return found, nil
	}
	made, err := newPattern(source)
	if err != nil {
		return nil, err
	}
	if p.compiled == nil || len(p.compiled) >= mostPatterns {
		p.compiled = map[string]*pattern{}
	}
	p.compiled[source] = made
	return made, nil
}

func newPattern(source string) (*pattern, error) {
	if len(source) > longestPattern {
		return nil, fmt.Errorf("a pattern has at most %d bytes", longestPattern)
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("the pattern %.60q: %s", source, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	size := sizeOf(tree)
	if size > largestPattern {
		return nil, fmt.Errorf("the pattern %.60q is too large once its repetitions are written out", source)
	}
	compiled, err := regexp.Compile(source)
	if err != nil {
		return nil, err
	}
	return &pattern{compiled, size}, nil
}

// sizeOf is about how many instructions an expression compiles to.
func sizeOf(e *syntax.Regexp) int64 {
	size := int64(1)
	if e.Op == syntax.OpLiteral {
		size = int64(len(e.Rune))
	}
	for _, sub := range e.Sub {
		size += sizeOf(sub)
	}
	if e.Op == syntax.OpRepeat {
		size *= int64(max(e.Max, e.Min, 1))
	}
	return min(size, 1<<40)
}

// search charges for one pass of p over s.
func (r *run) search(p *pattern, s string) error {
	const instructionsAtOnce = 32
	return r.work(int64(len(s)) * (1 + p.size/instructionsAtOnce) * bytesAStep / 8)
}

func reModule() *starlarkstruct.Module {
	return module("re", map[string]builtin{"match": reMatch, "search": reSearch, "findall": reFindAll,
		"sub": reSub, "split": reSplit, "escape": reEscape})
}

// prepare compiles the pattern and charges for the search.
func prepare(t *starlark.Thread, source, text string) (*run, *pattern, error) {
	r := current(t)
	p, err := r.hook.patterns.compile(source)
	if err != nil {
		return nil, nil, err
	}
	return r, p, r.search(p, text)
}

func reSearch(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var source, text string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "pattern", &source, "text", &text); err != nil {
		return nil, err
	}
	return searchFor(t, source, text)
}

// reMatch is search at the beginning of the text.
func reMatch(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var source, text string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "pattern", &source, "text", &text); err != nil {
		return nil, err
	}
	return searchFor(t, `\A(?:`+source+`)`, text)
}

func searchFor(t *starlark.Thread, source, text string) (starlark.Value, error) {
	_, p, err := prepare(t, source, text)
	if err != nil {
		return nil, err
	}
	at := p.FindStringSubmatchIndex(text)
	if at == nil {
		return starlark.None, nil
	}
	return &matchValue{pattern: p, text: text, at: at}, nil
}

// reFindAll gives what matched: the first group where there is one, all groups as a
// tuple where there are several.
func reFindAll(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var source, text string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "pattern", &source, "text", &text); err != nil {
		return nil, err
	}
	r, p, err := prepare(t, source, text)
	if err != nil {
		return nil, err
	}
	var found []starlark.Value
	err = r.eachMatch(p, text, -1, func(m *matchValue) error {
		switch groups := m.groups(); len(groups) {
		case 0:
			found = append(found, m.group(0))
		case 1:
			found = append(found, groups[0])
		default:
			found = append(found, groups)
		}
		return nil
	})
	return starlark.NewList(found), err
}

// eachMatch calls f for at most n matches, for all if n is negative. It looks for no
// more than there is memory for.
func (r *run) eachMatch(p *pattern, text string, n int, f func(*matchValue) error) error {
	each := int64(costList + 4*costElem*(p.NumSubexp()+1))
	most := int((r.Memory-r.memory)/each) + 1
	if n < 0 || n > most {
		n = most
	}
	found := p.FindAllStringSubmatchIndex(text, n)
	if err := r.allocate(int64(len(found)) * each); err != nil {
		return err
	}
	for _, at := range found {
		if err := f(&matchValue{pattern: p, text: text, at: at}); err != nil {
			return err
		}
	}
	return nil
}

// reSub replaces matches. repl is a text, in which \1 and \g<name> stand for groups,
// or a function of the match.
func reSub(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var source, text string
	var repl starlark.Value
	count := 0
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "pattern", &source, "repl", &repl, "text", &text, "count?", &count); err != nil {
		return nil, err
	}
	r, p, err := prepare(t, source, text)
	if err != nil {
		return nil, err
	}
	with, err := r.replacement(t, p, repl)
	if err != nil {
		return nil, err
	}
	if count <= 0 {
		count = -1
	}
	var out strings.Builder
	done := 0
	err = r.eachMatch(p, text, count, func(m *matchValue) error {
		s, err := with(m)
		if err != nil {
			return err
		}
		if err := r.allocate(int64(m.at[0] - done + len(s))); err != nil {
			return err
		}
		out.WriteString(text[done:m.at[0]])
		out.WriteString(s)
		done = m.at[1]
		return nil
	})
	if err != nil {
		return nil, err
	}
	if done == 0 && out.Len() == 0 {
		return starlark.String(text), nil
	}
	out.WriteString(text[done:])
	return starlark.String(out.String()), r.allocate(int64(len(text) - done))
}

func (r *run) replacement(t *starlark.Thread, p *pattern, repl starlark.Value) (func(*matchValue) (string, error), error) {
	switch repl := repl.(type) {
	case starlark.String:
		parts, err := template(p, string(repl))
		return func(m *matchValue) (string, error) { return m.expand(r, parts) }, err
	case starlark.Callable:
		return func(m *matchValue) (string, error) {
			v, err := starlark.Call(t, repl, starlark.Tuple{m}, nil)
			if err != nil {
				return "", err
			}
			s, ok := starlark.AsString(v)
			if !ok {
				return "", fmt.Errorf("re.sub: the function returned a %s, not a text", v.Type())
			}
			return s, nil
		}, nil
	default:
		return nil, fmt.Errorf("re.sub: repl is a %s, want a text or a function", repl.Type())
	}
}

// part is a piece of a replacement: a text, or a group.
type part struct {
	text  string
	group int // -1 for a text
}

// template takes a replacement apart: \1 to \99, \g<name>, \g<1>, \\ and \n, \t.
func template(p *pattern, s string) ([]part, error) {
	var parts []part
	for s != "" {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i == len(s)-1 {
			return append(parts, part{s, -1}), nil
		}
		if i > 0 {
			parts = append(parts, part{s[:i], -1})
		}
		next, rest, err := escape(p, s[i+1:])
		if err != nil {
			return nil, err
		}
		parts, s = append(parts, next), rest
	}
	return parts, nil
}

// escape reads what follows a backslash.
func escape(p *pattern, s string) (part, string, error) {
	switch c := s[0]; {
	case c == '\\':
		return part{`\`, -1}, s[1:], nil
	case c == 'n':
		return part{"\n", -1}, s[1:], nil
	case c == 't':
		return part{"\t", -1}, s[1:], nil
	case c >= '0' && c <= '9':
		n := 1
		if len(s) > 1 && s[1] >= '0' && s[1] <= '9' {
			n = 2
		}
		g, err := groupNumber(p, s[:n])
		return part{group: g}, s[n:], err
	case c == 'g':
		if name, rest, ok := strings.Cut(strings.TrimPrefix(s[1:], "<"), ">"); ok && strings.HasPrefix(s, "g<") {
			g, err := groupNumber(p, name)
			return part{group: g}, rest, err
		}
	}
	return part{}, "", fmt.Errorf(`re.sub: \%c means nothing in a replacement; a backslash is \\`, s[0])
}

func groupNumber(p *pattern, name string) (int, error) {
	g, err := strconv.Atoi(name)
	if err != nil {
		g = p.SubexpIndex(name)
	}
	if g < 0 || g > p.NumSubexp() {
		return 0, fmt.Errorf("the pattern has no group %.40q", name)
	}
	return g, nil
}

func reSplit(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var source, text string
	most := 0
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "pattern", &source, "text", &text, "maxsplit?", &most); err != nil {
		return nil, err
	}
	r, p, err := prepare(t, source, text)
	if err != nil {
		return nil, err
	}
	if most <= 0 {
		most = -1
	}
	var parts []starlark.Value
	done := 0
	err = r.eachMatch(p, text, most, func(m *matchValue) error {
		parts = append(parts, starlark.String(text[done:m.at[0]]))
		done = m.at[1]
		return nil
	})
	return starlark.NewList(append(parts, starlark.String(text[done:]))), err
}

func reEscape(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var text string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "text", &text); err != nil {
		return nil, err
	}
	if err := current(t).allocate(2 * shallow(starlark.String(text))); err != nil {
		return nil, err
	}
	return starlark.String(regexp.QuoteMeta(text)), nil
}

// matchValue is what a search found.
type matchValue struct {
	object
	pattern *pattern
	text    string
	at      []int
}

func (*matchValue) String() string { return "match" }
func (*matchValue) Type() string   { return "match" }

// AttrNames lists the attributes.
func (*matchValue) AttrNames() []string { return []string{"end", "group", "groups", "start"} }

// Attr gives an attribute.
func (m *matchValue) Attr(name string) (starlark.Value, error) {
	switch name {
	case "start":
		return starlark.MakeInt(m.at[0]), nil
	case "end":
		return starlark.MakeInt(m.at[1]), nil
	case "groups":
		return m.groups(), nil
	case "group":
		return starlark.NewBuiltin(name, m.groupOf), nil
	default:
		return nil, nil
	}
}

func (m *matchValue) groupOf(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var which starlark.Value = starlark.MakeInt(0)
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 0, &which); err != nil {
		return nil, err
	}
	name, ok := starlark.AsString(which)
	if i, isInt := which.(starlark.Int); isInt {
		name, ok = i.String(), true
	}
	if !ok {
		return nil, errors.New("group: want a number or a name")
	}
	g, err := groupNumber(m.pattern, name)
	if err != nil {
		return nil, err
	}
	return m.group(g), nil
}

// group is None for a group that took no part.
func (m *matchValue) group(i int) starlark.Value {
	if m.at[2*i] < 0 {
		return starlark.None
	}
	return starlark.String(m.text[m.at[2*i]:m.at[2*i+1]])
}

func (m *matchValue) groups() starlark.Tuple {
	t := make(starlark.Tuple, len(m.at)/2-1)
	for i := range t {
		t[i] = m.group(i + 1)
	}
	return t
}

func (m *matchValue) expand(r *run, parts []part) (string, error) {
	var b strings.Builder
	for _, p := range parts {
		s := p.text
		if p.group >= 0 {
			s, _ = starlark.AsString(m.group(p.group))
		}
		if err := r.allocate(int64(len(s))); err != nil {
			return "", err
		}
		b.WriteString(s)
	}
	return b.String(), nil
}
