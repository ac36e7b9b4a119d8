package script

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// inPlace is x op= y for a variable: lists and dicts grow where they are.
func inPlace(op syntax.Token) builtin {
	return func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return operateInPlace(t, op, args[0], args[1])
	}
}

func operateInPlace(t *starlark.Thread, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	grow := ""
	switch x.(type) {
	case *starlark.List:
		if _, ok := y.(starlark.Iterable); ok && op == syntax.PLUS {
			grow = "extend"
		}
	case *starlark.Dict:
		if _, ok := y.(*starlark.Dict); ok && op == syntax.PIPE {
			grow = "update"
		}
	}
	if grow == "" {
		return operate(current(t), op, x, y)
	}
	if _, err := method(t, x, grow, starlark.Tuple{y}, nil); err != nil {
		return nil, err
	}
	return x, nil
}

// updateIndex is x[key] op= y.
func updateIndex(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, key, token, y := args[0], args[1], args[2].(starlark.String), args[3]
	old, store, err := element(x, key)
	if err != nil {
		return nil, err
	}
	op := assigned[string(token)]
	var value starlark.Value
	if checked[op] {
		value, err = operateInPlace(t, op, old, y)
	} else {
		value, err = starlark.Binary(op, old, y)
	}
	if err != nil {
		return nil, err
	}
	return starlark.None, store(value)
}

// assigned gives the operator of +=, -= and so on.
var assigned = func() map[string]syntax.Token {
	m := map[string]syntax.Token{}
	for op := syntax.PLUS_EQ; op <= syntax.GTGT_EQ; op++ {
		m[op.String()] = op - syntax.PLUS_EQ + syntax.PLUS
	}
	return m
}()

// element gives x[key] and a way to store there.
func element(x, key starlark.Value) (starlark.Value, func(starlark.Value) error, error) {
	switch x := x.(type) {
	case *starlark.Dict:
		v, found, err := x.Get(key)
		if err != nil {
			return nil, nil, err
		}
		if !found {
			return nil, nil, fmt.Errorf("key %s not in dict", short(key))
		}
		return v, func(v starlark.Value) error { return x.SetKey(key, v) }, nil
	case *starlark.List:
		i, err := starlark.AsInt32(key)
		if err != nil {
			return nil, nil, fmt.Errorf("list index: %w", err)
		}
		if i < 0 {
			i += x.Len()
		}
		if i < 0 || i >= x.Len() {
			return nil, nil, fmt.Errorf("list index %s out of range: the list has %d elements", short(key), x.Len())
		}
		return x.Index(i), func(v starlark.Value) error { return x.SetIndex(i, v) }, nil
	default:
		return nil, nil, fmt.Errorf("%s value does not support item assignment", x.Type())
	}
}

// short is a value as an error shows it.
func short(v starlark.Value) string {
	switch v := v.(type) {
	case starlark.String:
		return fmt.Sprintf("%.60q", string(v))
	case starlark.Int:
		return v.String()
	default:
		return "of type " + v.Type()
	}
}
