package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// run is one execution of a function of a script, or of its module-level code.
type run struct {
	account
	hook *hook
	// call is nil outside calls.
	call *hooks.Call
	// texts are what dicts and lists were decoded from.
	texts  map[starlark.Value][]byte
	values *starlark.Dict
	events []core.Event
	late   atomic.Bool // its time is over
	prints int
	notes  int
	warned int
}

const local = "run"

// current gives the run that a thread executes.
func current(t *starlark.Thread) *run { return t.Local(local).(*run) }

// start makes a run with a thread of its own, which ends with ctx. Call stop.
func (h *hook) start(ctx context.Context, c *hooks.Call) (r *run, stop func() bool) {
	t := &starlark.Thread{Name: h.name}
	r = &run{hook: h, call: c, texts: map[starlark.Value][]byte{}, account: account{limits: h.limits, thread: t}}
	t.Print = r.print
	t.OnMaxSteps = func(t *starlark.Thread) { t.Cancel(r.errSteps().Error()) }
	t.SetMaxExecutionSteps(uint64(h.limits.Steps))
	t.SetLocal(local, r)
	startime.SetNow(t, h.clock)
	return r, context.AfterFunc(ctx, func() {
		r.late.Store(true)
		t.Cancel(tooLong)
	})
}

// inTime is what long work asks that the interpreter does not look into.
func (r *run) inTime() error {
	if r.late.Load() {
		return errors.New(tooLong)
	}
	return nil
}

const (
	tooLong   = "took longer than its timeout"
	cancelled = "Starlark computation cancelled: "
)

const (
	mostPrints  = 20
	longestLine = 1000
)

// print logs, for whoever writes a script and looks at the debug log.
func (r *run) print(_ *starlark.Thread, text string) {
	if r.prints++; r.prints <= mostPrints {
		r.hook.logger.Debug("script printed", "script", r.hook.name, "text", cut(text, longestLine))
	}
}

func cut(s string, longest int) string {
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}

// stopped is how reject and answer end a run.
type stopped struct {
	rejection *hooks.Rejection
	answer    starlark.Value
}

func (*stopped) Error() string {
	return "reject() and answer() work in before_call and after_call only"
}

// invoke calls a function of the script. What reject or answer ended with is the
// second result.
func (r *run) invoke(f *starlark.Function, args ...starlark.Value) (starlark.Value, *stopped, error) {
	v, err := starlark.Call(r.thread, f, args, nil)
	var end *stopped
	if errors.As(err, &end) {
		return nil, end, nil
	}
	if err != nil {
		return nil, nil, r.failure(err)
	}
	return v, nil, nil
}

// failure turns what ended a run into an error with file, line and column. What the
// interpreter and fail() say may quote what passes through, so it is the private
// cause: it shows in the log and where a hook is tried. Limits are shown to everybody.
func (r *run) failure(err error) error {
	place, message := r.hook.place(err)
	var limit *limitError
	switch {
	case message == tooLong:
		return core.Errorf(core.Timeout, "%s: %s", place, message)
	case message == r.errSteps().Error(), errors.As(err, &limit):
		return core.Errorf(core.Internal, "%s: %s", place, message)
	default:
		return core.Errorf(core.Internal, "%s: the script failed", place).Because(errors.New(message))
	}
}

// at is a failure that shows only after a function of the script has returned. It is
// in our words, which say of values no more than their types.
func (r *run) at(f *starlark.Function, err error) error {
	pos := f.Position()
	return core.Errorf(core.Internal, "%s:%d:%d: %s", r.hook.name, pos.Line, pos.Col, cut(err.Error(), longestLine))
}

// place gives the innermost position in the script and the message of an error.
func (h *hook) place(err error) (place, message string) {
	message = err.Error()
	place = h.name
	var failed *starlark.EvalError
	if errors.As(err, &failed) {
		message = failed.Msg
		for i := range failed.CallStack {
			if pos := failed.CallStack.At(i).Pos; pos.Filename() == h.name {
				place = fmt.Sprintf("%s:%d:%d", h.name, pos.Line, pos.Col)
				break
			}
		}
	}
	return place, cut(plainWords.Replace(strings.TrimPrefix(message, cancelled)), longestLine)
}

// plainWords are for what the interpreter says in its own.
var plainWords = strings.NewReplacer("frozen hash table", "a read-only dict", "frozen list", "a read-only list")
