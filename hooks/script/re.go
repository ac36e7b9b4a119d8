package script

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	textpattern "github.com/toolscout/toolscout/core/pattern"
)

const (
	mostPatterns   = 50
	longestPattern = 1000
	// largestPattern bounds the compiled form: "a{1000}" counts as a thousand.
	largestPattern = 2000
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

// compile gives the expression of a source, which the run that brings it pays for.
// When there are too many it forgets all.
func (p *patterns) compile(r *run, source string) (*pattern, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found := p.compiled[source]; found != nil {
		return found, nil
	}
	made, err := newPattern(source)
	if err != nil {
		return nil, err
	}
	const instruction = 100 // bytes
	if err := r.allocate(made.size * instruction); err != nil {
		return nil, err
	}
	if p.compiled == nil || len(p.compiled) >= mostPatterns {
		p.compiled = map[string]*pattern{}
	}
	p.compiled[source] = made
	return made, nil
}

// found is what a match takes, its groups included.
func (p *pattern) found() int64 { return costList + 4*costElem*int64(p.NumSubexp()+1) }

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
	p, err := r.hook.patterns.compile(r, source)
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
	r, p, err := prepare(t, source, text)
	if err != nil {
		return nil, err
	}
	if err := r.allocate(p.found()); err != nil {
		return nil, err
	}
	at := p.FindStringSubmatchIndex(text)
	if at == nil {
		return starlark.None, nil
	}
	return &matchValue{run: r, pattern: p, text: text, at: at}, nil
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
	each := p.found()
	most := int((r.Memory-r.memory)/each) + 1
	if n < 0 || n > most {
		n = most
	}
	found, err := textpattern.FindAll(p.Regexp, text, n, r.inTime)
	if err != nil {
		return err
	}
	if err := r.allocate(int64(len(found)) * each); err != nil {
		return err
	}
	for _, at := range found {
		if err := f(&matchValue{run: r, pattern: p, text: text, at: at}); err != nil {
			return err
		}
	}
	return nil
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
