package script

import (
	"fmt"
	"maps"
	"strings"

	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// cost charges for a call before it is made. recv is nil for a function.
type cost func(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error

// methodCosts are the methods of the interpreter's own types whose cost is more
// than looking at the receiver and the arguments once.
var methodCosts = map[string]cost{
	"time.time.format":         costLayout,
	"time.time.in_location":    costZone,
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

// timeModule is the interpreter's, charged for.
func timeModule() *starlarkstruct.Module {
	m := &starlarkstruct.Module{Name: startime.Module.Name, Members: maps.Clone(startime.Module.Members)}
	for name, c := range map[string]cost{"is_valid_timezone": costZone, "parse_time": costOfLocation, "time": costOfLocation} {
		m.Members[name] = charged(m.Members[name].(*starlark.Builtin), nil, c)
	}
	return m
}

// functionCosts are the functions whose cost is not constant.
var functionCosts = map[string]cost{
	"all":       costLook,
	"any":       costLook,
	"hash":      costLook,
	"ord":       costLook,
	"int":       costInt,
	"float":     costLook,
	"dir":       costNames,
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
	if priced(recv) {
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
	if b, ok := v.(*starlark.Builtin); ok && err == nil && priced(recv) {
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

// priced reports whether the methods of a value do not charge for themselves.
func priced(v starlark.Value) bool {
	if _, clock := v.(startime.Time); clock {
		return true
	}
	return native(v)
}

func costOf(recv starlark.Value, name string) cost {
	if c := methodCosts[recv.Type()+"."+name]; c != nil {
		return c
	}
	return costLook
}

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
