package events

import (
	"context"
	"slices"
	"sync"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/hooks"
)

// Latest, as the After of a Filter, is where events are that happen from now on.
const Latest = -1

// Filter says which events are wanted. It does not say which may be seen: that is
// the affair of whoever subscribes for somebody.
type Filter struct {
	TenantID string
	// Types are globs; none means all.
	Types []string
	// Pattern is a glob on the subject; "" means all.
	Pattern string
	// After is the number of the last event that was seen, 0 for all there are, or
	// Latest.
	After int64
}

// matches does not look at After.
func (f *Filter) matches(e *postgres.Event) bool {
	return e.TenantID == f.TenantID && f.wants(e.Type) && (f.Pattern == "" || hooks.Glob(f.Pattern, e.Subject))
}

func (f *Filter) wants(typ string) bool {
	return len(f.Types) == 0 || slices.ContainsFunc(f.Types, func(glob string) bool { return hooks.Glob(glob, typ) })
}

// isCall reports whether events of this type are those of calls.
func isCall(typ string) bool { return slices.Contains(callTypes, typ) }

// Batch is what a Subscription gives at once.
type Batch struct {
	// Missed, if set, is a gap that comes before further events; there are none with it.
	Missed *Gap
	// Events are in the order of their numbers.
	Events []core.Event
	// Last is the number up to which nothing more is to come: where to go on later.
	Last int64
}

// Gap is what a subscription that goes on from earlier cannot have any more:
// events with numbers above After, up to Until.
type Gap struct {
	After, Until int64
	Reason       string
}

// The reasons of gaps.
const (
	Pruned    = "deleted"            // older than events are kept
	NotCalled = "calls not recorded" // nobody listened, so calls were not announced
	Unknown   = "unknown number"     // the database never gave it: it was restored, say
)

var errSlow = core.Errorf(core.RateLimited, "the reader did not keep up").WithHint("connect again and go on from the last event")

// Subscription is a reader of events. One goroutine at a time may use it.
type Subscription struct {
	bus    *Bus
	source string
	match  func(*postgres.Event) bool
	calls  bool          // it wants the events of calls
	wake   chan struct{} // capacity 1
	gone   chan struct{} // closed when err is set

	// For whoever reads alone.
	cursor int64 // everything up to here was given
	live   bool  // what follows comes through the queue
	gaps   []Gap // still to be told

	mu    sync.Mutex
	queue []core.Event
	bytes int
	last  int64 // everything up to here is in the queue, or was
	err   error
}

// maxQueued bounds what waits in a subscription, in bytes of data.
const maxQueued = 8 << 20

// Subscribe begins to read. Every event that is stored after it returns is given,
// and if the filter wants calls, every call that begins after it returns is
// announced, on every instance. Unavailable when the database cannot be asked.
// Close the Subscription.
func (b *Bus) Subscribe(ctx context.Context, f Filter) (*Subscription, error) {
	f.TenantID = tenant(f.TenantID)
	f.Types = slices.Clone(f.Types)
	select {
	case <-b.ready:
	case <-ctx.Done():
		return nil, core.Errorf(core.Unavailable, "events cannot be read yet").Because(ctx.Err())
	}
	calls := slices.ContainsFunc(callTypes, f.wants)
	if calls {
		if err := b.listenToCalls(ctx); err != nil {
			return nil, err
		}
	}
	log, err := b.store.EventLog(ctx)
	if err != nil {
		return nil, err
	}
	s := b.subscribe(&Subscription{source: log.Source, match: f.matches, calls: calls, cursor: f.After})
	switch {
	case f.After < 0:
		s.cursor = log.Last
		return s, nil
	case f.After > log.Last:
		s.miss(log.Last, Unknown)
		return s, nil
	case f.After < log.Pruned:
		s.miss(log.Pruned, Pruned)
	}
	if calls && s.cursor < log.CallsSince {
		s.gaps = append(s.gaps, Gap{After: s.cursor, Until: log.CallsSince, Reason: NotCalled})
	}
	return s, nil
}

func tenant(id string) string {
	if id == "" {
		return core.DefaultTenant
	}
	return id
}

// subscribe makes a Subscription known that says what is fixed about it.
func (b *Bus) subscribe(s *Subscription) *Subscription {
	s.bus, s.wake, s.gone = b, make(chan struct{}, 1), make(chan struct{})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		s.fail(errStopping)
	}
	b.subs[s] = false
	return s
}

// Source names the database whose numbers these are.
func (s *Subscription) Source() string { return s.source }

// Position is the number after which the subscription begins. Ask before Next.
func (s *Subscription) Position() int64 {
	if len(s.gaps) > 0 {
		return s.gaps[0].After // whoever breaks off here is to be told of it again
	}
	return s.cursor
}

// Gone is closed when the subscription has been ended from the other side. Next
// says why.
func (s *Subscription) Gone() <-chan struct{} { return s.gone }

// Close ends the subscription.
func (s *Subscription) Close() {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	delete(s.bus.subs, s)
}

// Next waits for events. The error is that of ctx, after which it can be called
// again, or says why the subscription has ended: RateLimited when its reader did
// not keep up, Unavailable when the bus stops or the database cannot be read.
func (s *Subscription) Next(ctx context.Context) (Batch, error) {
	for !s.live {
		batch, err := s.catchUp(ctx)
		if err != nil || len(batch.Events) > 0 || batch.Missed != nil {
			return batch, err
		}
	}
	for {
		if batch, ok, err := s.take(); ok || err != nil {
			return batch, err
		}
		select {
		case <-s.wake:
			continue
		case <-s.gone:
			continue
		case <-ctx.Done():
		}
		batch, ok, err := s.take()
		if !ok && err == nil {
			err = ctx.Err()
		}
		return batch, err
	}
}

// catchUp reads a page of what was stored before the subscription is joined to the
// reader, or joins it.
func (s *Subscription) catchUp(ctx context.Context) (Batch, error) {
	if len(s.gaps) > 0 {
		gap := s.gaps[0]
		s.gaps = s.gaps[1:]
		return Batch{Missed: &gap, Last: s.cursor}, nil
	}
	seen := s.join()
	if s.live {
		return Batch{}, nil
	}
	if err := s.reason(); err != nil {
		return Batch{}, err
	}
	page, pruned, err := s.bus.store.Events(ctx, s.cursor, pageSize)
	if ctx.Err() != nil {
		return Batch{Last: s.cursor}, ctx.Err()
	}
	if err != nil {
		return Batch{}, err
	}
	if pruned > s.cursor {
		s.miss(pruned, Pruned)
		return Batch{}, nil
	}
	batch := Batch{}
	for i := range page {
		if page[i].ID > s.cursor && s.match(&page[i]) {
			batch.Events = append(batch.Events, page[i].Event)
		}
	}
	if n := len(page); n > 0 {
		s.cursor = max(s.cursor, page[n-1].ID)
	}
	if len(page) < pageSize { // there was no more, at least up to what was given to others before
		s.cursor = max(s.cursor, seen)
	}
	batch.Last = s.cursor
	return batch, nil
}

// miss goes on from a number with nothing of what is before it.
func (s *Subscription) miss(until int64, reason string) {
	s.gaps = append(s.gaps, Gap{After: s.cursor, Until: until, Reason: reason})
	s.cursor = until
}

// join has the subscription follow the reader if that is not ahead of it, and says
// how far the reader is.
func (s *Subscription) join() (seen int64) {
	b := s.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.cursor >= b.seen {
		s.live, s.last = true, s.cursor
		b.subs[s] = true
	}
	return b.seen
}

// reason is why the subscription has ended, nil while it has not.
func (s *Subscription) reason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// offer queues those events of a page that are wanted and new. It never waits: a
// subscription that is full is ended.
func (s *Subscription) offer(page []postgres.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	for i := range page {
		if page[i].ID <= s.last || !s.match(&page[i]) {
			continue
		}
		s.queue = append(s.queue, page[i].Event)
		s.bytes += len(page[i].Data)
	}
	s.last = max(s.last, page[len(page)-1].ID)
	if len(s.queue) > s.bus.config.Buffer || s.bytes > maxQueued {
		s.fail(errSlow)
		return
	}
	if len(s.queue) > 0 {
		nudge(s.wake)
	}
}

// take gives what is queued.
func (s *Subscription) take() (batch Batch, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return Batch{}, false, s.err
	}
	batch = Batch{Events: s.queue, Last: s.last}
	s.queue, s.bytes = nil, 0
	return batch, len(batch.Events) > 0, nil
}

// end ends the subscription for a reason.
func (s *Subscription) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.fail(err)
	}
}

// fail needs the mutex.
func (s *Subscription) fail(err error) {
	s.err, s.queue, s.bytes = err, nil, 0
	close(s.gone)
}
