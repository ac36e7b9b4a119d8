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
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	half := e.Hook.Before
	if ph == after {
		half = e.Hook.After
	}
	if e.Inline {
		return protect(func() error { return half(ctx, work) })
	}
	var settled atomic.Bool // by whichever is first: the hook's end, or our patience's
	ended := make(chan error, 1)
	go func() {
		err := errEnded
		defer func() {
			if settled.Swap(true) {
				r.hung(e, -1)
				return
			}
			ended <- err
		}()
		err = protect(func() error { return half(ctx, work) })
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case err := <-ended:
		return err
	case <-patience.C:
	}
	r.hung(e, +1)
	if settled.Swap(true) {
		r.hung(e, -1)
		return <-ended
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
