package events_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/events"
	"github.com/toolscout/toolscout/core/postgres"
)

// TestAcrossInstances: what one instance publishes, subscribers of both get, in one
// order and as it was.
func TestAcrossInstances(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	one, other := newInstance(t, url), newInstance(t, url)
	near, far := one.subscribe(t, events.Filter{After: events.Latest}), other.subscribe(t, events.Filter{After: events.Latest})
	want := core.Event{Type: "deploy", Subject: "api", TenantID: core.DefaultTenant, UserID: "0190b2a4-0000-7000-8000-000000000001",
		ServerID: "0190b2a4-0000-7000-8000-000000000002", Data: []byte(`{"b":1.0,"a":"\u0000"}`)}
	publish(t, one, want)
	got := read(t, near, 1)
	if d := cmp.Diff(got[0], want, cmpopts.IgnoreFields(core.Event{}, "ID", "Time")); d != "" {
		t.Errorf("(-got +want)\n%s", d)
	}
	if got[0].ID == 0 || time.Since(got[0].Time) > time.Hour {
		t.Errorf("got number %d, time %v", got[0].ID, got[0].Time)
	}
	if d := cmp.Diff(read(t, far, 1), got); d != "" {
		t.Errorf("the other instance gives (-got +want)\n%s", d)
	}
	if near.Source() != far.Source() || near.Source() == "" {
		t.Errorf("sources %q and %q", near.Source(), far.Source())
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	bus := newInstance(t, newURL(t))
	for _, c := range []struct {
		name   string
		filter events.Filter
		want   []int
	}{
		{"all", events.Filter{}, []int{0, 1, 2}},
		{"types", events.Filter{Types: []string{"tool:*", "x"}}, []int{0, 2}},
		{"pattern", events.Filter{Pattern: "subject 1"}, []int{1}},
		{"both", events.Filter{Types: []string{"tool:*"}, Pattern: "* 2"}, []int{2}},
		{"none", events.Filter{Types: []string{"tool"}}, nil},
		{"another tenant", events.Filter{TenantID: "00000000-0000-0000-0000-000000000002"}, nil},
	} {
		after := last(t, bus)
		c.filter.After = events.Latest
		live := bus.subscribe(t, c.filter)
		for n, typ := range []string{"tool:a", "meta:a", "tool:b"} {
			publish(t, bus, numbered(typ, n))
		}
		c.filter.After = after
		late := bus.subscribe(t, c.filter)
		for name, s := range map[string]*events.Subscription{"live": live, "late": late} {
			got := []int(nil)
			for _, e := range read(t, s, len(c.want)) {
				got = append(got, number(t, e))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, %s: got %v, want %v", c.name, name, got, c.want)
			}
		}
	}
}

// TestResume cuts a reader off again and again while several instances publish, some
// within transactions that take their time: every event comes once.
func TestResume(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	buses := []*instance{newInstance(t, url), newInstance(t, url)}
	const writers, each = 6, 60
	const want = writers * each
	after := last(t, buses[0])
	buses[0].subscribe(t, events.Filter{After: after}) // from now on calls are announced too
	var writing sync.WaitGroup
	for w := range writers {
		bus := buses[w%2]
		writing.Go(func() {
			for n := range each {
				var err error
				switch w % 3 {
				case 0:
					err = bus.PublishSync(context.Background(), numbered("n", w*each+n))
				case 1:
					err = bus.Publish(context.Background(), numbered("n", w*each+n))
				default: // a transaction that holds other locks first
					_, err = bus.store.CreateUser(context.Background(), core.AuditEntry{Action: "test"}, core.User{Name: fmt.Sprint("user ", w, n)})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	seen, ids := map[int]int{}, []int64{}
	changes := 0
	for turn := 0; len(ids) < want; turn++ {
		s := buses[turn%2].subscribe(t, events.Filter{After: after})
		for range 1 + turn%3 {
			if len(ids) >= want {
				break
			}
			batch, err := s.Next(t.Context())
			if err != nil || batch.Missed != nil {
				t.Fatalf("got %+v, %v", batch, err)
			}
			// A connection that breaks in the middle of a batch.
			got := batch.Events[:1+turn%len(batch.Events)]
			for _, e := range got {
				ids = append(ids, e.ID)
				if e.Type == core.EventConfigChanged {
					changes++
				} else {
					seen[number(t, e)]++
				}
				after = e.ID
			}
			if len(got) < len(batch.Events) {
				break
			}
		}
		s.Close()
	}
	writing.Wait()
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != want {
		t.Errorf("%d events are not in order or not each once", len(ids))
	}
	if changes != want/3 || len(seen) != want*2/3 {
		t.Errorf("got %d changes and %d events, want %d and %d", changes, len(seen), want/3, want*2/3)
	}
	if after != last(t, buses[0]) {
		t.Errorf("the last was %d, want %d", after, last(t, buses[0]))
	}
}

// TestOrderOfCommits: a transaction that got its number first, and commits last,
// holds up the numbers behind it.
func TestOrderOfCommits(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	bus := newInstance(t, url)
	s := bus.subscribe(t, events.Filter{After: events.Latest})
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `select pg_advisory_xact_lock(hashtextextended('toolscout events', 0))`); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `insert into toolscout.events (tenant_id, type, data) values ($1, 'first', '{}')`, core.DefaultTenant); err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() { second <- bus.PublishSync(context.Background(), core.Event{Type: "second"}) }()
	for waiting := false; !waiting; {
		if err := conn.QueryRow(t.Context(), `select exists (select from pg_locks where locktype = 'advisory' and not granted
			and database = (select oid from pg_database where datname = current_database()))`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	got := read(t, s, 2)
	if got[0].Type != "first" || got[1].Type != "second" || got[0].ID >= got[1].ID {
		t.Errorf("got %+v", got)
	}
}

// TestSlow: who does not read is cut off with a reason, nobody waits for them, and
// they go on where they were.
func TestSlow(t *testing.T) {
	t.Parallel()
	bus := newInstance(t, newURL(t), func(c *events.Config) { c.Buffer = 10 })
	after := last(t, bus)
	slow, fast := bus.subscribe(t, events.Filter{After: events.Latest}), bus.subscribe(t, events.Filter{After: events.Latest})
	publish(t, bus, numbered("n", 0))
	read(t, slow, 1)
	read(t, fast, 1)
	// Only who has caught up can fall behind.
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if batch, err := slow.Next(ended); !errors.Is(err, context.Canceled) || batch.Last != after+1 {
		t.Fatalf("got %+v, %v", batch, err)
	}
	for n := 1; n <= 12; n++ {
		publish(t, bus, numbered("n", n))
		read(t, fast, 1)
	}
	<-slow.Gone()
	if _, err := slow.Next(t.Context()); !errors.Is(err, core.RateLimited) {
		t.Errorf("got %v", err)
	}
	again := bus.subscribe(t, events.Filter{After: after})
	if got := read(t, again, 13); number(t, got[12]) != 12 {
		t.Errorf("got %+v", got)
	}
}

// TestPruned: what was deleted since is told once, and the rest comes.
func TestPruned(t *testing.T) {
	t.Parallel()
	bus := newInstance(t, newURL(t))
	publish(t, bus, numbered("n", 0))
	after := last(t, bus)
	publish(t, bus, numbered("n", 1))
	gone := last(t, bus)
	if n, err := bus.store.PruneEvents(t.Context(), time.Now().Add(time.Minute)); err != nil || n != 2 {
		t.Fatalf("pruned %d, %v", n, err)
	}
	publish(t, bus, numbered("n", 2))
	s := bus.subscribe(t, events.Filter{After: after, Types: []string{"n"}})
	batch, err := s.Next(t.Context())
	if err != nil || batch.Missed == nil || *batch.Missed != (events.Gap{After: after, Until: gone, Reason: events.Pruned}) {
		t.Fatalf("got %+v, %v", batch, err)
	}
	if got := read(t, s, 1); number(t, got[0]) != 2 {
		t.Errorf("got %+v", got)
	}
	publish(t, bus, numbered("n", 3))
	if got := read(t, s, 1); number(t, got[0]) != 3 {
		t.Errorf("got %+v", got)
	}
	current := bus.subscribe(t, events.Filter{After: gone, Types: []string{"n"}})
	read(t, current, 2)
}

// TestUnknownNumber: a number that the database never gave does not silence a reader.
func TestUnknownNumber(t *testing.T) {
	t.Parallel()
	bus := newInstance(t, newURL(t))
	s := bus.subscribe(t, events.Filter{After: 1 << 40, Types: []string{"n"}})
	batch, err := s.Next(t.Context())
	if err != nil || batch.Missed == nil || batch.Missed.Reason != events.Unknown {
		t.Fatalf("got %+v, %v", batch, err)
	}
	publish(t, bus, numbered("n", 1))
	read(t, s, 1)
}

// TestListening: calls are announced from the moment that somebody wants them, on
// every instance, and whoever goes on from before is told that they were not.
func TestListening(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	one, other := newInstance(t, url), newInstance(t, url)
	secret := [32]byte{1}
	if err := one.store.EnsureAdmin(t.Context(), "root", secret); err != nil {
		t.Fatal(err)
	}
	listening := func(s *postgres.Store) bool {
		t.Helper()
		p, err := s.Authenticate(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		return p.Seen.Listening
	}
	publish(t, one, numbered("n", 1))
	before := last(t, one)
	publish(t, one, numbered("n", 2))
	one.subscribe(t, events.Filter{After: events.Latest, Types: []string{"server:*"}})
	if listening(one.store) || listening(other.store) {
		t.Error("calls are announced although nobody wants them")
	}
	s := one.subscribe(t, events.Filter{After: before, Types: []string{"tool:a*"}})
	if !listening(one.store) || !listening(other.store) {
		t.Error("calls are not announced")
	}
	batch, err := s.Next(t.Context())
	if err != nil || batch.Missed == nil || batch.Missed.Reason != events.NotCalled || batch.Missed.After != before {
		t.Fatalf("got %+v, %v", batch, err)
	}
	if batch.Last != before {
		t.Errorf("the stream would go on after %d, want %d", batch.Last, before)
	}
	after := last(t, one)
	publish(t, other, numbered("tool:after", 3))
	read(t, s, 1)
	read(t, other.subscribe(t, events.Filter{After: after, Types: []string{"tool:*"}}), 1)
}

// TestStop: when the bus stops every subscription ends, also one that has not
// caught up, and what is published later is refused.
func TestStop(t *testing.T) {
	t.Parallel()
	bus := newInstance(t, newURL(t))
	s, early := bus.subscribe(t, events.Filter{After: events.Latest}), bus.subscribe(t, events.Filter{})
	publish(t, bus, numbered("n", 1))
	read(t, s, 1)
	bus.stop()
	<-early.Gone()
	for _, s := range []*events.Subscription{s, early} {
		if _, err := s.Next(t.Context()); !errors.Is(err, core.Unavailable) {
			t.Errorf("got %v", err)
		}
	}
	late := bus.subscribe(t, events.Filter{After: events.Latest})
	if _, err := late.Next(t.Context()); !errors.Is(err, core.Unavailable) {
		t.Errorf("got %v", err)
	}
	if err := bus.Publish(t.Context(), numbered("n", 2)); err != nil {
		t.Errorf("what happens while the server stops is not taken: %v", err)
	}
	if err := bus.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := bus.Publish(t.Context(), numbered("n", 3)); !errors.Is(err, core.Unavailable) {
		t.Errorf("got %v", err)
	}
	stored, _, err := bus.store.Events(t.Context(), 0, 10)
	if err != nil || len(stored) != 2 {
		t.Errorf("got %d events, %v, want those from before Close", len(stored), err)
	}
}

// TestHandle: each instance hands on what it stored itself, those of calls
// excepted, whether it was published or made true by a transaction.
func TestHandle(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	type handled struct {
		by int
		e  core.Event
	}
	got := make(chan handled, 100)
	var buses []*instance
	for n := range 2 {
		buses = append(buses, newInstance(t, url, func(c *events.Config) {
			c.Buffer = 3
			c.Handle = func(_ context.Context, e core.Event) { got <- handled{n, e} }
		}))
		// Handling begins where the reader does.
		buses[n].subscribe(t, events.Filter{After: events.Latest})
	}
	for n := range 20 {
		if err := buses[n%2].Publish(t.Context(), numbered("n", n)); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, buses[0], numbered(core.EventToolAfter, 99))
	if _, err := buses[1].store.CreateUser(t.Context(), core.AuditEntry{Action: "user.create"}, core.User{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	seen := map[int]int{}
	for range 21 {
		h := <-got
		if h.e.Type == core.EventConfigChanged {
			if h.by != 1 {
				t.Errorf("a change was handled by instance %d", h.by)
			}
			continue
		}
		n := number(t, h.e)
		if seen[n]++; seen[n] > 1 || n%2 != h.by || n == 99 {
			t.Errorf("event %d was handled by instance %d", n, h.by)
		}
	}
}

// TestPublish_refuses what can be no event.
func TestPublish_refuses(t *testing.T) {
	t.Parallel()
	bus := newInstance(t, newURL(t))
	for name, e := range map[string]core.Event{
		"no type":       {},
		"two lines":     {Type: "a\nb"},
		"long type":     {Type: strings.Repeat("a", 201)},
		"long subject":  {Type: "a", Subject: strings.Repeat("a", 1001)},
		"no object":     {Type: "a", Data: []byte(`[1]`)},
		"no JSON":       {Type: "a", Data: []byte(`{"a":}`)},
		"too much":      {Type: "a", Data: []byte(`{"a":"` + strings.Repeat("a", 80<<10) + `"}`)},
		"user's name":   {Type: "a", UserID: "ann"},
		"server's name": {Type: "a", ServerID: "github"},
		"no tenant":     {Type: "a", TenantID: "00000000-0000-0000-0000-0000000000ff"},
	} {
		if err := bus.PublishSync(t.Context(), e); core.Public(err).Kind != core.InvalidParams && name != "no tenant" || err == nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// One that the database refuses takes nobody with it.
	good := make(chan error, 10)
	for n := range 10 {
		e := numbered("n", n)
		if n == 5 {
			e.TenantID = "00000000-0000-0000-0000-0000000000ff"
		}
		go func() { good <- bus.PublishSync(context.Background(), e) }()
	}
	failed := 0
	for range 10 {
		if <-good != nil {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d failed, want 1", failed)
	}
}

// TestFullQueue: while nothing can be stored publishers wait, and then are told;
// announcements are dropped and counted; nothing that was taken is lost.
func TestFullQueue(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	bus := newInstance(t, url, func(c *events.Config) { c.Queue = 2 })
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), `select pg_advisory_lock(hashtextextended('toolscout events', 0))`); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if err := bus.Publish(t.Context(), numbered("n", n)); err != nil {
			t.Fatal(err)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := bus.Publish(short, numbered("n", 2)); !errors.Is(err, core.Unavailable) {
		t.Errorf("got %v", err)
	}
	bus.Announce(numbered(core.EventToolBefore, 3))
	if got := bus.Dropped(); got != 1 {
		t.Errorf("%d dropped, want 1", got)
	}
	if _, err := conn.Exec(t.Context(), `select pg_advisory_unlock_all()`); err != nil {
		t.Fatal(err)
	}
	read(t, bus.subscribe(t, events.Filter{Types: []string{"n"}}), 2)
}
