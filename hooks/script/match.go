package script

import (
	"errors"

	"go.starlark.net/starlark"
)

// matchValue is what a search found.
type matchValue struct {
	object
	run     *run
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
		return m.groups(), m.run.allocate(m.pattern.found())
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
