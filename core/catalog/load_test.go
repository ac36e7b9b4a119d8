package catalog_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/catalog"
	"github.com/toolscout/toolscout/core/pace"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/embeddings"
)

// instance is the part of a server that indexes and searches: it follows the
// notices of the database as cmd/toolscout does.
type instance struct {
	store    *postgres.Store
	indexer  *catalog.Indexer
	pace     *pace.Pace
	engine   *search.Engine
	revision atomic.Int64 // the latest that it has heard of
	news     *sync.Cond   // it has heard of another
}

// hears returns when the instance has heard of a revision of the catalog.
func (in *instance) hears(ctx context.Context, revision int64) error {
	defer context.AfterFunc(ctx, in.news.Broadcast)()
	in.news.L.Lock()
	defer in.news.L.Unlock()
	for in.revision.Load() < revision && ctx.Err() == nil {
		in.news.Wait()
	}
	return ctx.Err()
}

// startInstance runs an instance with a store of its own until stop is called or
// the test ends.
func startInstance(t testing.TB, url string, e embeddings.Embedder, remake func(context.Context, core.Model) (embeddings.Embedder, error)) (in *instance, stop func()) {
	t.Helper()
	store, err := postgres.Open(t.Context(), url, postgres.Options{MaxConns: 16})
	if err != nil {
		t.Fatal(err)
	}
	in = &instance{store: store, news: sync.NewCond(&sync.Mutex{}), pace: pace.New()}
	in.indexer = catalog.NewIndexer(catalog.IndexConfig{Store: store, Embedder: e, Make: remake, Pace: in.pace})
	in.engine = search.New(search.Config{Store: store, Embedder: in.indexer.Active, Pace: in.pace})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	run := func(f func(context.Context) error) {
		running.Go(func() {
			if err := f(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	run(in.indexer.Run)
	run(in.engine.Run)
	run(func(ctx context.Context) error {
		return store.Listen(ctx, in.follow)
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		store.Close()
	})
	t.Cleanup(stop)
	return in, stop
}

func (in *instance) follow(notice string) {
	if strings.HasPrefix(notice, "events") {
		return
	}
	in.indexer.Poke()
	var revision int64
	if _, err := fmt.Sscanf(notice, "catalog %d", &revision); err != nil {
		return
	}
	in.news.L.Lock()
	in.revision.Store(revision)
	in.news.L.Unlock()
	in.news.Broadcast()
	in.engine.Heard(revision)
}

// answered is one search of a client.
type answered struct {
	due  time.Time
	took time.Duration // from when it was due
	bad  string        // what was wrong with the answer
}

// client searches at a steady rate, whether or not answers come back, as many
// people do together.
type client struct {
	in       *instance
	servers  []string
	mu       sync.Mutex
	answers  []answered
	quit     chan struct{}
	searches sync.WaitGroup
}

const perSecond = 40

func (in *instance) client(t testing.TB, servers []string) *client {
	c := &client{in: in, servers: servers, quit: make(chan struct{})}
	c.searches.Go(func() {
		tick := time.NewTicker(time.Second / perSecond)
		defer tick.Stop()
		due := time.Now()
		for i := 0; ; i++ {
			select {
			case <-c.quit:
				return
			case <-tick.C:
			}
			for now := time.Now(); !due.After(now); due = due.Add(time.Second / perSecond) {
				at, question := due, loadQuestions[i%len(loadQuestions)]
				c.searches.Go(func() { c.ask(t.Context(), at, question) })
			}
		}
	})
	return c
}

func (c *client) ask(ctx context.Context, due time.Time, question string) {
	answer, err := c.in.engine.Search(ctx, search.Query{Text: question, Servers: c.servers, AtLeast: c.in.revision.Load()})
	a := answered{due: due, took: time.Since(due)}
	switch {
	case err != nil:
		a.bad = err.Error()
	case answer.Degraded != "":
		a.bad = "without " + answer.Degraded
	case len(answer.Hits) == 0:
		a.bad = "empty"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = append(c.answers, a)
}

func (c *client) stop() {
	close(c.quit)
	c.searches.Wait()
}

// between gives how long the searches of a time took, and how many were bad.
func (c *client) between(b *testing.B, from, to time.Time) (took []time.Duration, bad int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.answers {
		if a.due.Before(from) || !a.due.Before(to) {
			continue
		}
		took = append(took, a.took)
		if a.bad != "" {
			bad++
			b.Logf("after %v: %s", a.due.Sub(from).Round(time.Millisecond), a.bad)
		}
	}
	return took, bad
}

// loadQuestions are of one need and of several.
var loadQuestions = []string{
	"find a file by name", "create an issue in a repository", "what will the weather be like tomorrow",
	"send an email to a colleague", "list all tables of the database", "take a screenshot of a web page",
	"convert a document to pdf and then mail it to the team", "play a song", "book a room for a meeting",
	"Look up the order of a customer. Then refund it, and tell the customer by mail.",
}
