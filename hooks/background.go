package hooks

import (
	"context"
	"errors"
	"fmt"
)

// job is one hook in background mode with the call as it was before and after.
type job struct {
	entry  *Entry
	before *Call
	after  *Call
}

var (
	errQueue  = errors.New("the background queue is full")
	errClosed = errors.New("the background queue is closed")
)

// later queues the hooks in background mode. When the queue is full the caller
// waits, no longer than the hook may take; what still finds no place is logged
// and warned of, never silently lost.
func (p *passage) later(ctx context.Context) {
	for _, j := range p.jobs {
		j.after = p.call.copy()
		if err := p.runner.queue(ctx, j); err != nil {
			p.log(j.entry, after, err)
			p.call.Warn(fmt.Sprintf("hook %q was left out: %v", j.entry.Name, err))
		}
	}
}

func (r *Runner) queue(ctx context.Context, j job) error {
	ctx, cancel := context.WithTimeout(ctx, timeout(j.entry))
	defer cancel()
	select {
	case <-r.stop:
		return errClosed
	default:
	}
	select {
	case r.jobs <- j:
		return nil
	case <-ctx.Done():
		return errQueue
	}
}

// work runs queued hooks until the Runner is closed and the queue empty.
func (r *Runner) work() {
	for {
		select {
		case j := <-r.jobs:
			r.do(j)
		case <-r.stop:
			for {
				select {
				case j := <-r.jobs:
					r.do(j)
				default:
					return
				}
			}
		}
	}
}

// do runs both halves of a queued hook. What they edit is nobody's any more.
func (r *Runner) do(j job) {
	p := passage{runner: r, call: j.after, budget: 2 * timeout(j.entry)}
	if err := p.admit(j.entry); err != nil {
		p.log(j.entry, after, err)
		return
	}
	for _, half := range []struct {
		phase
		call *Call
	}{{before, j.before}, {after, j.after}} {
		if !j.entry.takes(half.call.Level, half.phase) {
			continue
		}
		if err := p.attempt(context.Background(), j.entry, half.phase, half.call, timeout(j.entry)); err != nil {
			p.log(j.entry, half.phase, err)
			if j.entry.OnError == Disable && !isRejection(err) {
				r.disable(j.entry, err)
			}
			return
		}
		j.after.values = half.call.values
	}
}
