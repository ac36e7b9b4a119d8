package catalog_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/catalog"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/embeddings/builtin"
	"github.com/toolscout/toolscout/embeddings/embedtest"
)

// TestIndexersFollowAChoice: what is chosen, there and back, holds for every Indexer,
// and something can be searched with at every moment.
func TestIndexersFollowAChoice(t *testing.T) {
	t.Parallel()
	b := newIndexBundle(t, 300)
	var chosen atomic.Pointer[core.Model]
	choose := func(name string) { chosen.Store(&core.Model{Provider: "builtin", Name: name}) }
	choose("words-256-v2")
	config := catalog.IndexConfig{Embedder: local(t),
		Choose: func(context.Context) (core.Model, error) { return *chosen.Load(), nil },
		Make: func(_ context.Context, m core.Model) (embeddings.Embedder, error) {
			return local(t).(*builtin.Model).Named(m.Provider + "/" + m.Name), nil
		}}
	indexers := []*catalog.Indexer{b.start(t, config), b.start(t, config)}
	for _, name := range []string{"words-256-v2", "adapted", "again", "words-256-v2"} {
		choose(name)
		for _, x := range indexers {
			x.Poke()
		}
		for _, x := range indexers {
			for {
				e, model, err := x.Active()
				if model.Name == name && e.Name() == "builtin/"+name {
					break
				}
				if err != nil && name != "words-256-v2" {
					t.Fatalf("on the way to %s there is nothing to search with: %v", name, err)
				}
				if err := x.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				x.Poke() // the other one may have switched
			}
			b.finds(t, x, "some_7")
		}
	}
}

// TestAChoiceThatCannotBeMadeLeavesAllAsItWas: search goes on with the model before,
// and finds what is new.
func TestAChoiceThatCannotBeMadeLeavesAllAsItWas(t *testing.T) {
	t.Parallel()
	b := newIndexBundle(t, 3)
	b.indexOnce(t, local(t), 3)
	failed := make(failures)
	x := b.start(t, catalog.IndexConfig{Embedder: local(t), Logger: failed.logger(t),
		Choose: func(context.Context) (core.Model, error) { return core.Model{Provider: "builtin", Name: "lost"}, nil },
		Make: func(_ context.Context, m core.Model) (embeddings.Embedder, error) {
			return nil, core.Errorf(core.Unavailable, "the table of %s is lost", m.Name)
		}})
	if err := x.Wait(t.Context()); !errors.Is(err, core.Unavailable) {
		t.Errorf("waited for %v", err)
	}
	if e, _, err := x.Active(); err != nil || e.Name() != builtin.Name {
		t.Errorf("%v, %v is active", e, err)
	}
	b.apply(t, postgres.ToolDiff{Upsert: b.make("late", 1)})
	failed.again(t, x)
	b.finds(t, x, "late_0")
}

// TestWhatIsSearchedWithIsKeptInStep while another model is away, and while its vectors
// are made.
func TestWhatIsSearchedWithIsKeptInStep(t *testing.T) {
	t.Parallel()
	b := newIndexBundle(t, 300) // three steps of a remote model
	b.indexOnce(t, local(t), 300)
	service := embedtest.New(t)
	service.FailAlways(embedtest.Unauthorized)
	big := &stepping{HTTP: remote(t, service, "big"), steps: make(chan struct{}), free: make(chan struct{})}
	failed := make(failures)
	x := b.start(t, catalog.IndexConfig{Embedder: big, Logger: failed.logger(t),
		Make: func(context.Context, core.Model) (embeddings.Embedder, error) { return local(t), nil }})
	finds := func(name string) {
		t.Helper()
		if _, active, err := x.Active(); err != nil || active.Provider != "builtin" {
			t.Fatalf("%+v, %v is active", active, err)
		}
		b.finds(t, x, name)
	}
	b.apply(t, postgres.ToolDiff{Upsert: b.make("away", 1)})
	failed.again(t, x)
	finds("away_0")

	service.FailAlways(embedtest.None)
	failed.ignore(t)
	if err := x.Reindex(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	<-big.steps // begins the first step
	b.apply(t, postgres.ToolDiff{Upsert: b.make("midway", 1)})
	big.steps <- struct{}{}
	<-big.steps // begins the second
	finds("midway_0")
	close(big.free)
	big.steps <- struct{}{}
	b.eventually(t, x, 302)
}

// failures hears of every pass that failed; the indexer waits until it has.
type failures chan struct{}

func (f failures) logger(t *testing.T) *slog.Logger {
	return slog.New(hearing{slog.DiscardHandler, t.Context(), f})
}

// again returns when a pass has failed that began after now.
func (f failures) again(t *testing.T, x *catalog.Indexer) {
	t.Helper()
	for range 3 { // one is done, and another may be under way
		if err := x.Reindex(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		<-f
	}
}

// ignore lets further passes fail.
func (f failures) ignore(t *testing.T) {
	go func() {
		for {
			select {
			case <-f:
			case <-t.Context().Done():
				return
			}
		}
	}()
}

type hearing struct {
	slog.Handler
	ctx    context.Context
	failed failures
}

func (h hearing) Enabled(context.Context, slog.Level) bool { return true }

func (h hearing) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "indexing failed, will be tried again" {
		select {
		case h.failed <- struct{}{}:
		case <-h.ctx.Done():
		}
	}
	return nil
}

// stepping tells of each step as it begins, and goes on when it is told to.
type stepping struct {
	*embeddings.HTTP
	steps, free chan struct{}
}

func (s *stepping) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) > 1 {
		select {
		case s.steps <- struct{}{}:
			<-s.steps
		case <-s.free:
		}
	}
	return s.HTTP.Embed(ctx, texts)
}
