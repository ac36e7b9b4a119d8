package script

import (
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
)

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
