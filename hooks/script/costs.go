package script

import (
	"fmt"
	"math/bits"
	"strings"

	"go.starlark.net/starlark"
)

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

func costInt(_ *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	x := first(args)
	for _, kv := range kwargs {
		if kv[0] == starlark.String("x") {
			x = kv[1]
		}
	}
	if s, ok := x.(starlark.String); ok && len(s) > intBits {
		return &limitError{fmt.Sprintf("an integer of more than %d bits", intBits)}
	}
	return nil
}

// costNames is that of the names of a value's attributes.
func costNames(r *run, _ starlark.Value, _ starlark.Tuple, _ []starlark.Tuple) error {
	const most = 50
	return r.allocate(costList + most*costString)
}

// costZone is that of a time zone, which is read anew each time that it is named.
func costZone(r *run, _ starlark.Value, _ starlark.Tuple, _ []starlark.Tuple) error {
	const zone = 4 << 10
	return r.allocate(zone)
}

// costOfLocation is costZone for functions to which a zone may be left out.
func costOfLocation(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	named := len(args) > 2
	for _, kv := range kwargs {
		named = named || kv[0] == starlark.String("location")
	}
	if !named {
		return nil
	}
	return costZone(r, nil, nil, nil)
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
			if err := r.crowded(args); err != nil {
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
