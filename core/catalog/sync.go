package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/pace"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/upstream"
)

const (
	defaultInterval = 5 * time.Minute
	// workers is how many servers are listed at once in the background. Somebody
	// who waits for Sync takes none of these places.
	workers = 8
	// syncTimeout bounds one look at a server: a start by npx takes up to a minute.
	syncTimeout = 3 * time.Minute
	// firstRetry is the pause after a first failure; it doubles up to the interval.
	firstRetry = 5 * time.Second
	// A server that says at every look that its tools have changed, when they have
	// not, is looked at after a pause that doubles from the first to the longest.
	firstGap, longestGap = time.Second, time.Minute
	// storeTimeout bounds one question of ours to the database, where nobody's
	// deadline does. It is for one that is cut off: any other ends statements itself.
	storeTimeout = time.Minute
	// maxTries is how often a look begins anew because the server was edited meanwhile.
	maxTries = 3
)

// SyncConfig is what a Syncer works with. Store and Pool are required.
type SyncConfig struct {
	Store *postgres.Store
	Pool  *upstream.Pool
	// Poke, if set, is called after the tools of a server have changed.
	Poke func()
	// Pace, if set, is what searches and others that work in the background share.
	Pace *pace.Pace
	// Interval is how often every server is listed again (5 minutes), give or take
	// a fifth.
	Interval time.Duration
	Logger   *slog.Logger
}

// Syncer keeps the stored tools in step with what servers offer. A list that
// fails leaves everything as it was.
type Syncer struct {
	store    *postgres.Store
	pool     *upstream.Pool
	poke     func()
	pace     *pace.Pace
	interval time.Duration
	log      *slog.Logger
	quit     chan struct{} // closed when Run ends
	wake     chan struct{} // capacity 1: there is something in the queue

	mu      sync.Mutex
	ended   bool
	lanes   map[string]*lane
	queue   []string // no id twice
	records map[string]record
	timers  map[string]*time.Timer // of servers that are queued later
	flying  sync.WaitGroup
}

// lane is the traffic of one server: one look under way, and at most one that
// begins after it. Whoever asks while one is under way is told of the next, since
// the present one may have begun before what they want to see.
type lane struct {
	now, next *flight
}

// flight is one look at a server.
type flight struct {
	done   chan struct{}
	result SyncResult
	err    error
}

// NewSyncer makes a Syncer.
func NewSyncer(cfg SyncConfig) *Syncer {
	s := &Syncer{store: cfg.Store, pool: cfg.Pool, poke: cfg.Poke, pace: cfg.Pace, interval: cfg.Interval, log: cfg.Logger,
		quit: make(chan struct{}), wake: make(chan struct{}, 1),
		lanes: map[string]*lane{}, records: map[string]record{}, timers: map[string]*time.Timer{}}
	if s.poke == nil {
		s.poke = func() {}
	}
	if s.interval <= 0 {
		s.interval = defaultInterval
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

// Sync lists a server and writes what is different: one look at a time, begun
// after Sync was called. It goes on when ctx ends first, until it is done or Run
// ends. NotFound when there is no such server, Conflict when it is inactive;
// otherwise the errors of listing it.
func (s *Syncer) Sync(ctx context.Context, serverID string) (SyncResult, error) {
	f, err := s.board(ctx, serverID)
	if err != nil {
		return SyncResult{}, err
	}
	select {
	case <-f.done:
		return f.result, f.err
	case <-ctx.Done():
		return SyncResult{}, fmt.Errorf("wait for the list of a server: %w", ctx.Err())
	}
}

// board joins the next flight of a server, and starts it if none is under way.
func (s *Syncer) board(ctx context.Context, serverID string) (*flight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, core.Errorf(core.Unavailable, "the gateway is stopping")
	}
	l := s.lanes[serverID]
	if l == nil {
		l = &lane{now: newFlight()}
		s.lanes[serverID] = l
		s.flying.Go(func() { s.fly(context.WithoutCancel(ctx), serverID, l) })
		return l.now, nil
	}
	if l.next == nil {
		l.next = newFlight()
	}
	return l.next, nil
}

func newFlight() *flight { return &flight{done: make(chan struct{})} }

// fly carries out the flights of a lane until there is no next one.
func (s *Syncer) fly(ctx context.Context, serverID string, l *lane) {
	for f := l.now; f != nil; f = s.land(serverID, l) {
		f.result, f.err = s.look(ctx, serverID)
		s.remember(serverID, f.result, f.err)
	}
}

// land ends the present flight and gives the next one, nil when there is none.
func (s *Syncer) land(serverID string, l *lane) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(l.now.done)
	l.now, l.next = l.next, nil
	if l.now == nil {
		delete(s.lanes, serverID)
	}
	return l.now
}

// look lists a server once, in a time of its own.
func (s *Syncer) look(ctx context.Context, serverID string) (SyncResult, error) {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	go func() {
		select {
		case <-s.quit:
			cancel()
		case <-ctx.Done():
		}
	}()
	for try := 1; ; try++ {
		server, err := s.store.Server(ctx, core.DefaultTenant, serverID)
		if err != nil {
			return SyncResult{}, err
		}
		if server.Status != core.Active {
			return SyncResult{}, core.Errorf(core.Conflict, "server %q is inactive", server.Name)
		}
		started := time.Now()
		result, err := s.sync(ctx, &server)
		log := s.log.With("upstream", server.Name, "server_id", server.ID)
		switch {
		case err == nil:
			s.report(log, server.ID, result, time.Since(started))
			return result, nil
		case errors.Is(err, core.Conflict) && try < maxTries:
			continue // edited while it was listed: what was made of the list may be wrong
		case errors.Is(err, core.Conflict):
			err = core.Errorf(core.Unavailable, "server %q could not be listed: it is edited all the time", server.Name).Because(err)
		}
		if ctx.Err() == nil {
			log.Warn("server not listed", "error", err)
		}
		return SyncResult{}, err
	}
}

// report logs what is news: the first look, a difference, another warning.
func (s *Syncer) report(log *slog.Logger, serverID string, r SyncResult, took time.Duration) {
	s.mu.Lock()
	before := s.records[serverID]
	s.mu.Unlock()
	level := slog.LevelDebug
	if before.ended.IsZero() || r.differs() {
		level = slog.LevelInfo
	}
	log.Log(context.Background(), level, "server listed", "added", r.Added, "changed", r.Changed, "removed", r.Removed,
		"unchanged", r.Unchanged, "duration_ms", took.Milliseconds())
	if slices.Equal(before.warnings, r.Warnings) {
		return
	}
	for _, w := range r.Warnings {
		log.Warn("odd list of tools", "warning", w)
	}
}

// sync lists a server and writes the difference.
func (s *Syncer) sync(ctx context.Context, server *core.Server) (SyncResult, error) {
	withdrawn, err := s.withdraw(ctx, server)
	if err != nil {
		return SyncResult{}, err
	}
	listing, err := s.pool.List(ctx, server)
	if err != nil {
		return SyncResult{}, fmt.Errorf("list the tools of %q: %w", server.Name, err)
	}
	result, err := s.keep(ctx, server, listing.Tools)
	if err != nil {
		return SyncResult{}, err
	}
	result.Removed += withdrawn
	result.Warnings = append(listing.Warnings, result.Warnings...)
	if err := s.store.ApplyExtras(ctx, server.ID, storable(listing.Resources), storable(listing.Prompts)); err != nil {
		return SyncResult{}, fmt.Errorf("write the resources of %q: %w", server.Name, err)
	}
	return result, nil
}

// keep writes how a list of tools differs from what is stored.
func (s *Syncer) keep(ctx context.Context, server *core.Server, listed []json.RawMessage) (result SyncResult, err error) {
	var tools []core.Tool
	var warnings []string
	err = s.pace.Do(ctx, func() error {
		tools, warnings = Manifest(server, listed)
		return nil
	})
	if err != nil {
		return SyncResult{}, err
	}
	err = s.pace.Do(ctx, func() error {
		stored, err := s.store.ServerTools(ctx, server.ID)
		if err != nil {
			return fmt.Errorf("read the tools of %q: %w", server.Name, err)
		}
		var diff postgres.ToolDiff
		diff, result = Diff(stored, tools)
		diff.Version = server.Version
		result.Warnings = warnings
		if len(diff.Upsert)+len(diff.Remove) == 0 {
			return nil
		}
		if _, err := s.store.ApplyTools(ctx, server.ID, diff); err != nil {
			return fmt.Errorf("write the tools of %q: %w", server.Name, err)
		}
		s.poke()
		return nil
	})
	return result, err
}

// Withdraw removes the stored tools that a server's lists do not allow any more.
// It does not ask the server: what an admin has blocked is gone at once, also
// while the server is away. NotFound when there is no such server.
func (s *Syncer) Withdraw(ctx context.Context, serverID string) error {
	server, err := s.store.Server(ctx, core.DefaultTenant, serverID)
	if err != nil {
		return err
	}
	_, err = s.withdraw(ctx, &server)
	return err
}

func (s *Syncer) withdraw(ctx context.Context, server *core.Server) (removed int, err error) {
	if len(server.AllowedTools)+len(server.BlockedTools) == 0 {
		return 0, nil
	}
	stored, err := s.store.ServerTools(ctx, server.ID)
	if err != nil {
		return 0, fmt.Errorf("read the tools of %q: %w", server.Name, err)
	}
	diff := postgres.ToolDiff{Version: server.Version}
	for _, t := range stored {
		if !offered(server, t.OriginName) {
			diff.Remove = append(diff.Remove, t.ID)
		}
	}
	if len(diff.Remove) == 0 {
		return 0, nil
	}
	if _, err := s.store.ApplyTools(ctx, server.ID, diff); err != nil {
		return 0, fmt.Errorf("withdraw tools of %q: %w", server.Name, err)
	}
	return len(diff.Remove), nil
}

// Run lists every active server now and from time to time, and those in the
// queue, until ctx ends. It waits for everything it started. Call it once.
func (s *Syncer) Run(ctx context.Context) error {
	defer s.end()
	var group errgroup.Group
	group.SetLimit(workers)
	defer group.Wait()
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
			again.Reset(jitter(s.enqueueAll(ctx)))
		case <-s.wake:
			for id, ok := s.dequeue(); ok && ctx.Err() == nil; id, ok = s.dequeue() {
				group.Go(func() error {
					_, _ = s.Sync(ctx, id) // it was logged, and is tried again
					return nil
				})
			}
		}
	}
}

// enqueueAll queues every active server and says when to do so again.
func (s *Syncer) enqueueAll(ctx context.Context) time.Duration {
	asking, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	servers, _, err := s.store.AllServers(asking)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("servers not read", "error", err)
		}
		return min(firstRetry, s.interval)
	}
	for _, server := range servers {
		if server.Status == core.Active {
			s.Enqueue(server.ID)
		}
	}
	return s.interval
}

// end breaks off what is under way and waits for it.
func (s *Syncer) end() {
	s.mu.Lock()
	s.ended = true
	for _, timer := range s.timers {
		timer.Stop()
	}
	s.mu.Unlock()
	close(s.quit)
	s.flying.Wait()
}
