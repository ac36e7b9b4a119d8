package script

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// builtin is the shape of a function that scripts can call.
type builtin = func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)

// operators are the names that a rewritten tree calls.
func operators() starlark.StringDict {
	d := starlark.StringDict{}
	add := func(name string, f builtin) { d[name] = starlark.NewBuiltin(name, f) }
	for op := range checked {
		add(op.String(), operator(op))
	}
	for op := syntax.PLUS_EQ; op <= syntax.GTGT_EQ; op++ {
		if plain := op - syntax.PLUS_EQ + syntax.PLUS; checked[plain] {
			add(op.String(), inPlace(plain))
		}
	}
	add(nameUpdate, updateIndex)
	add(nameMethod, callMethod)
	add(nameAttr, attribute)
	add(nameSpread, spread)
	add(nameKey, checkKey)
	add(nameDict, newDict)
	add(nameSlice, sliced)
	add(nameStride, strided)
	return d
}

func operator(op syntax.Token) builtin {
	return func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return operate(current(t), op, args[0], args[1])
	}
}

// operate is x op y, charged for.
func operate(r *run, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	switch op {
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		return compare(r, op, x, y)
	case syntax.IN, syntax.NOT_IN:
		if err := chargeMembership(r, x, y); err != nil {
			return nil, err
		}
	default:
		if err := chargeOperation(r, op, x, y); err != nil {
			return nil, err
		}
	}
	return starlark.Binary(op, x, y)
}

func compare(r *run, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	if err := r.examine(x, y); err != nil {
		return nil, err
	}
	ok, err := starlark.Compare(op, x, y)
	return starlark.Bool(ok), err
}

func chargeMembership(r *run, x, y starlark.Value) error {
	if _, mapping := y.(starlark.Mapping); mapping {
		return r.examine(x)
	}
	if _, set := y.(*starlark.Set); set {
		return r.examine(x)
	}
	if _, list := y.(starlark.Sequence); list && y.Type() == "range" {
		return nil
	}
	return r.examine(x, y)
}

// chargeOperation charges for what x op y is going to allocate.
func chargeOperation(r *run, op syntax.Token, x, y starlark.Value) error {
	if xi, ok := x.(starlark.Int); ok {
		if yi, ok := y.(starlark.Int); ok {
			return checkInts(op, xi, yi)
		}
	}
	switch op {
	case syntax.STAR:
		return chargeRepeat(r, x, y)
	case syntax.PERCENT:
		if s, ok := x.(starlark.String); ok {
			return chargeInterpolation(r, string(s), y)
		}
		return nil
	default:
		return r.allocate(shallow(x) + shallow(y))
	}
}

func checkInts(op syntax.Token, x, y starlark.Int) error {
	if _, small := x.Int64(); small && op != syntax.LTLT {
		if _, small := y.Int64(); small {
			return nil
		}
	}
	bits := max(bitLen(x), bitLen(y))
	switch op {
	case syntax.STAR:
		bits = bitLen(x) + bitLen(y)
	case syntax.LTLT:
		n, _ := y.Int64()
		bits = bitLen(x) + int(min(max(n, 0), intBits))
	}
	if bits > intBits+64 {
		return &limitError{fmt.Sprintf("an integer of more than %d bits", intBits)}
	}
	return nil
}

func chargeRepeat(r *run, x, y starlark.Value) error {
	if _, ok := x.(starlark.Int); ok {
		x, y = y, x
	}
	n, ok := y.(starlark.Int)
	if !ok {
		return nil
	}
	times, small := n.Int64()
	if n.Sign() <= 0 {
		return nil
	}
	each := int64(max(starlark.Len(x), 1))
	if _, list := x.(starlark.Iterable); list {
		each *= costElem
	}
	if !small || times > r.Memory/each {
		return r.errMemory()
	}
	return r.allocate(costList + each*times)
}

// chargeInterpolation charges for format % y.
func chargeInterpolation(r *run, format string, y starlark.Value) error {
	verbs := int64(strings.Count(format, "%"))
	n, err := r.printed(y)
	if err != nil {
		return err
	}
	if _, mapping := y.(starlark.Mapping); mapping && verbs > 1 {
		if n > r.Memory/verbs {
			return r.errMemory()
		}
		n *= verbs
	}
	const longestNumber = 400
	return r.allocate(int64(len(format)) + n + verbs*longestNumber)
}

// shallow is what a copy of v takes, its elements not copied.
func shallow(v starlark.Value) int64 {
	switch v := v.(type) {
	case starlark.String:
		return costString + int64(len(v))
	case starlark.Bytes:
		return costString + int64(len(v))
	case *starlark.Dict:
		return costDict + costEntry*int64(v.Len())
	case *starlark.Set:
		return costDict + costEntry*int64(v.Len())
	}
	if n := starlark.Len(v); n > 0 {
		return costList + min(int64(n), 1<<40)*costElem
	}
	return costScalar
}

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

func spread(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	r := current(t)
	n := shallow(args[0]) * 2
	if starlark.Len(args[0]) < 0 {
		if _, ok := args[0].(starlark.Iterable); ok {
			w, err := r.weigh(args[0])
			if err != nil {
				return nil, err
			}
			n = w
		}
	}
	return args[0], r.allocate(n)
}

func checkKey(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if _, ok := args[0].(starlark.Tuple); ok {
		return args[0], current(t).examine(args[0])
	}
	return args[0], nil
}

func newDict(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return args[0], current(t).allocate(shallow(args[0]))
}

// sliced charges for x[a:b]: a part of a string is no copy.
func sliced(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	switch args[0].(type) {
	case starlark.String, starlark.Bytes:
		return args[0], nil
	}
	return strided(t, b, args, kwargs)
}

func strided(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if args[0].Type() == "range" {
		return args[0], nil
	}
	return args[0], current(t).allocate(shallow(args[0]))
}
