package catalog_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/catalog"
	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/embeddings/builtin"
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

// TestAChoiceThatCannotBeMadeLeavesAllAsItWas: search goes on with the model before.
func TestAChoiceThatCannotBeMadeLeavesAllAsItWas(t *testing.T) {
	t.Parallel()
	b := newIndexBundle(t, 3)
	b.indexOnce(t, local(t), 3)
	x := b.start(t, catalog.IndexConfig{Embedder: local(t),
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
}
