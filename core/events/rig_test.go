package events_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/events"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

// instance is a bus with a store of its own, running.
type instance struct {
	*events.Bus
	store *postgres.Store
	// stop ends Run and waits for it.
	stop func()
}

func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(context.Background(), url, postgres.Options{MaxConns: 12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

// newInstance starts one more instance on a database.
func newInstance(t testing.TB, url string, change ...func(*events.Config)) *instance {
	t.Helper()
	store := open(t, url)
	c := events.Config{Store: store, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, f := range change {
		f(&c)
	}
	bus := events.New(c)
	ctx, cancel := context.WithCancel(context.Background())
	running, listening := make(chan error, 1), make(chan error, 1)
	go func() { running <- bus.Run(ctx) }()
	go func() { listening <- store.Listen(ctx, bus.Notice) }()
	i := &instance{Bus: bus, store: store}
	stopped := false
	i.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-running; err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := <-listening; err != nil {
			t.Errorf("Listen: %v", err)
		}
	}
	t.Cleanup(func() {
		i.stop()
		if err := bus.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return i
}

func (i *instance) subscribe(t testing.TB, f events.Filter) *events.Subscription {
	t.Helper()
	s, err := i.Subscribe(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// read waits for n events.
func read(t testing.TB, s *events.Subscription, n int) []core.Event {
	t.Helper()
	var all []core.Event
	for len(all) < n {
		batch, err := s.Next(t.Context())
		if err != nil {
			t.Fatalf("after %d of %d events: %v", len(all), n, err)
		}
		if batch.Missed != nil {
			t.Fatalf("missed %+v", *batch.Missed)
		}
		all = append(all, batch.Events...)
	}
	if len(all) > n {
		t.Fatalf("got %d events, want %d", len(all), n)
	}
	return all
}

// numbered is an event that says which one it is.
func numbered(typ string, n int) core.Event {
	return core.Event{Type: typ, Subject: fmt.Sprint("subject ", n), Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
}

// number is what numbered said.
func number(t testing.TB, e core.Event) int {
	t.Helper()
	var data struct{ N int }
	if err := json.Unmarshal(e.Data, &data); err != nil {
		t.Fatal(err)
	}
	return data.N
}

func publish(t testing.TB, b *instance, e core.Event) {
	t.Helper()
	if err := b.PublishSync(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// last is the number of the last event there is.
func last(t testing.TB, b *instance) int64 {
	t.Helper()
	l, err := b.store.EventLog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l.Last
}

var newURL = pgtest.URL
