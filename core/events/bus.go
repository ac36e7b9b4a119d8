// Package events is the one bus for everything that happens.
//
// An event is a row. Publishers hand it to a queue that is written in groups;
// what is made true by a transaction, such as a change of configuration, is
// announced in that transaction, by core/postgres. Rows become visible in the
// order of their numbers, so whoever goes on from a number misses nothing and sees
// nothing twice, on whichever instance.
//
//	Publish ─▶ queue ─▶ rows ─▶ notice ─▶ one reader per instance ─▶ subscriptions
//	                  (all instances)                             └▶ hooks (own events)
//
// A notice carries nothing but the last number, and nothing depends on its
// arrival: the reader also looks by itself. Nobody waits for a subscription: one
// that does not keep up is ended and told so, and goes on later from where it was.
package events

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
)

// Config holds a Bus's values; only Store is required.
type Config struct {
	Store *postgres.Store
	// Queue is how many events may wait to be stored (4096).
	Queue int
	// Buffer is how many events may wait in one subscription (1024).
	Buffer int
	// Retention is how long events are kept (24 h).
	Retention time.Duration
	// Handle is given every event that this instance stored, but for those of calls:
	// in order, one at a time, and each once. What it does delays the next event for
	// it, and nothing else.
	Handle func(context.Context, core.Event)
	Logger *slog.Logger
}

// Bus takes events in, stores them, and gives them out. It is safe for concurrent use.
type Bus struct {
	config Config
	store  *postgres.Store
	log    *slog.Logger

	// The way in.
	slots   *semaphore.Weighted
	kick    chan struct{} // capacity 1: something to store
	hurry   chan struct{} // capacity 1: somebody waits for it
	abandon context.CancelFunc
	stored  chan struct{} // closed when the writer has ended
	dropped atomic.Int64

	writing sync.Mutex
	pending []entry
	closing bool

	// The way out.
	wake  chan struct{} // capacity 1: there may be more to read
	ready chan struct{} // closed when seen is set, or Run has ended before

	mu      sync.Mutex
	seen    int64                  // everything up to here was given to the subscriptions that follow
	subs    map[*Subscription]bool // true for those that follow the reader
	stopped bool
	calls   time.Time // until when calls are announced because of us
}

// New starts the way in of a Bus: events can be published at once. Close it. The
// way out needs Run.
func New(c Config) *Bus {
	c.Queue = cmp.Or(c.Queue, 4096)
	c.Buffer = cmp.Or(c.Buffer, 1024)
	c.Retention = cmp.Or(c.Retention, 24*time.Hour)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &Bus{config: c, store: c.Store, log: c.Logger, slots: semaphore.NewWeighted(int64(c.Queue)),
		kick: make(chan struct{}, 1), hurry: make(chan struct{}, 1), abandon: cancel, stored: make(chan struct{}),
		wake: make(chan struct{}, 1), ready: make(chan struct{}), subs: map[*Subscription]bool{}}
	go b.write(ctx)
	return b
}

// Run reads what is stored and gives it to subscriptions and hooks, and deletes
// what is too old, until ctx ends. Then it ends every subscription, so that no
// stream holds up the end of the server. Call it once.
func (b *Bus) Run(ctx context.Context) error {
	defer b.stop()
	found := b.locate(ctx)
	close(b.ready)
	if !found {
		return nil
	}
	begin := b.seen
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { b.tail(ctx); return nil })
	g.Go(func() error { b.listen(ctx); return nil })
	g.Go(func() error { b.prune(ctx); return nil })
	if b.config.Handle != nil {
		g.Go(func() error { b.handle(ctx, begin); return nil })
	}
	return g.Wait()
}

var errStopping = core.Errorf(core.Unavailable, "the gateway is stopping").WithHint("connect again")

func (b *Bus) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
	for s := range b.subs {
		s.end(errStopping)
	}
}

// prune deletes old events, now and from time to time.
func (b *Bus) prune(ctx context.Context) {
	const every = 10 * time.Minute
	for {
		n, err := b.store.PruneEvents(ctx, time.Now().Add(-b.config.Retention))
		switch {
		case err != nil && ctx.Err() == nil:
			b.log.Warn("old events not deleted", "error", err)
		case n > 0:
			b.log.Debug("old events deleted", "events", n)
		}
		if !sleep(ctx, every) {
			return
		}
	}
}

// handle gives this instance's own events to hooks. It is a subscription like any
// other, but one that goes on where it was when it did not keep up.
func (b *Bus) handle(ctx context.Context, after int64) {
	for ctx.Err() == nil {
		s := b.subscribe(&Subscription{cursor: after, match: func(e *postgres.Event) bool { return e.Ours && !isCall(e.Type) }})
		after = b.handleFrom(ctx, s, after)
		s.Close()
	}
}

// handleFrom hands on what a subscription gives until it ends, and says up to where
// that was.
func (b *Bus) handleFrom(ctx context.Context, s *Subscription, after int64) int64 {
	for {
		batch, err := s.Next(ctx)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, errSlow) {
				b.log.Warn("events for hooks not read", "error", err)
				sleep(ctx, time.Second)
			}
			return after
		}
		if batch.Missed != nil {
			b.log.Error("events were deleted before hooks saw them", "after", batch.Missed.After, "until", batch.Missed.Until)
		}
		for _, e := range batch.Events {
			b.config.Handle(ctx, e)
		}
		after = batch.Last
	}
}

// sleep waits, and reports whether ctx has not ended meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
