package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/catalog"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/embeddings/builtin"
	"github.com/toolscout/toolscout/embeddings/embedtest"
)

func TestIndexerFollowsTheCatalog(t *testing.T) {
	t.Parallel()
	b := newIndexBundle(t, 30)
	told := make(chan string, 10)
	x := b.start(t, catalog.IndexConfig{Embedder: local(t), Publish: func(_ context.Context, e core.Event) error {
		told <- e.Type + " " + e.Subject + " " + durations.ReplaceAllString(string(e.Data), "")
		return nil
	}})
	b.settled(t, x, 30)
	if _, model, err := x.Active(); err != nil || model.Provider != "builtin" || !model.Active {
		t.Errorf("active model %+v, %v", model, err)
	}

	b.apply(t, postgres.ToolDiff{Upsert: b.make("more", 5), Remove: []string{b.tools(t)[0].ID}})
	x.Poke()
	b.settled(t, x, 34)
	b.finds(t, x, "more_3")
	name := builtin.Name
	for _, want := range []string{
		"index:progress " + name + ` {"indexed":30,"model":"` + name + `","total":30}`,
		"index:completed " + name + ` {"indexed":30,"model":"` + name + `"}`,
		"index:completed " + name + ` {"indexed":5,"model":"` + name + `"}`,
	} {
		got := <-told
		if strings.HasPrefix(got, "index:progress") && !strings.HasPrefix(want, "index:progress") {
			got = <-told // a second has passed since the first
		}
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestIndexerIsSilentWhenThereIsNothingToIndex, also on its way past what is done.
func TestIndexerIsSilentWhenThereIsNothingToIndex(t *testing.T) {
	t.Parallel()
	b := newIndexBundle(t, 30)
	b.indexOnce(t, local(t), 30)
	var told []string
	x := catalog.NewIndexer(catalog.IndexConfig{Store: b.store, Embedder: local(t), Publish: func(_ context.Context, e core.Event) error {
		told = append(told, e.Type+" "+string(e.Data))
		return nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	err := x.WaitActive(t.Context(), local(t).Name())
	if err == nil {
		err = x.Wait(t.Context())
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err != nil || len(told) > 0 {
		t.Errorf("%v, told %q, want nothing", err, told)
	}
}

var durations = regexp.MustCompile(`"durationMs":[0-9]+,`)

func TestIndexerGoesOnWhereAnotherWasInterrupted(t *testing.T) {
	t.Parallel()
	b := newIndexBundle(t, 500) // four steps of a remote model
	service := embedtest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	interrupted := &interrupting{Embedder: remote(t, service, "m"), after: 2, interrupt: cancel}
	if err := catalog.NewIndexer(catalog.IndexConfig{Store: b.store, Embedder: interrupted}).Run(ctx); err != nil {
		t.Fatal(err)
	}
	models, err := b.store.Models(t.Context())
	if err != nil || len(models) != 1 {
		t.Fatalf("models %v, %v", models, err)
	}
	pending, _, err := b.store.CountPending(t.Context(), models[0].ID)
	if err != nil || pending == 0 || pending == 500 {
		t.Fatalf("%d pending after the interruption, %v", pending, err)
	}
	before := inputs(service)
	b.settled(t, b.start(t, catalog.IndexConfig{Embedder: remote(t, service, "m")}), 500)
	if again := inputs(service) - before - 1; again != pending { // and one probe
		t.Errorf("%d tools were embedded, %d were pending", again, pending)
	}
}

func TestIndexerSwitchesModelsWhenTheNewOneIsComplete(t *testing.T) {
	t.Parallel()
	b := newIndexBundle(t, 300)
	b.indexOnce(t, local(t), 300)

	service := embedtest.New(t)
	gate := &gated{Embedder: remote(t, service, "big"), reached: make(chan struct{}), open: make(chan struct{})}
	x := b.start(t, catalog.IndexConfig{Embedder: gate, Make: func(_ context.Context, m core.Model) (embeddings.Embedder, error) { return local(t), nil }})
	<-gate.reached // some vectors are there, some not
	e, model, err := x.Active()
	if err != nil || model.Provider != "builtin" || e.Name() != builtin.Name {
		t.Fatalf("in the middle %+v is active, %v", model, err)
	}
	if status := b.status(t, x); status.State != "running" || status.Model != "openai/big" || status.Indexed == 300 || status.StartedAt == nil {
		t.Errorf("status in the middle %+v", status)
	}
	// What comes in the middle is found with the old model at once.
	b.apply(t, postgres.ToolDiff{Upsert: b.make("late", 1)})
	close(gate.open)
	b.settled(t, x, 301)
	if _, model, err := x.Active(); err != nil || model.Provider != "openai" || model.Name != "big" {
		t.Errorf("at the end %+v is active, %v", model, err)
	}
	b.finds(t, x, "late_0")
}

// TestProgressIsOfTheConfiguredModel, also while the active one is kept in step.
func TestProgressIsOfTheConfiguredModel(t *testing.T) {
	t.Parallel()
	b := newIndexBundle(t, 30)
	b.indexOnce(t, local(t), 30)
	b.apply(t, postgres.ToolDiff{Upsert: b.make("late", 1)})
	told := make(chan string, 10)
	x := b.start(t, catalog.IndexConfig{Embedder: slanted(t, "next", 0, 224),
		Make: func(context.Context, core.Model) (embeddings.Embedder, error) { return local(t), nil },
		Publish: func(_ context.Context, e core.Event) error {
			told <- e.Type + " " + e.Subject
			return nil
		}})
	b.settled(t, x, 31)
	if got := <-told; got != "index:progress test/next" {
		t.Errorf("first it told %s", got)
	}
}

func TestIndexerWaitsForItsService(t *testing.T) {
	t.Parallel()
	b := newIndexBundle(t, 3)
	service := embedtest.New(t)
	service.FailAlways(embedtest.Unauthorized)
	x := b.start(t, catalog.IndexConfig{Embedder: remote(t, service, "m")})
	if err := x.Wait(t.Context()); !errors.Is(err, core.UpstreamError) {
		t.Fatalf("Wait gives %v, want upstream_error", err)
	}
	if _, _, err := x.Active(); !errors.Is(err, core.Unavailable) {
		t.Errorf("Active gives %v, want unavailable", err)
	}
	if s := b.status(t, x); !strings.Contains(s.Error, "401") || s.Total != 3 || s.Indexed != 0 {
		t.Errorf("status %+v", s)
	}
	if err := x.Reindex(t.Context(), true); !errors.Is(err, core.Unavailable) {
		t.Errorf("Reindex gives %v, want unavailable", err)
	}
	service.FailAlways(embedtest.None)
	if err := x.Reindex(t.Context(), false); err != nil { // tries at once
		t.Fatal(err)
	}
	b.eventually(t, x, 3)
	if s := b.status(t, x); s.Error != "" {
		t.Errorf("status %+v", s)
	}
}

func TestIndexerLeavesOutWhatAModelRefuses(t *testing.T) {
	t.Parallel()
	b := newIndexBundle(t, 200)
	b.apply(t, postgres.ToolDiff{Upsert: []core.Tool{{Name: "poison", OriginName: "poison", Description: "poison"}}})
	x := b.start(t, catalog.IndexConfig{Embedder: &refusing{Embedder: local(t), word: "poison"}})
	if err := x.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := b.status(t, x); s.State != "idle" || s.Indexed != 200 || s.Total != 201 || s.Failed != 1 {
		t.Errorf("status %+v", s)
	}
}

func TestIndexerBlamesAServiceThatRefusesEverything(t *testing.T) {
	t.Parallel()
	b := newIndexBundle(t, 200)
	refuses := &refusing{Embedder: local(t), word: "tool"}
	x := b.start(t, catalog.IndexConfig{Embedder: refuses})
	if err := x.Wait(t.Context()); !errors.Is(err, core.UpstreamError) {
		t.Errorf("Wait gives %v, want upstream_error", err)
	}
	if n := refuses.asked.Load(); n > 30 {
		t.Errorf("the service was asked %d times", n)
	}
}

func TestIndexerRefusesAnotherDimension(t *testing.T) {
	t.Parallel()
	b := newIndexBundle(t, 2)
	m, err := b.store.EnsureModel(t.Context(), "builtin", "words-256-v2", 300)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.store.ActivateModel(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	x := b.start(t, catalog.IndexConfig{Embedder: local(t)})
	if err := x.Wait(t.Context()); !errors.Is(err, core.Conflict) || !strings.Contains(err.Error(), "300 dimensions") {
		t.Errorf("Wait gives %v, want conflict", err)
	}
	if _, _, err := x.Active(); !errors.Is(err, core.Unavailable) {
		t.Errorf("Active gives %v, want unavailable: its queries would not fit the vectors", err)
	}
}

func TestReindexMakesEveryVectorAnew(t *testing.T) {
	t.Parallel()
	b := newIndexBundle(t, 10)
	service := embedtest.New(t)
	x := b.start(t, catalog.IndexConfig{Embedder: remote(t, service, "m")})
	b.settled(t, x, 10)
	before := inputs(service)
	if err := x.Reindex(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	b.settled(t, x, 10)
	if n := inputs(service) - before; n != 10 {
		t.Errorf("%d tools were embedded, want 10", n)
	}
}

// BenchmarkIndex gives the time for 10,000 tools with the built-in model.
func BenchmarkIndex(tb *testing.B) {
	for tb.Loop() {
		tb.StopTimer()
		b := newIndexBundle(tb, 10_000)
		x := catalog.NewIndexer(catalog.IndexConfig{Store: b.store, Embedder: local(tb)})
		ctx, cancel := context.WithCancel(tb.Context())
		tb.StartTimer()
		done := make(chan error, 1)
		go func() { done <- x.Run(ctx) }()
		if err := x.Wait(ctx); err != nil {
			tb.Fatal(err)
		}
		tb.StopTimer()
		cancel()
		<-done
		tb.StartTimer()
	}
}

// indexBundle is a store with tools of one server.
type indexBundle struct {
	store  *postgres.Store
	server core.Server
}

func newIndexBundle(t testing.TB, tools int) *indexBundle {
	t.Helper()
	return newIndexBundleOn(t, pgtest.URL(t), tools)
}

func newIndexBundleOn(t testing.TB, url string, tools int) *indexBundle {
	t.Helper()
	store, err := postgres.Open(t.Context(), url, postgres.Options{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	b := &indexBundle{store: store}
	b.server, err = b.store.CreateServer(t.Context(), core.AuditEntry{Action: "server.create"},
		core.Server{Name: "s", Transport: core.HTTP, URL: "http://127.0.0.1:1/"})
	if err != nil {
		t.Fatal(err)
	}
	b.apply(t, postgres.ToolDiff{Upsert: b.make("some", tools)})
	return b
}

// make makes tools that a model can tell apart.
func (b *indexBundle) make(what string, n int) []core.Tool {
	words := []string{"file", "mail", "weather", "invoice", "branch", "picture", "song", "ticket", "map", "price"}
	tools := make([]core.Tool, n)
	for i := range tools {
		name := fmt.Sprintf("%s_%d", what, i)
		tools[i] = core.Tool{Name: name, OriginName: name, Definition: []byte(`{}`),
			Description: fmt.Sprintf("%s tool %d for %s and %s", what, i, words[i%10], words[i/10%10])}
	}
	return tools
}

func (b *indexBundle) apply(t testing.TB, diff postgres.ToolDiff) {
	t.Helper()
	b.applied(t, diff)
}

// applied is apply, and gives the revision from which on it counts.
func (b *indexBundle) applied(t testing.TB, diff postgres.ToolDiff) int64 {
	t.Helper()
	revision, err := b.store.ApplyTools(t.Context(), b.server.ID, diff)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func (b *indexBundle) tools(t *testing.T) []core.Tool {
	t.Helper()
	tools, err := b.store.ServerTools(t.Context(), b.server.ID)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func (b *indexBundle) named(t *testing.T, name string) core.Tool {
	t.Helper()
	for _, tool := range b.tools(t) {
		if tool.Name == name {
			return tool
		}
	}
	t.Fatalf("there is no tool %s", name)
	return core.Tool{}
}

// start runs an indexer until the test ends.
func (b *indexBundle) start(t *testing.T, cfg catalog.IndexConfig) *catalog.Indexer {
	cfg.Store = b.store
	x := catalog.NewIndexer(cfg)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return x
}

// indexOnce indexes as a process does that has ended since.
func (b *indexBundle) indexOnce(t *testing.T, e embeddings.Embedder, want int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	x := catalog.NewIndexer(catalog.IndexConfig{Store: b.store, Embedder: e})
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	b.settled(t, x, want)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// settled waits for the index and holds that it is complete.
func (b *indexBundle) settled(t *testing.T, x *catalog.Indexer, want int) {
	t.Helper()
	if err := x.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := b.status(t, x); s.State != "idle" || s.Indexed != want || s.Total != want || s.Failed != 0 {
		t.Fatalf("status %+v, want %d indexed", s, want)
	}
}

// eventually waits over the failures of a service that recovers.
func (b *indexBundle) eventually(t *testing.T, x *catalog.Indexer, want int) {
	t.Helper()
	for x.Wait(t.Context()) != nil {
	}
	b.settled(t, x, want)
}

func (b *indexBundle) status(t *testing.T, x *catalog.Indexer) core.IndexStatus {
	t.Helper()
	s, err := x.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// finds holds that a tool is near its own description, by the active model.
func (b *indexBundle) finds(t *testing.T, x *catalog.Indexer, name string) {
	t.Helper()
	e, model, err := x.Active()
	if err != nil {
		t.Fatal(err)
	}
	tool := b.named(t, name)
	vectors, err := e.Embed(t.Context(), []string{tool.Description})
	if err != nil {
		t.Fatal(err)
	}
	found, err := b.store.Nearest(t.Context(), postgres.NearestQuery{ModelID: model.ID, Servers: postgres.ParseServers([]string{b.server.ID}),
		Vectors: vectors, Limit: 5, Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(found, func(c postgres.ToolCosines) bool { return c.ToolID.String() == tool.ID }) {
		t.Errorf("nearest %+v, want %s among them", found, tool.ID)
	}
}

func local(t testing.TB) embeddings.Embedder {
	t.Helper()
	e, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func remote(t *testing.T, s *embedtest.Server, model string) *embeddings.HTTP {
	t.Helper()
	e, err := embeddings.NewHTTP(embeddings.HTTPConfig{Provider: embeddings.OpenAI, BaseURL: s.URL + "/v1", Model: model, Client: http.DefaultClient})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// inputs counts the texts that a service was sent.
func inputs(s *embedtest.Server) int {
	n := 0
	for _, r := range s.Requests() {
		n += len(r.Input)
	}
	return n
}

// interrupting ends the world after some steps.
type interrupting struct {
	embeddings.Embedder
	after     int
	interrupt context.CancelFunc
}

func (i *interrupting) Probe(ctx context.Context) error {
	return i.Embedder.(*embeddings.HTTP).Probe(ctx)
}

func (i *interrupting) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if i.after--; i.after < 0 {
		i.interrupt()
		return nil, ctx.Err()
	}
	return i.Embedder.Embed(ctx, texts)
}

// gated stops before its second step until it is opened.
type gated struct {
	embeddings.Embedder
	steps         atomic.Int32
	reached, open chan struct{}
}

func (g *gated) Probe(ctx context.Context) error { return g.Embedder.(*embeddings.HTTP).Probe(ctx) }

func (g *gated) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) > 1 && g.steps.Add(1) == 2 {
		close(g.reached)
		<-g.open
	}
	return g.Embedder.Embed(ctx, texts)
}

// refusing refuses texts with a word in them, as a service refuses what is too
// long.
type refusing struct {
	embeddings.Embedder
	word  string
	asked atomic.Int32
}

func (r *refusing) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	r.asked.Add(1)
	for _, text := range texts {
		if strings.Contains(text, r.word) {
			return nil, core.Errorf(core.UpstreamError, "the embedding service answered 400")
		}
	}
	return r.Embedder.Embed(ctx, texts)
}
