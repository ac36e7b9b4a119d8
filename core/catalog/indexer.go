package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/pace"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/embeddings"
)

const (
	// idlePause is how long an Indexer rests before it looks by itself: another
	// instance may have changed tools or the model.
	idlePause = time.Minute
	// The pauses after failures double from the first to the longest.
	firstPause, longestPause = time.Second, time.Minute
	// queryCache is how many queries are remembered for a model behind a service.
	queryCache = 1000
)

// IndexConfig is what an Indexer works with. Store and Embedder are required.
type IndexConfig struct {
	Store *postgres.Store
	// Embedder is the model to index with.
	Embedder embeddings.Embedder
	// Choose, if set, names the model to index with in place of Embedder; Make makes
	// it. It is asked whenever the Indexer looks, so that a choice in the database holds
	// for every instance.
	Choose func(context.Context) (core.Model, error)
	// Make, if set, makes a model on record again, so that it can be searched with
	// until the vectors of Embedder are complete.
	Make func(context.Context, core.Model) (embeddings.Embedder, error)
	// Publish, if set, makes known how indexing comes along.
	Publish func(context.Context, core.Event) error
	// Pace, if set, is what searches and others that work in the background share.
	Pace   *pace.Pace
	Logger *slog.Logger
}

// Indexer sees to it that every tool has a vector. All it knows is in the
// database, so it goes on where another one was interrupted, and several may work
// at once: what one saves is not pending for the next.
//
// When the configured model is not the active one, its vectors are made beside
// those of the active one, which is kept in step and searched with until then.
type Indexer struct {
	store    *postgres.Store
	choose   func(context.Context) (core.Model, error) // nil: embedder stays
	remake   func(context.Context, core.Model) (embeddings.Embedder, error)
	publish  func(context.Context, core.Event) error
	pace     *pace.Pace
	log      *slog.Logger
	wake     chan struct{} // capacity 1: the catalog has changed
	again    chan struct{} // capacity 1: an admin asks
	building sync.WaitGroup

	// Of the goroutine of Run alone:
	places map[int64]postgres.Place // how far each model is done, by its id
	told   time.Time                // when progress last was
	census census

	mu       sync.Mutex
	embedder embeddings.Embedder // to index with; only Run changes it
	target   core.Model          // of embedder; its ID is 0 until it is on record
	served   served
	failed   map[toolModel]failure
	swept    time.Time // when everything was last looked at
	saved    time.Time // when vectors of the target last were
	running  bool
	switched bool // the target was activated; afterwards whichever is active is
	err      error
	started  *time.Time
	finished *time.Time
	index    vectorIndex
	moved    chan struct{} // closed and made anew whenever something has happened
}

// served is the active model, as searches use it.
type served struct {
	model    core.Model
	embedder embeddings.Embedder
	err      error
}

// NewIndexer makes an Indexer.
func NewIndexer(cfg IndexConfig) *Indexer {
	x := &Indexer{store: cfg.Store, embedder: cfg.Embedder, choose: cfg.Choose, remake: cfg.Make, publish: cfg.Publish, pace: cfg.Pace, log: cfg.Logger,
		wake: make(chan struct{}, 1), again: make(chan struct{}, 1), places: map[int64]postgres.Place{}, failed: map[toolModel]failure{}, moved: make(chan struct{})}
	if x.remake == nil {
		x.remake = func(_ context.Context, m core.Model) (embeddings.Embedder, error) {
			return nil, core.Errorf(core.Unavailable, "the model %s is not configured any more", fullName(m))
		}
	}
	if x.publish == nil {
		x.publish = func(context.Context, core.Event) error { return nil }
	}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	x.served.err = core.Errorf(core.Unavailable, "there is no embedding model yet")
	return x
}

// Run indexes what is pending, now and whenever there is more, until ctx ends.
// Failures are tried again after a growing pause. Call it once.
func (x *Indexer) Run(ctx context.Context) error {
	defer x.building.Wait()
	for failures := 0; ; {
		err := x.pass(ctx)
		if ctx.Err() != nil {
			return nil
		}
		wake, pause := x.wake, max(time.Until(x.sweepDue()), time.Second)
		failures++
		if err == nil {
			failures = 0
		} else {
			// A catalog that changes all the time must not make this a hot loop.
			x.forget()
			wake, pause = nil, max(jitter(min(firstPause<<min(failures-1, 10), longestPause)), core.Public(err).RetryAfter)
			x.log.Warn("indexing failed, will be tried again", "error", err, "retry_in", pause.String())
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-wake:
		case <-x.again:
			x.forget()
			x.census = census{} // vectors that it counted are to be made anew
		case <-timer.C:
		}
		timer.Stop()
	}
}

// forget makes the next pass look at everything.
func (x *Indexer) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.swept = time.Time{}
}

// Poke says that the catalog, or the active model, may have changed.
func (x *Indexer) Poke() { nudge(x.wake) }

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Active gives the model that searches use. An error means that there is none to
// ask at the moment.
func (x *Indexer) Active() (embeddings.Embedder, core.Model, error) {
	x.mu.Lock()
	s := x.served
	x.mu.Unlock()
	if s.err != nil {
		return nil, core.Model{}, s.err
	}
	if n := s.embedder.Dimensions(); n != 0 && n != s.model.Dimensions {
		return nil, core.Model{}, core.Errorf(core.Unavailable, "the model %s has %d dimensions on record and now gives %d",
			fullName(s.model), s.model.Dimensions, n)
	}
	return s.embedder, s.model, nil
}

// Reindex indexes what is pending at once, also when the last try failed; full
// makes every vector anew. It returns before that is done. Unavailable when the
// model is not known yet, because its service never answered.
func (x *Indexer) Reindex(ctx context.Context, full bool) error {
	x.mu.Lock()
	target, cause, name := x.target, x.err, x.embedder.Name()
	x.failed = map[toolModel]failure{}
	x.mu.Unlock()
	defer nudge(x.again)
	if !full {
		return nil
	}
	if target.ID == 0 {
		return core.Errorf(core.Unavailable, "the embedding model %s has not answered yet", name).Because(cause)
	}
	if err := x.store.OutdateVectors(ctx, target.ID); err != nil {
		return fmt.Errorf("mark every vector as out of date: %w", err)
	}
	return nil
}

// Status says how far the configured model has come.
func (x *Indexer) Status(ctx context.Context) (core.IndexStatus, error) {
	x.mu.Lock()
	target := x.target
	x.mu.Unlock()
	pending, total, err := x.store.CountPending(ctx, target.ID)
	if err != nil {
		return core.IndexStatus{}, fmt.Errorf("count what is pending: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	s := core.IndexStatus{Model: x.embedder.Name(), State: "idle", Total: total, Indexed: total - pending,
		Failed: min(x.failures(target.ID), pending), StartedAt: x.started, FinishedAt: x.finished}
	if x.running || pending > s.Failed || target.ID == 0 || !x.switched {
		s.State = "running"
	}
	if x.err != nil {
		s.Error = core.Public(x.err).Message
	}
	return s, nil
}

// Wait returns when nothing is pending but what cannot be embedded, or with the
// error that indexing met. It needs Run.
func (x *Indexer) Wait(ctx context.Context) error {
	for {
		x.mu.Lock()
		moved, failed, running := x.moved, x.err, x.running
		x.mu.Unlock()
		if !running { // to count takes a while, and searches feel it
			s, err := x.Status(ctx)
			switch {
			case err != nil:
				return err
			case s.State == "idle":
				return nil
			}
		}
		if failed != nil {
			return failed
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("wait for the index: %w", ctx.Err())
		}
	}
}

// move changes what others look at, and tells those who wait.
func (x *Indexer) move(change func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change()
	close(x.moved)
	x.moved = make(chan struct{})
}

// pass does all there is to do.
func (x *Indexer) pass(ctx context.Context) error {
	err := x.work(ctx)
	if ctx.Err() != nil {
		err = nil // interrupted, not failed
	}
	x.move(func() {
		x.err = err
		if x.running {
			now := time.Now()
			x.running, x.finished = false, &now
		}
	})
	return err
}

func (x *Indexer) work(ctx context.Context) error {
	if now := time.Now(); !x.sweepDue().After(now) {
		clear(x.places)
		x.mu.Lock()
		x.swept = now
		x.mu.Unlock()
	}
	// Searches can use what is there before the configured model has answered.
	if err := x.refresh(ctx); err != nil {
		return err
	}
	// Also while what is wanted cannot be had, new tools are to be found.
	if err := x.follow(ctx); err != nil {
		x.keepInStep(ctx, "")
		return err
	}
	target, err := x.prepare(ctx)
	if err != nil {
		x.keepInStep(ctx, x.embedder.Name())
		return err
	}
	if err := x.refresh(ctx); err != nil {
		return err
	}
	saved, err := x.fill(ctx, job{embedder: x.embedder, model: target, target: true})
	if err != nil {
		return err
	}
	return x.finish(ctx, target, saved)
}
