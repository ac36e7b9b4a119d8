package hooks

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/toolscout/toolscout/core"
)

// Config holds a Runner's values. The zero Config is usable.
type Config struct {
	Logger *slog.Logger
	// Budget bounds the time that all hooks of one chain take together, the work
	// inside not counted; 30 s if zero.
	Budget time.Duration
	// Queue is how many calls may wait for hooks in background mode (1024), and
	// Workers how many of them run at once (4).
	Queue   int
	Workers int
	// OnDisable is told, once, when an entry is disabled by its own failure.
	OnDisable func(e *Entry, cause error)
}

// Runner sends calls through chains. It owns everything that outlives a call:
// which entries are disabled, which hooks hang, and the background queue.
type Runner struct {
	config Config
	jobs   chan job
	stop   chan struct{}
	done   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	states map[string]*state
}

// state is what a Runner remembers of an entry.
type state struct {
	version  int64
	disabled bool
	hanging  int
}

// maxHanging is how many runs of one hook may hang beyond their timeout before
// the hook is no longer started: each holds a goroutine.
const maxHanging = 64

// NewRunner starts a Runner. Close it.
func NewRunner(c Config) *Runner {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Budget <= 0 {
		c.Budget = 30 * time.Second
	}
	if c.Queue <= 0 {
		c.Queue = 1024
	}
	if c.Workers <= 0 {
		c.Workers = 4
	}
	r := &Runner{config: c, jobs: make(chan job, c.Queue), stop: make(chan struct{}), states: map[string]*state{}}
	for range c.Workers {
		r.done.Go(r.work)
	}
	return r
}

// Close waits until the background queue is empty; call it after the last Run
// has returned. When ctx ends first it says
// how many hooks were not run.
func (r *Runner) Close(ctx context.Context) error {
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	r.mu.Unlock()
	if first {
		close(r.stop)
	}
	idle := make(chan struct{})
	go func() { r.done.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("run hooks in the background: %d still waiting: %w", len(r.jobs), ctx.Err())
	}
}

// Disabled reports whether an entry was disabled by its own failure.
func (r *Runner) Disabled(e *Entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state(e).disabled
}

// state needs the mutex.
func (r *Runner) state(e *Entry) *state {
	s := r.states[e.key()]
	if s == nil {
		s = &state{version: e.Version}
		r.states[e.key()] = s
	}
	if s.version < e.Version {
		s.version, s.disabled = e.Version, false
	}
	return s
}

func (r *Runner) disable(e *Entry, cause error) {
	r.mu.Lock()
	s := r.state(e)
	first := !s.disabled
	s.disabled = true
	r.mu.Unlock()
	if !first {
		return
	}
	r.config.Logger.Warn("hook disabled", "hook", e.Name, "err", cause)
	if r.config.OnDisable != nil {
		r.config.OnDisable(e, cause)
	}
}

// hung counts a run of e that did not end in time (+1) or has ended after all (-1).
func (r *Runner) hung(e *Entry, by int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state(e).hanging += by
}

// usable reports whether e may be started.
func (r *Runner) usable(e *Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.state(e); s.hanging >= maxHanging {
		return core.Errorf(core.Unavailable, "hook %q hangs in %d earlier calls", e.Name, s.hanging)
	}
	return nil
}
