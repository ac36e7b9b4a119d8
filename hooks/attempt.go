package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/toolscout/toolscout/core"
)

// grace is how long a hook may take, after its deadline, to say itself why it
// gave up. Only then is it left behind.
const grace = 20 * time.Millisecond

var errBudget = core.Errorf(core.Timeout, "the hooks of this call took too long together")

// attempt runs one half of one hook on a copy of the call and waits for it no
// longer than d. After an error the copy is not looked at: the hook may still be
// writing to it.
func (p *passage) attempt(ctx context.Context, e *Entry, ph phase, work *Call, d time.Duration) error {
	start := time.Now()
	defer func() { p.budget -= time.Since(start) }()
	return p.runner.attempt(ctx, e, ph, work, d)
}

func (r *Runner) attempt(ctx context.Context, e *Entry, ph phase, work *Call, d time.Duration) error {
	half := e.Hook.Before
	if ph == after {
		half = e.Hook.After
	}
	if e.Inline {
		ctx, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		return protect(func() error { return half(ctx, work) })
	}
	return r.bounded(ctx, e, func(ctx context.Context) error { return half(ctx, work) }, d)
}

// bounded runs f and waits for it no longer than d.
func (r *Runner) bounded(ctx context.Context, e *Entry, f func(context.Context) error, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	a := &attempted{ended: make(chan error, 1)}
	go a.run(r, e, func() error { return f(ctx) })
	select {
	case err := <-a.ended:
		return err
	case <-ctx.Done():
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case err := <-a.ended:
		return err
	case <-patience.C:
	}
	return a.leave(ctx, r, e)
}

// attempted is a hook on a goroutine of its own.
type attempted struct {
	ended chan error
	// settled: by whichever is first, the hook's end or our patience's.
	settled atomic.Bool
	// release gives back the hook that is kept for as long as it hangs.
	release func()
}

func (a *attempted) run(r *Runner, e *Entry, f func() error) {
	err := errEnded
	defer func() {
		if a.settled.Swap(true) {
			r.hung(e, -1)
			a.release()
			return
		}
		a.ended <- err
	}()
	err = protect(f)
}

// leave goes on without a hook that does not end, unless it does this very moment.
func (a *attempted) leave(ctx context.Context, r *Runner, e *Entry) error {
	a.release = func() {}
	if e.Keep != nil {
		a.release = e.Keep()
	}
	r.hung(e, +1)
	if a.settled.Swap(true) {
		r.hung(e, -1)
		a.release()
		return <-a.ended
	}
	return fmt.Errorf("left behind while still running: %w", ctx.Err())
}

// panicError is a panic that was caught.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// errEnded is the failure of a hook that ended its goroutine.
var errEnded = errors.New("ended without returning")

// protect turns a panic into an error.
func protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{value: v, stack: debug.Stack()}
		}
	}()
	return f()
}

func timeout(e *Entry) time.Duration { return cmp.Or(e.Timeout, DefaultTimeout) }
