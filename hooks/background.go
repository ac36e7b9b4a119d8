package hooks

import (
	"context"
	"fmt"

	"github.com/toolscout/toolscout/core"
)

// job is work for a hook that nobody waits for.
type job struct {
	entry *Entry
	run   func(*Runner)
	// release gives back the hook that was kept for it.
	release func()
}

var (
	errQueue  = core.Errorf(core.Unavailable, "the background queue is full")
	errClosed = core.Errorf(core.Unavailable, "the background queue is closed")
)

// delayed is a hook in background mode with the call as it was before and after.
type delayed struct {
	entry  *Entry
	before *Call
	after  *Call
}

// later queues the hooks in background mode. When the queue is full the caller
// waits, no longer than the hook may take; what still finds no place is logged
// and warned of, never silently lost.
func (p *passage) later(ctx context.Context) {
	for _, d := range p.delayed {
		d.after = p.call.copy()
		if err := p.runner.queue(ctx, d.entry, d.run); err != nil {
			p.log(d.entry, after, err)
			p.record(d.entry, after, nil, err)
			p.call.Warn(fmt.Sprintf("hook %q was left out: %s", d.entry.Name, core.Public(err).Message))
		}
	}
}

// Handle runs a hook's handler of an event outside calls, in the background. The
// handler is what the entry's hook is. Its failure is logged, and disables the hook
// if the entry says so. Unavailable when the queue stays full for as long as the hook
// may take.
func (r *Runner) Handle(ctx context.Context, e *Entry, what core.Event, h Handler) error {
	if r.Disabled(e) {
		return nil
	}
	return r.queue(ctx, e, func(r *Runner) {
		err := r.usable(e)
		if err == nil {
			err = r.bounded(context.WithoutCancel(ctx), e, func(ctx context.Context) error { return h.Handle(ctx, what) }, timeout(e))
		}
		if err != nil {
			r.blunder(e, Event(what.Type), "", err)
		}
	})
}

func (r *Runner) queue(ctx context.Context, e *Entry, run func(*Runner)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout(e))
	defer cancel()
	j := job{entry: e, run: run, release: func() {}}
	if e.Keep != nil {
		j.release = e.Keep()
	}
	select {
	case <-r.stop:
		j.release()
		return errClosed
	default:
	}
	select {
	case r.jobs <- j:
		return nil
	case <-ctx.Done():
		j.release()
		return errQueue
	}
}

// work runs queued hooks until the Runner is closed and the queue empty.
func (r *Runner) work() {
	do := func(j job) {
		defer j.release()
		if !r.Disabled(j.entry) {
			j.run(r)
		}
	}
	for {
		select {
		case j := <-r.jobs:
			do(j)
		case <-r.stop:
			for {
				select {
				case j := <-r.jobs:
					do(j)
				default:
					return
				}
			}
		}
	}
}

// run runs both halves. What they edit is nobody's any more. As in a call, After
// follows a Before that failed; a rejection comes too late to count.
func (d delayed) run(r *Runner) {
	if err := r.usable(d.entry); err != nil {
		r.blunder(d.entry, event(d.before.Level, before), d.before.RequestID, err)
		return
	}
	for _, half := range []struct {
		phase
		call *Call
	}{{before, d.before}, {after, d.after}} {
		if !d.entry.takes(half.call.Level, half.phase) {
			continue
		}
		err := r.attempt(context.Background(), d.entry, half.phase, half.call, timeout(d.entry))
		switch {
		case isRejection(err):
			r.config.Logger.Warn("hook rejected a call too late: it runs in the background", "hook", d.entry.Name,
				"event", event(half.call.Level, half.phase), "request_id", half.call.RequestID)
		case err != nil:
			r.blunder(d.entry, event(half.call.Level, half.phase), half.call.RequestID, err)
		case half.phase == before:
			d.after.values = half.call.values
		}
	}
}

// blunder is what follows from a failure in the background.
func (r *Runner) blunder(e *Entry, at Event, requestID string, err error) {
	r.log(e, at, requestID, err)
	if e.OnError == Disable {
		r.disable(e, blame(e, err))
	}
}
