package script

import (
	"fmt"

	"go.starlark.net/starlark"
)

// What values cost, in bytes: the size that the interpreter gives them, rounded up.
const (
	costScalar = 16
	costString = 32  // with its header and the interface around it
	costList   = 64  // empty
	costDict   = 600 // empty: eight entries are made at once
	costEntry  = 128 // of a dict or set, at the table's worst filling
	costElem   = 16
	deepest    = 200
	bytesAStep = 256 // worked on in the time of a step
	intBits    = 4096
	mebibyte   = 1 << 20
)

// limits are what one run of a script may use.
type limits struct {
	Steps  int64
	Memory int64
	Size   int64
}

// account holds what a run has used. Memory is what it has allocated in all; work
// is counted in the thread's steps.
type account struct {
	limits
	thread *starlark.Thread
	memory int64
}

// limitError is the end of a run that used too much.
type limitError struct{ message string }

func (e *limitError) Error() string { return e.message }

func (a *account) errSteps() error {
	return &limitError{fmt.Sprintf("took more than %d steps (max_steps)", a.Steps)}
}

func (a *account) errMemory() error {
	return &limitError{fmt.Sprintf("used more than %s of memory (max_memory)", bytesText(a.Memory))}
}

func (a *account) errSize(what string) error {
	return &limitError{fmt.Sprintf("%s is larger than %s (max_size)", what, bytesText(a.Size))}
}

func bytesText(n int64) string {
	if n%mebibyte == 0 {
		return fmt.Sprintf("%d MiB", n/mebibyte)
	}
	return fmt.Sprintf("%d bytes", n)
}

// allocate charges for n bytes that are about to be allocated.
func (a *account) allocate(n int64) error {
	if n < 0 || n > a.Memory-a.memory {
		return a.errMemory()
	}
	a.memory += n
	return a.work(n)
}

// work charges for looking at n bytes.
func (a *account) work(n int64) error {
	steps := n / bytesAStep
	if n < 0 || steps > a.Steps-int64(a.thread.Steps) {
		return a.errSteps()
	}
	a.thread.Steps += uint64(steps)
	return nil
}

// examine charges for looking at all of some values once.
func (a *account) examine(values ...starlark.Value) error {
	return a.examineTimes(1, values...)
}

func (a *account) examineTimes(times int64, values ...starlark.Value) error {
	for _, v := range values {
		switch v.(type) {
		case starlark.Int, starlark.Bool, starlark.NoneType, starlark.Float:
			continue
		}
		n, err := a.weigh(v)
		if err != nil {
			return err
		}
		if err := a.work(n * times); err != nil {
			return err
		}
	}
	return nil
}

// examineKeys charges for hashing: only tuples have parts.
func (a *account) examineKeys(values []starlark.Value) error {
	for _, v := range values {
		if _, ok := v.(starlark.Tuple); ok {
			if err := a.examine(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// printed is the most that a value comes to as text, escapes included.
func (a *account) printed(v starlark.Value) (int64, error) {
	if s, ok := v.(starlark.String); ok {
		return 2 * int64(len(s)), nil
	}
	n, err := a.weigh(v)
	return 4 * n, err
}

// count is how many elements a value has; 0 if it is no sequence.
func (a *account) count(v starlark.Value) (int64, error) {
	if n := starlark.Len(v); n >= 0 {
		return int64(n), nil
	}
	if _, ok := v.(starlark.Iterable); !ok {
		return 0, nil
	}
	n, err := a.weigh(v)
	return n / costElem, err
}

// weigh gives the bytes that a value comes to when all of it is written out, each
// part as often as it occurs: what a comparison, a hash or a text of it costs. It
// gives up at what the account could still bear.
func (a *account) weigh(v starlark.Value) (int64, error) {
	w := scale{left: (a.Steps - int64(a.thread.Steps)) * bytesAStep}
	if !w.add(v, 0) {
		if w.deep {
			return 0, &limitError{fmt.Sprintf("a value is nested more than %d deep", deepest)}
		}
		return 0, a.errSteps()
	}
	return w.sum, nil
}

type scale struct {
	sum, left int64
	deep      bool
}

func (w *scale) add(v starlark.Value, depth int) bool {
	if depth > deepest {
		w.deep = true
		return false
	}
	switch v := v.(type) {
	case starlark.String:
		return w.put(costString + int64(len(v)))
	case starlark.Bytes:
		return w.put(costString + int64(len(v)))
	case starlark.Int:
		return w.put(costScalar + int64(bitLen(v)/3))
	case *starlark.Dict:
		return w.dict(v, depth)
	case starlark.Iterable:
		return w.each(v, depth)
	default:
		return w.put(costString)
	}
}

func (w *scale) put(n int64) bool {
	w.sum += n
	return w.sum <= w.left
}

func (w *scale) dict(d *starlark.Dict, depth int) bool {
	if !w.put(costList) {
		return false
	}
	for k, v := range d.Entries() {
		if !w.add(k, depth+1) || !w.add(v, depth+1) {
			return false
		}
	}
	return true
}

func (w *scale) each(list starlark.Iterable, depth int) bool {
	if !w.put(costList) {
		return false
	}
	it := list.Iterate()
	defer it.Done()
	var v starlark.Value
	for it.Next(&v) {
		if !w.put(costElem) || !w.add(v, depth+1) {
			return false
		}
	}
	return true
}

func bitLen(i starlark.Int) int {
	if _, small := i.Int64(); small {
		return 64
	}
	return i.BigInt().BitLen()
}
