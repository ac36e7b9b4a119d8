package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/toolscout/toolscout/core"
)

// limiter bounds how many calls of one caller run at once.
type limiter struct {
	each int

	mu      sync.Mutex
	callers map[string]*caller
}

// caller is somebody with at least one call running or waiting.
type caller struct {
	slots chan struct{}
	users int
}

func newLimiter(each int) *limiter { return &limiter{each: each, callers: map[string]*caller{}} }

// enter takes a slot, waiting for it no longer than d: Unavailable then. The
// function it gives frees the slot.
func (l *limiter) enter(ctx context.Context, id string, d time.Duration) (func(), error) {
	c := l.join(id)
	leave := func() { <-c.slots; l.part(id) }
	select {
	case c.slots <- struct{}{}:
		return leave, nil
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		return leave, nil
	case <-ctx.Done():
		l.part(id)
		return nil, core.Errorf(core.Unavailable, "you have %d calls running, and none ended in time", l.each).Because(ctx.Err())
	}
}

func (l *limiter) join(id string) *caller {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.callers[id]
	if c == nil {
		c = &caller{slots: make(chan struct{}, l.each)}
		l.callers[id] = c
	}
	c.users++
	return c
}

func (l *limiter) part(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.callers[id]; c != nil {
		if c.users--; c.users == 0 {
			delete(l.callers, id)
		}
	}
}
