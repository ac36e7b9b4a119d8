package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"go.starlark.net/starlark"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// hook is a script that serves calls.
type hook struct {
	name    string
	owner   string // the user whose script it is, "" for an admin's
	tenant  string
	limits  limits
	program *program
	publish func(context.Context, core.Event) error
	now     func() time.Time
	logger  *slog.Logger

	patterns patterns
	cache    cache
}

func (h *hook) clock() (time.Time, error) { return h.now(), nil }

func limited(r io.Reader) io.Reader { return io.LimitReader(r, largestSource+1) }

// Before runs before_call.
func (h *hook) Before(ctx context.Context, c *hooks.Call) error {
	f := h.program.before
	if f == nil {
		return nil
	}
	r, stop := h.start(ctx, c)
	defer stop()
	r.recall()
	request := &requestValue{run: r}
	v, end, err := r.invoke(f, &ctxValue{run: r}, request)
	if err != nil {
		return err
	}
	if end == nil {
		err = r.takeArguments(request, v)
	} else if end.answer != nil {
		err = r.takeAnswer(end.answer)
	}
	if err != nil {
		return r.at(f, err)
	}
	return r.finish(ctx, f, end)
}

// After runs after_call.
func (h *hook) After(ctx context.Context, c *hooks.Call) error {
	f := h.program.after
	if f == nil {
		return nil
	}
	r, stop := h.start(ctx, c)
	defer stop()
	r.recall()
	v, end, err := r.invoke(f, &ctxValue{run: r, after: true}, r.result())
	if err != nil {
		return err
	}
	if end != nil && end.answer != nil {
		v = end.answer
	}
	if end == nil || end.answer != nil {
		if err := r.takeResult(v); err != nil {
			return r.at(f, err)
		}
	}
	return r.finish(ctx, f, end)
}

// Handle runs on_event.
func (h *hook) Handle(ctx context.Context, e core.Event) error {
	f := h.program.event
	if f == nil {
		return nil
	}
	r, stop := h.start(ctx, nil)
	defer stop()
	_, end, err := r.invoke(f, &ctxValue{run: r, event: &e}, &eventValue{run: r, event: e})
	if err != nil {
		return err
	}
	if end != nil {
		return r.at(f, end)
	}
	return r.send(ctx)
}

// recall finds what before_call stored for after_call.
func (r *run) recall() {
	r.values = new(starlark.Dict)
	stored, _ := r.call.Value(r.hook).(*starlark.Dict)
	if stored == nil {
		return
	}
	for k, v := range stored.Entries() {
		_ = r.values.SetKey(k, v) // of a key that was one before
	}
}

// finish sends what was emitted, keeps the values and rejects, if that is how it ended.
func (r *run) finish(ctx context.Context, f *starlark.Function, end *stopped) error {
	if r.values.Len() > 0 {
		if err := r.examine(r.values); err != nil {
			return r.at(f, fmt.Errorf("ctx.values: %w", err))
		}
		r.values.Freeze()
		r.call.SetValue(r.hook, r.values)
	}
	if err := r.send(ctx); err != nil {
		return err
	}
	if end != nil && end.rejection != nil {
		return end.rejection
	}
	return nil
}

// takeArguments makes what before_call returned the arguments.
func (r *run) takeArguments(request *requestValue, v starlark.Value) error {
	switch v := v.(type) {
	case starlark.NoneType:
		changed, err := request.changed()
		if changed {
			return errors.New("before_call changed request.arguments, but returned None: end it with `return request.arguments`")
		}
		return err
	case *starlark.Dict:
		if v == request.args && request.text == nil && v.Len() == 0 {
			return nil
		}
		text, err := r.encode("what before_call returned", v)
		if err != nil {
			return err
		}
		if !same(text, request.text) {
			r.call.Args = text
		}
		return nil
	default:
		return fmt.Errorf("before_call returned a %s: it returns request.arguments, another dict, or None, and ends with reject() or answer()", v.Type())
	}
}

// takeAnswer makes v the result in place of the tool's.
func (r *run) takeAnswer(v starlark.Value) error {
	text, err := r.asResult("answer()", v, func(s string) (json.RawMessage, error) { return newText(s), nil })
	if err == nil {
		r.call.Result = text
	}
	return err
}

// takeResult makes what after_call returned the result. After a call that failed,
// that is a new message.
func (r *run) takeResult(v starlark.Value) error {
	if v == starlark.None {
		return nil
	}
	if r.call.Err != nil {
		return r.takeMessage(v)
	}
	text, err := r.asResult("what after_call returned", v, func(s string) (json.RawMessage, error) {
		return withText(r.call, s)
	})
	if err == nil && !bytes.Equal(text, r.call.Result) {
		r.call.Result = text
	}
	return err
}

func (r *run) takeMessage(v starlark.Value) error {
	message, ok := starlark.AsString(v)
	if made, isResult := v.(*resultValue); isResult && made.failed {
		message, ok = made.message, true
	}
	if !ok {
		return fmt.Errorf("the call failed: after_call can return another message or None, not a %s", v.Type())
	}
	e := *core.Public(r.call.Err)
	if e.Message == message {
		return nil
	}
	e.Message = cut(message, longestReason)
	r.call.Err = e.Because(r.call.Err)
	return nil
}
