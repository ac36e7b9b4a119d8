package catalog_test

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/embeddings/builtin"
)

// TestSwitchUnderLoad changes the model, and changes it back, while instances are
// searched: one that stays, and those that bring another model. Every answer is
// the one that one of the models gives when nothing else goes on.
func TestSwitchUnderLoad(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	b := newIndexBundleOn(t, url, 300)
	left, right := slanted(t, "left", 0, 64), slanted(t, "right", 128, 224)
	remake := func(_ context.Context, m core.Model) (embeddings.Embedder, error) {
		if m.Name == "left" {
			return left, nil
		}
		return right, nil
	}
	stays, _ := startInstance(t, url, left, remake)
	waitIndexed(t, stays)

	asking, done := context.WithCancel(t.Context())
	defer done()
	var clients sync.WaitGroup
	answers := seen{of: map[string]int{}}
	load := func(in *instance) {
		for range 2 {
			clients.Go(func() {
				for asking.Err() == nil {
					answers.add(b.answer(t, in))
				}
			})
		}
	}
	load(stays)
	want := map[string]string{b.answer(t, stays): "left"}
	for _, next := range []*slant{right, left, right} {
		in, _ := startInstance(t, url, next, remake)
		waitIndexed(t, in)
		load(in)
		for _, each := range []*instance{stays, in} {
			if err := each.indexer.WaitActive(t.Context(), next.Name()); err != nil {
				t.Fatal(err)
			}
		}
		want[b.answer(t, in)] = next.name
	}
	done()
	clients.Wait()
	if len(want) != 2 {
		t.Errorf("at rest there are %d answers of two models", len(want))
	}
	for answer, times := range answers.of {
		if want[answer] == "" {
			t.Errorf("%d times an answer of neither model: %s", times, answer)
		}
		delete(want, answer)
	}
	if len(want) != 0 {
		t.Errorf("never searched with %v", want)
	}
}

// seen counts answers.
type seen struct {
	mu sync.Mutex
	of map[string]int
}

func (s *seen) add(answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[answer]++
}

// answer searches, mostly by vectors, and gives what was found in order. It holds
// that the search failed in no way.
func (b *indexBundle) answer(t *testing.T, in *instance) string {
	t.Helper()
	answer, err := in.engine.Search(t.Context(), search.Query{Text: "pay an invoice for a picture", Weight: .9,
		Servers: []string{b.server.ID}, AtLeast: in.revision.Load()})
	if err != nil || answer.Degraded != "" || len(answer.Hits) != 10 {
		t.Errorf("degraded %q, %d hits, %v", answer.Degraded, len(answer.Hits), err)
	}
	var ids []string
	for _, h := range answer.Hits {
		ids = append(ids, h.ToolID)
	}
	return strings.Join(ids, " ")
}

func waitIndexed(t testing.TB, in *instance) {
	t.Helper()
	if err := in.indexer.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestChangeReachesEveryInstance changes the description of a tool and finds it by
// it on two instances, which nobody asks to look.
func TestChangeReachesEveryInstance(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	b := newIndexBundleOn(t, url, 300)
	var instances []*instance
	for range 2 {
		in, _ := startInstance(t, url, local(t), nil)
		waitIndexed(t, in)
		instances = append(instances, in)
	}
	for _, does := range []string{"Folds origami cranes from paper", "Tunes the strings of a violin"} {
		tool := b.named(t, "some_7")
		tool.Description = does
		revision := b.applied(t, postgres.ToolDiff{Upsert: []core.Tool{tool}})
		for i, in := range instances {
			if err := in.hears(t.Context(), revision); err != nil {
				t.Fatal(err)
			}
			waitIndexed(t, in)
			for _, weight := range []float64{.001, .999} { // by words, by vector
				answer, err := in.engine.Search(t.Context(), search.Query{Text: does, Servers: []string{b.server.ID}, TopK: 1, Weight: weight})
				if err != nil || answer.Degraded != "" || len(answer.Hits) != 1 || answer.Hits[0].ToolID != tool.ID {
					t.Errorf("instance %d, weight %g: %+v, %v; want %s", i, weight, answer, err, tool.ID)
				}
			}
		}
	}
}

// slant is a model that sees some dimensions of the built-in one.
type slant struct {
	name     string
	from, to int
	whole    *builtin.Model
}

func slanted(t testing.TB, name string, from, to int) *slant {
	t.Helper()
	whole, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	return &slant{name, from, to, whole}
}

func (s *slant) Name() string    { return "test/" + s.name }
func (s *slant) Dimensions() int { return s.to - s.from }

func (s *slant) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := s.whole.Embed(ctx, texts)
	for i, v := range vectors {
		vectors[i] = v[s.from:s.to]
		var sum float64
		for _, x := range vectors[i] {
			sum += float64(x) * float64(x)
		}
		for j := range vectors[i] {
			vectors[i][j] /= float32(math.Sqrt(max(sum, 1e-12)))
		}
	}
	return vectors, err
}
