package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
)

// leastAfter is what an After gets even when the chain's budget is used up, so
// that slow hooks further in never cost the audit its row.
const leastAfter = 100 * time.Millisecond

// Next is the work that a chain wraps. It sets the call's Result or returns an error.
type Next func(ctx context.Context, c *Call) error

// Run sends a call through a chain, with next as its innermost part, and gives
// the call's error. Result and warnings are left in the call.
func (r *Runner) Run(ctx context.Context, chain Chain, c *Call, next Next) error {
	p := passage{runner: r, call: c, budget: r.config.Budget}
	if p.in(ctx, chain) {
		p.work(ctx, next)
	}
	p.out(context.WithoutCancel(ctx))
	p.later(context.WithoutCancel(ctx))
	return c.Err
}

// passage is one call's way through one chain.
type passage struct {
	runner *Runner
	call   *Call
	budget time.Duration
	// reserved is the part of the budget that hooks which users made cannot use up.
	reserved time.Duration
	entered  []entered
	delayed  []delayed
}

// entered is a hook whose After is due.
type entered struct {
	*Entry
	// own are the values of a hook whose copies are thrown away.
	own map[any]any
}

// in runs the Befores in order and reports whether the work is to be done.
func (p *passage) in(ctx context.Context, chain Chain) bool {
	for _, e := range chain {
		if err := ctx.Err(); err != nil {
			p.call.Err = err
			return false
		}
		if !p.enter(ctx, e) || p.call.Result != nil {
			return false
		}
	}
	return true
}

// left is what is left of the budget for a hook. Those which users made get half of
// what the others had left before them: or a slow one would keep a hook further out
// from what it has to do with the result.
func (p *passage) left(e *Entry) time.Duration {
	if !e.Owned {
		return p.budget
	}
	if p.reserved == 0 {
		p.reserved = p.budget / 2
	}
	return p.budget - p.reserved
}

// admit says why a hook is not even started.
func (p *passage) admit(e *Entry) error {
	if p.left(e) <= 0 {
		return errBudget
	}
	return p.runner.usable(e)
}

// enter runs one Before and reports whether the call goes on.
func (p *passage) enter(ctx context.Context, e *Entry) bool {
	if p.runner.Disabled(e) {
		return true
	}
	if e.Mode == Background {
		p.delayed = append(p.delayed, delayed{entry: e, before: p.call.copy()})
		return true
	}
	if err := p.admit(e); err != nil {
		if e.Mode == Observe {
			p.observe(e, before, nil, err)
			return true
		}
		return p.failed(e, before, err)
	}
	p.entered = append(p.entered, entered{Entry: e})
	if !e.takes(p.call.Level, before) {
		return true
	}
	mine := &p.entered[len(p.entered)-1]
	work := p.copy(e)
	err := p.attempt(ctx, e, before, work, min(timeout(e), p.left(e)))
	if e.Mode == Observe {
		p.observe(e, before, work, err)
		if err == nil {
			mine.own = work.values
		}
		return true
	}
	if err == nil {
		p.record(e, before, work, nil)
		p.call.Args, p.call.Result = work.Args, work.Result
		p.keep(work)
		return true
	}
	if gone := ctx.Err(); gone != nil && !isRejection(err) {
		p.call.Err = gone
		return false
	}
	return p.failed(e, before, err)
}

// work does what the chain is around. A panic in it is an error like any other.
func (p *passage) work(ctx context.Context, next Next) {
	start := time.Now()
	err := protect(func() error { return next(ctx, p.call) })
	p.call.Duration = time.Since(start)
	p.call.Raw, p.call.Err = p.call.Result, err
	var panicked *panicError
	if errors.As(err, &panicked) {
		p.runner.config.Logger.Error("panic in a call", "request_id", p.call.RequestID,
			"action", p.call.Action, "err", panicked, "stack", string(panicked.stack))
	}
}

// out runs the Afters of all that were entered, in reverse. Its context outlives
// the caller's.
func (p *passage) out(ctx context.Context) {
	for i := len(p.entered) - 1; i >= 0; i-- {
		if p.entered[i].takes(p.call.Level, after) {
			p.leave(ctx, p.entered[i])
		}
	}
}

// leave runs one After.
func (p *passage) leave(ctx context.Context, e entered) {
	work := p.copy(e.Entry)
	if e.own != nil {
		work.values = e.own
	}
	err := p.attempt(ctx, e.Entry, after, work, min(timeout(e.Entry), max(p.left(e.Entry), leastAfter)))
	if e.Mode == Observe {
		p.observe(e.Entry, after, work, err)
		return
	}
	if err != nil {
		p.failed(e.Entry, after, err)
		return
	}
	p.record(e.Entry, after, work, nil)
	p.call.Result, p.call.Err = work.Result, work.Err
	p.keep(work)
}

// copy is the call as e gets it.
func (p *passage) copy(e *Entry) *Call {
	work := p.call.copy()
	work.observing = e.Mode == Observe
	return work
}

// keep takes over what both halves may leave.
func (p *passage) keep(work *Call) {
	p.call.Warnings, p.call.Meta = work.Warnings, work.Meta
	p.call.values, p.call.ends = work.values, work.ends
}

// failed does what follows from a hook's rejection or failure and reports
// whether the call goes on.
func (p *passage) failed(e *Entry, ph phase, err error) bool {
	p.record(e, ph, nil, err)
	if isRejection(err) {
		p.block(blame(e, err))
		return false
	}
	p.log(e, ph, err)
	if e.OnError != Ignore && e.OnError != Disable {
		p.block(blame(e, err))
		return false
	}
	if e.OnError == Disable {
		p.runner.disable(e, blame(e, err))
	}
	p.call.Warn(fmt.Sprintf("hook %q was left out: %s", e.Name, blame(e, err).Message))
	return true
}

// hasRun is what a caller is told beside an error when the work had been done: a
// blind second try would do it twice.
const hasRun = "the tool has run; only its result is withheld"

// block makes err the call's end. A hint of the hook's own is kept.
func (p *passage) block(err *core.Error) {
	if p.call.Sent && !strings.Contains(err.Hint, hasRun) {
		told := *err
		told.Hint = strings.TrimPrefix(err.Hint+"; "+hasRun, "; ")
		err = &told
	}
	p.call.Err, p.call.Result = err, nil
}

// observe records what a hook in observe mode would have done.
func (p *passage) observe(e *Entry, ph phase, work *Call, err error) {
	if err != nil && !isRejection(err) {
		p.log(e, ph, err)
	}
	p.record(e, ph, work, err)
}

// record adds what a hook did to the call's effects, before its edits are taken
// over. After an error the copy is not looked at.
func (p *passage) record(e *Entry, ph phase, work *Call, err error) {
	effect := Effect{Hook: e.Name, Event: event(p.call.Level, ph)}
	if e.Mode == Observe {
		effect.Mode = Observe
	}
	if err == nil {
		effect.Notes = work.notes
	}
	switch {
	case isRejection(err):
		told := blame(e, err)
		effect.Did, effect.Message, effect.Kind = "reject", told.Message, told.Kind
	case err != nil:
		told := blame(e, err)
		effect.Did, effect.Message, effect.Kind = "fail", told.Message, told.Kind
	case ph == before && work.Result != nil:
		effect.Did = "answer"
	case !bytes.Equal(work.Args, p.call.Args), !bytes.Equal(work.Result, p.call.Result),
		(work.Err == nil) != (p.call.Err == nil):
		effect.Did = "edit"
	case len(effect.Notes) > 0:
		effect.Did = "note"
	default:
		return
	}
	p.call.Effects = append(p.call.Effects, effect)
}

func (p *passage) log(e *Entry, ph phase, err error) {
	p.runner.log(e, event(p.call.Level, ph), p.call.RequestID, err)
}

func (r *Runner) log(e *Entry, at Event, requestID string, err error) {
	attrs := []any{"hook", e.Name, "event", at, "request_id", requestID, "err", err}
	var panicked *panicError
	if errors.As(err, &panicked) {
		attrs = append(attrs, "stack", string(panicked.stack))
	}
	r.config.Logger.Warn("hook failed", attrs...)
}

// blame turns a hook's rejection or failure into what the caller may see of it. A
// core.Error speaks for itself.
func blame(e *Entry, err error) *core.Error {
	var told *core.Error
	switch {
	case isRejection(err) && !(errors.As(err, &told) && told != nil):
		return core.Errorf(core.HookRejected, "rejected by hook %q", e.Name)
	case errors.As(err, &told):
		return told
	case errors.Is(err, context.DeadlineExceeded):
		return core.Errorf(core.Timeout, "hook %q took too long", e.Name).Because(err)
	default:
		return core.Errorf(core.Internal, "hook %q failed", e.Name).Because(err)
	}
}

func isRejection(err error) bool {
	var r *Rejection
	return errors.As(err, &r)
}
