package script

import (
	"fmt"
	"math/bits"
	"strings"

	"go.starlark.net/starlark"
)

// cost charges for a call before it is made. recv is nil for a function.
type cost func(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error

// methodCosts are the methods of the interpreter's own types whose cost is more
// than looking at the receiver and the arguments once.
var methodCosts = map[string]cost{
	"time.time.format":         costLayout,
	"string.join":              costJoin,
	"string.replace":           costReplace,
	"string.format":            costFormat,
	"string.split":             costSplit,
	"string.rsplit":            costSplit,
	"string.splitlines":        costSplit,
	"string.upper":             costCopy,
	"string.lower":             costCopy,
	"string.title":             costCopy,
	"string.capitalize":        costCopy,
	"list.extend":              costOfElements(costElem),
	"list.append":              costOneElement,
	"list.insert":              costOneElement,
	"dict.items":               costOfReceiver(6 * costElem),
	"dict.keys":                costOfReceiver(costElem),
	"dict.values":              costOfReceiver(costElem),
	"dict.update":              costOfElements(costEntry),
	"dict.setdefault":          costOneElement,
	"set.add":                  costOneElement,
	"set.update":               costOfElements(costEntry),
	"set.union":                costOfBoth,
	"set.difference":           costOfBoth,
	"set.intersection":         costOfBoth,
	"set.symmetric_difference": costOfBoth,
}

// universe gives the interpreter's functions, each charged for.
func universe() starlark.StringDict {
	d := starlark.StringDict{}
	for name, v := range starlark.Universe {
		b, ok := v.(*starlark.Builtin)
		if !ok {
			continue
		}
		c := functionCosts[name]
		if c == nil {
			c = costNothing
		}
		d[name] = charged(b, nil, c)
	}
	d["sorted"] = withKey(d["sorted"].(*starlark.Builtin), 1)
	d["min"] = withKey(d["min"].(*starlark.Builtin), 0)
	d["max"] = withKey(d["max"].(*starlark.Builtin), 0)
	d["getattr"] = starlark.NewBuiltin("getattr", getattr)
	return d
}

// functionCosts are the functions whose cost is not constant.
var functionCosts = map[string]cost{
	"all":       costLook,
	"any":       costLook,
	"hash":      costLook,
	"ord":       costLook,
	"int":       costInt,
	"float":     costLook,
	"dir":       costNothing,
	"bytes":     costOfElements(costElem),
	"list":      costOfElements(costElem),
	"tuple":     costOfElements(costElem),
	"reversed":  costOfElements(costElem),
	"enumerate": costOfElements(6 * costElem),
	"zip":       costZip,
	"dict":      costOfElements(costEntry),
	"set":       costOfElements(costEntry),
	"sorted":    costSort,
	"min":       costLook,
	"max":       costLook,
	"str":       costPrint,
	"repr":      costPrint,
	"print":     costPrint,
	"fail":      costPrint,
}

// charged is b with its cost charged first.
func charged(b *starlark.Builtin, recv starlark.Value, c cost) *starlark.Builtin {
	return starlark.NewBuiltin(b.Name(), func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := c(current(t), recv, args, kwargs); err != nil {
			return nil, err
		}
		return b.CallInternal(t, args, kwargs)
	})
}

// callMethod is args[0].name(args[2:]…).
func callMethod(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return method(t, args[0], string(args[1].(starlark.String)), args[2:], kwargs)
}

func method(t *starlark.Thread, recv starlark.Value, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, err := attr(recv, name)
	if err != nil {
		return nil, err
	}
	b, ok := v.(*starlark.Builtin)
	if !ok {
		return starlark.Call(t, v, args, kwargs)
	}
	if native(recv) || recv.Type() == "time.time" {
		if err := costOf(recv, name)(current(t), recv, args, kwargs); err != nil {
			return nil, err
		}
	}
	return b.CallInternal(t, args, kwargs)
}

func attribute(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return chargedAttr(args[0], string(args[1].(starlark.String)))
}

// chargedAttr gives an attribute; a method comes with its cost.
func chargedAttr(recv starlark.Value, name string) (starlark.Value, error) {
	v, err := attr(recv, name)
	if b, ok := v.(*starlark.Builtin); ok && err == nil && native(recv) {
		return charged(b, recv, costOf(recv, name)), nil
	}
	return v, err
}

func getattr(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var object, fallback starlark.Value
	var name string
	if err := starlark.UnpackPositionalArgs("getattr", args, kwargs, 2, &object, &name, &fallback); err != nil {
		return nil, err
	}
	v, err := chargedAttr(object, name)
	if err != nil && fallback != nil {
		return fallback, nil
	}
	return v, err
}

func attr(recv starlark.Value, name string) (starlark.Value, error) {
	has, ok := recv.(starlark.HasAttrs)
	if ok {
		if v, err := has.Attr(name); v != nil || err != nil {
			return v, err
		}
	}
	err := fmt.Errorf("%s has no .%s", recv.Type(), name)
	if ok && !native(recv) {
		err = fmt.Errorf("%w, only .%s", err, strings.Join(has.AttrNames(), ", ."))
	}
	return nil, err
}

// native reports whether a value is of one of the interpreter's own types.
func native(v starlark.Value) bool {
	switch v.(type) {
	case starlark.String, starlark.Bytes, *starlark.List, *starlark.Dict, *starlark.Set:
		return true
	}
	return false
}

func costOf(recv starlark.Value, name string) cost {
	if c := methodCosts[recv.Type()+"."+name]; c != nil {
		return c
	}
	return costLook
}

func costNothing(*run, starlark.Value, starlark.Tuple, []starlark.Tuple) error { return nil }

// costLook is that of looking at everything once.
func costLook(r *run, recv starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	if s, ok := recv.(starlark.String); ok {
		if err := r.work(int64(len(s))); err != nil {
			return err
		}
	}
	if l, ok := recv.(*starlark.List); ok && l.Len() > 0 && len(args) > 0 {
		if err := r.examine(l); err != nil {
			return err
		}
	}
	return r.examine(args...)
}

func costInt(r *run, _ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	if len(args) > 0 {
		if s, ok := args[0].(starlark.String); ok && len(s) > intBits {
			return &limitError{fmt.Sprintf("an integer of more than %d bits", intBits)}
		}
	}
	return nil
}

func costCopy(r *run, recv starlark.Value, _ starlark.Tuple, _ []starlark.Tuple) error {
	return r.allocate(2 * shallow(recv))
}

func costLayout(r *run, _ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	return r.allocate(16 * shallow(first(args)))
}

// costPrint is that of a text of everything.
func costPrint(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	sum, between := int64(0), int64(0)
	for _, kv := range kwargs {
		between = shallow(kv[1])
	}
	for _, v := range args {
		n, err := r.printed(v)
		if err != nil {
			return err
		}
		if sum += n + between; sum > r.Memory {
			return r.errMemory()
		}
	}
	return r.allocate(sum)
}

func costJoin(r *run, recv starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	if len(args) != 1 {
		return nil
	}
	n, err := r.weigh(args[0])
	if err != nil {
		return err
	}
	if parts := int64(max(starlark.Len(args[0]), 0)); parts > 1 {
		between := int64(len(recv.(starlark.String)))
		if between > r.Memory/parts {
			return r.errMemory()
		}
		n += between * parts
	}
	return r.allocate(n)
}

func costReplace(r *run, recv starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	s := string(recv.(starlark.String))
	n := int64(len(s))
	if len(args) >= 2 {
		old, _ := starlark.AsString(args[0])
		by, _ := starlark.AsString(args[1])
		if grows := int64(len(by) - len(old)); grows > 0 {
			found := int64(strings.Count(s, old))
			if found > 0 && grows > r.Memory/found {
				return r.errMemory()
			}
			n += found * grows
		}
	}
	return r.allocate(costString + n)
}

func costFormat(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	format := string(recv.(starlark.String))
	fields := int64(strings.Count(format, "{"))
	sum := int64(0)
	for _, v := range args {
		n, err := r.printed(v)
		if err != nil {
			return err
		}
		sum += n
	}
	for _, kv := range kwargs {
		n, err := r.printed(kv[1])
		if err != nil {
			return err
		}
		sum += n
	}
	// "{}" takes each argument once, "{0}" and "{name}" as often as they like.
	if fields > int64(strings.Count(format, "{}")) {
		if sum > r.Memory/fields {
			return r.errMemory()
		}
		sum *= fields
	}
	return r.allocate(int64(len(format)) + sum)
}

func costSplit(r *run, recv starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	s := string(recv.(starlark.String))
	parts := 1
	separator, _ := starlark.AsString(first(args))
	if separator != "" {
		parts += strings.Count(s, separator)
	} else {
		for i := range len(s) {
			if s[i] <= ' ' || s[i] >= 0x80 {
				parts++
			}
		}
	}
	if err := r.work(int64(len(s))); err != nil {
		return err
	}
	return r.allocate(costList + int64(parts)*(costString+2*costElem))
}

func first(args starlark.Tuple) starlark.Value {
	if len(args) == 0 {
		return starlark.None
	}
	return args[0]
}

func costOneElement(r *run, recv starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	n := int64(costElem)
	if _, list := recv.(*starlark.List); !list {
		n = costEntry
		if err := r.examineKeys(args); err != nil {
			return err
		}
	} else if len(args) == 2 { // insert moves what follows
		if err := r.work(shallow(recv)); err != nil {
			return err
		}
	}
	return r.allocate(n)
}

// costOfElements is so much for each element of the arguments.
func costOfElements(each int64) cost {
	return func(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
		sum := int64(costDict) + each*int64(len(kwargs))
		for _, v := range args {
			n, err := r.count(v)
			if err != nil {
				return err
			}
			if n > r.Memory/each {
				return r.errMemory()
			}
			sum += n * each
		}
		if each == costEntry {
			if err := r.examine(args...); err != nil {
				return err
			}
		}
		return r.allocate(sum)
	}
}

func costOfReceiver(each int64) cost {
	return func(r *run, recv starlark.Value, _ starlark.Tuple, _ []starlark.Tuple) error {
		return r.allocate(costList + each*int64(max(starlark.Len(recv), 0)))
	}
}

func costOfBoth(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	if err := r.allocate(shallow(recv)); err != nil {
		return err
	}
	return costOfElements(costEntry)(r, recv, args, kwargs)
}

func costZip(r *run, _ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	rows := int64(0)
	for i, v := range args {
		n, err := r.count(v)
		if err != nil {
			return err
		}
		if i == 0 || n < rows {
			rows = n
		}
	}
	each := int64(costList + costElem*(len(args)+1))
	if rows > r.Memory/each {
		return r.errMemory()
	}
	return r.allocate(rows * each)
}

func costSort(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	for _, kv := range kwargs {
		if kv[0] == starlark.String("iterable") {
			args = append(args[:len(args):len(args)], kv[1])
		}
	}
	n, err := r.count(first(args))
	if err != nil {
		return err
	}
	if n > r.Memory/(3*costElem) {
		return r.errMemory()
	}
	if err := r.allocate(costList + n*3*costElem); err != nil {
		return err
	}
	return r.examineTimes(rounds(n), first(args))
}

// rounds is how often each element of n is compared when they are sorted.
func rounds(n int64) int64 { return int64(bits.Len64(uint64(n))) }

// withKey charges for what the key function of sorted, min and max gives: that is
// what is compared. at is the key's place among the positional arguments, 0 if it
// has none.
func withKey(b *starlark.Builtin, at int) *starlark.Builtin {
	return starlark.NewBuiltin(b.Name(), func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if at > 0 && len(args) > at {
			args[at] = chargedKey(args[at])
		}
		for _, kv := range kwargs {
			if kv[0] == starlark.String("key") {
				kv[1] = chargedKey(kv[1])
			}
		}
		return b.CallInternal(t, args, kwargs)
	})
}

func chargedKey(key starlark.Value) starlark.Value {
	f, ok := key.(starlark.Callable)
	if !ok {
		return key
	}
	const most = 20 // rounds of a million elements
	return starlark.NewBuiltin(f.Name(), func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		v, err := starlark.Call(t, f, args, kwargs)
		if err != nil {
			return nil, err
		}
		return v, current(t).examineTimes(most, v)
	})
}
