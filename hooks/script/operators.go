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
