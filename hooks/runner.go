package hooks

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
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
	// Workers how many of them run at once (4). For the hooks that one user made it
	// is at most 64, and one at a time.
	Queue   int
	Workers int
	// OnDisable is told, once, when an entry is disabled by its own failure. The
	// cause is fit for strangers. A call waits for it.
	OnDisable func(e *Entry, cause *core.Error)
}

// Runner sends calls through chains. It owns everything that outlives a call:
// which entries are disabled, which hooks hang, and the background queue.
type Runner struct {
	config Config
	done   sync.WaitGroup // the background queue

	// known counts the states, so that a call whose hooks all work takes no lock.
	known atomic.Int64

	mu     sync.Mutex
	closed bool
	states map[edition]*state
	lanes  map[string]*lane
}

// edition is one version of an entry: an edit gives it another chance.
type edition struct {
	key     string
	version int64
}

// state is what a Runner remembers of an entry that is not as it should be.
type state struct {
	cause   *core.Error // why it is disabled, nil if it is not
	since   time.Time
	hanging int
}

// maxHanging is how many runs of one hook may hang beyond their timeout before
// the hook is no longer started: each holds a goroutine.
const maxHanging = 64

// NewRunner makes a Runner. Close it.
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
	return &Runner{config: c, states: map[edition]*state{}, lanes: map[string]*lane{}}
}

// Close takes no more into the background queue and waits until it is empty. When
// ctx ends first it says how many hooks were not run.
func (r *Runner) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	idle := make(chan struct{})
	go func() { r.done.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("run hooks in the background: %d still waiting: %w", r.waiting(), ctx.Err())
	}
}

func (r *Runner) waiting() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lanes {
		n += len(l.jobs)
	}
	return n
}

// Disabled reports whether an entry was disabled by its own failure.
func (r *Runner) Disabled(e *Entry) bool {
	cause, _ := r.DisabledBy(e)
	return cause != nil
}

// DisabledBy gives the failure that an entry was disabled by, and when that was;
// nil when it is not disabled.
func (r *Runner) DisabledBy(e *Entry) (cause *core.Error, since time.Time) {
	if r.known.Load() == 0 {
		return nil, time.Time{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.states[e.edition()]; s != nil {
		return s.cause, s.since
	}
	return nil, time.Time{}
}

// change changes what is remembered of an entry.
func (r *Runner) change(e *Entry, f func(*state)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.states[e.edition()]
	if s == nil {
		s = &state{}
		r.states[e.edition()] = s
	}
	f(s)
	if s.cause == nil && s.hanging == 0 {
		delete(r.states, e.edition())
	}
	r.known.Store(int64(len(r.states)))
}

func (r *Runner) disable(e *Entry, cause *core.Error) {
	first := false
	r.change(e, func(s *state) {
		if first = s.cause == nil; first {
			s.cause, s.since = cause, time.Now()
		}
	})
	if !first {
		return
	}
	r.forget(e)
	r.config.Logger.Warn("hook disabled", "hook", e.Name, "hook_id", e.key(), "err", cause)
	if r.config.OnDisable != nil {
		r.config.OnDisable(e, cause)
	}
}

// forget drops what is known of other editions of an entry that was disabled, of
// which nothing runs any more: there is never more than one to remember.
func (r *Runner) forget(e *Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other, s := range r.states {
		if other.key == e.key() && other.version != e.Version && s.hanging == 0 {
			delete(r.states, other)
		}
	}
	r.known.Store(int64(len(r.states)))
}

// hung counts a run of e that did not end in time (+1) or has ended after all (-1).
func (r *Runner) hung(e *Entry, by int) { r.change(e, func(s *state) { s.hanging += by }) }

// usable reports whether e may be started.
func (r *Runner) usable(e *Entry) error {
	if r.known.Load() == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.states[e.edition()]; s != nil && s.hanging >= maxHanging {
		return core.Errorf(core.Unavailable, "hook %q hangs in %d earlier calls", e.Name, s.hanging)
	}
	return nil
}
