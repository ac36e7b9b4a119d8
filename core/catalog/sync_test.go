package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/catalog"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/upstream"
)

func TestSyncFollowsAServer(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	up := newUpstream(t, "read", "write")
	s := b.register(t, up.url, func(s *core.Server) { s.Prefix = "x_" })

	b.sync(t, s, catalog.SyncResult{Added: 2})
	before := b.tools(t, s)
	if diff := cmp.Diff([]string{"x_read", "x_write"}, names(before)); diff != "" {
		t.Fatalf("tools (-want +got):\n%s", diff)
	}
	if before[0].Signature != "(text: string)" || before[0].OriginName != "read" {
		t.Errorf("tool %+v", before[0])
	}
	_, revision := b.servers(t)
	b.sync(t, s, catalog.SyncResult{Unchanged: 2})
	if _, now := b.servers(t); now != revision {
		t.Errorf("a list without a difference moved the catalog from %d to %d", revision, now)
	}

	up.add("search", "finds")
	up.add("read", "reads otherwise")
	up.server.RemoveTools("write")
	b.sync(t, s, catalog.SyncResult{Added: 1, Changed: 1, Removed: 1})
	after := b.tools(t, s)
	if diff := cmp.Diff([]string{"x_read", "x_search"}, names(after)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if after[0].ID != before[0].ID || after[0].Description != "reads otherwise" || after[0].SchemaHash == before[0].SchemaHash {
		t.Errorf("changed tool %+v", after[0])
	}
	up.add("write", "writes")
	b.sync(t, s, catalog.SyncResult{Added: 1, Unchanged: 2})
	if back := b.tools(t, s)[2]; back.ID != before[1].ID {
		t.Errorf("the tool came back as %s, was %s", back.ID, before[1].ID)
	}
	if b.pokes.Load() != 3 {
		t.Errorf("the indexer was poked %d times, want 3", b.pokes.Load())
	}
}

func TestSyncLeavesTheCatalogWhenAServerIsAway(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	up := newUpstream(t, "read")
	s := b.register(t, up.url, nil)
	b.sync(t, s, catalog.SyncResult{Added: 1})
	up.broken.Store(true)
	if _, err := b.syncer.Sync(t.Context(), s.ID); err == nil {
		t.Error("listing a server that is away gives no error")
	}
	if got := names(b.tools(t, s)); len(got) != 1 {
		t.Errorf("tools %q", got)
	}
}

func TestWhatIsBlockedIsGoneWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	up := newUpstream(t, "read", "write", "drop")
	s := b.register(t, up.url, nil)
	b.sync(t, s, catalog.SyncResult{Added: 3})
	up.broken.Store(true)
	b.block(t, s, "drop")
	if err := b.syncer.Withdraw(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"read", "write"}, names(b.tools(t, s))); diff != "" {
		t.Errorf("after Withdraw (-want +got):\n%s", diff)
	}
	b.block(t, s, "*")
	if _, err := b.syncer.Sync(t.Context(), s.ID); err == nil {
		t.Error("listing a server that is away gives no error")
	}
	if left := names(b.tools(t, s)); len(left) > 0 {
		t.Errorf("after a list that failed there are %q", left)
	}
}

func TestEditDuringAListCounts(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	up := newUpstream(t, "read", "drop")
	s := b.register(t, up.url, nil)
	release := up.hold()
	ended := make(chan error)
	go func() {
		_, err := b.syncer.Sync(t.Context(), s.ID)
		ended <- err
	}()
	<-up.held
	b.block(t, s, "drop")
	release()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"read"}, names(b.tools(t, s))); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

func TestSyncRefuses(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	s := b.register(t, "http://127.0.0.1:1/mcp", func(s *core.Server) { s.Status = core.Inactive })
	if _, err := b.syncer.Sync(t.Context(), s.ID); !errors.Is(err, core.Conflict) {
		t.Errorf("inactive: %v, want conflict", err)
	}
	for _, id := range []string{"", "nonsense", "0d4cb5a4-4b0b-4a33-a2fb-6a6a3e0ba6b4"} {
		if _, err := b.syncer.Sync(t.Context(), id); !errors.Is(err, core.NotFound) {
			t.Errorf("id %q: %v, want not_found", id, err)
		}
	}
}

func TestSyncIsOneFlightAtATime(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	up := newUpstream(t, "read")
	s := b.register(t, up.url, nil)
	b.sync(t, s, catalog.SyncResult{Added: 1})
	before := up.lists.Load()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := b.syncer.Sync(t.Context(), s.ID); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// All who ask while one is under way share the next; how many there are
	// depends on when they ask.
	if n := up.lists.Load() - before; n < 1 || n > 19 || up.most.Load() > 1 {
		t.Errorf("%d lists for 20 callers, %d at once", n, up.most.Load())
	}
}

func TestSyncGoesOnWithoutItsCaller(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	up := newUpstream(t, "read")
	s := b.register(t, up.url, nil)
	release := up.hold()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := b.syncer.Sync(ctx, s.ID)
		ended <- err
	}()
	<-up.held
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the caller's own", err)
	}
	release()
	if _, err := b.syncer.Sync(t.Context(), s.ID); err != nil { // the flight after it
		t.Fatal(err)
	}
	if got := names(b.tools(t, s)); len(got) != 1 {
		t.Errorf("tools %q", got)
	}
}

func TestRunListsActiveServersAndWhatIsQueued(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first, off := newUpstream(t, "first"), newUpstream(t, "off")
	s1 := b.register(t, first.url, nil)
	s2 := b.register(t, off.url, func(s *core.Server) { s.Status = core.Inactive })
	stop := b.run(t)
	b.until(t, func() bool { return len(b.tools(t, s1)) == 1 })

	later := newUpstream(t, "later")
	s3 := b.register(t, later.url, nil)
	b.syncer.Enqueue(s3.ID)
	b.until(t, func() bool { return len(b.tools(t, s3)) == 1 })
	if got := names(b.tools(t, s2)); len(got) != 0 {
		t.Errorf("an inactive server was listed: %q", got)
	}

	first.add("another", "comes while we run") // list_changed enqueues
	b.until(t, func() bool { return len(b.tools(t, s1)) == 2 })
	stop()
	if _, err := b.syncer.Sync(t.Context(), s1.ID); !errors.Is(err, core.Unavailable) {
		t.Errorf("after Run has ended: %v, want unavailable", err)
	}
}

func TestServerThatKeepsCallingIsLookedAtLater(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	up := newUpstream(t, "read")
	s := b.register(t, up.url, nil)
	stop := b.run(t)
	b.until(t, func() bool { return len(b.tools(t, s)) == 1 })
	up.add("late", "comes right after a look")
	for range 100 {
		b.syncer.Enqueue(s.ID)
	}
	b.until(t, func() bool { return len(b.tools(t, s)) == 2 })
	stop()
	if n := up.lists.Load(); n > 10 {
		t.Errorf("%d lists", n)
	}
}

func TestRunTriesAgain(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	up := newUpstream(t, "read")
	up.broken.Store(true)
	s := b.register(t, up.url, nil)
	b.syncer = catalog.NewSyncer(catalog.SyncConfig{Store: b.store, Pool: b.pool, Interval: 100 * time.Millisecond})
	stop := b.run(t)
	b.until(t, func() bool { h, ok := b.pool.Health(s.ID); return ok && h.State == core.Down })
	up.broken.Store(false)
	b.until(t, func() bool { return len(b.tools(t, s)) == 1 })
	stop()
}

func TestRunStopsWhatHangs(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	up := newUpstream(t, "read")
	b.register(t, up.url, nil)
	release := up.hold()
	defer release()
	stop := b.run(t)
	<-up.held
	stop()
}

func TestOneSlowServerDelaysNobody(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for range 10 { // more than there are workers
		slow := newUpstream(t, "slow")
		b.register(t, slow.url, nil)
		defer slow.hold()()
	}
	stop := b.run(t)
	defer stop()
	up := newUpstream(t, "quick")
	s := b.register(t, up.url, nil)
	b.sync(t, s, catalog.SyncResult{Added: 1})
}

func TestSyncListsWhatIsOdd(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	s := b.register(t, rawUpstream(t, `{"name":"no schema"},{"name":"remote","description":"d\u0000d","inputSchema":{"$ref":"http://127.0.0.1:1/x"}},
		{"name":"good","description":"d","inputSchema":{"type":"object"}},{"name":"good"},{"nameless":true},17`), nil)
	result, err := b.syncer.Sync(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if result.Added != 3 || len(result.Warnings) != 3 {
		t.Errorf("result %+v", result)
	}
	tools := b.tools(t, s)
	if diff := cmp.Diff([]string{"good", "no schema", "remote"}, names(tools)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if len(tools[0].Warnings) != 0 || len(tools[1].Warnings) == 0 || len(tools[2].Warnings) == 0 {
		t.Errorf("warnings %q, %q, %q", tools[0].Warnings, tools[1].Warnings, tools[2].Warnings)
	}
	b.sync(t, s, catalog.SyncResult{Unchanged: 3, Warnings: result.Warnings})
}

// bundle is a syncer with what it needs.
type bundle struct {
	store  *postgres.Store
	pool   *upstream.Pool
	syncer *catalog.Syncer
	pokes  atomic.Int32
	number int
}

func newBundle(t *testing.T) *bundle {
	b := &bundle{store: pgtest.New(t)}
	open := egress.New(egress.Config{AllowPrivate: true})
	b.pool = upstream.New(upstream.Config{Version: "test", Trusted: open, Guarded: open,
		Getenv:         func(string) (string, bool) { return "", false },
		OnToolsChanged: func(id string) { b.syncer.Enqueue(id) }})
	b.syncer = catalog.NewSyncer(catalog.SyncConfig{Store: b.store, Pool: b.pool, Poke: func() { b.pokes.Add(1) }})
	t.Cleanup(func() {
		if err := b.pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bundle) register(t *testing.T, url string, edit func(*core.Server)) core.Server {
	t.Helper()
	b.number++
	s := core.Server{Name: fmt.Sprint("server-", b.number), Transport: core.HTTP, URL: url}
	if edit != nil {
		edit(&s)
	}
	s, err := b.store.CreateServer(t.Context(), core.AuditEntry{Action: "server.create"}, s)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (b *bundle) block(t *testing.T, s core.Server, patterns ...string) {
	t.Helper()
	s.Version, s.BlockedTools = 0, patterns
	if _, err := b.store.UpdateServer(t.Context(), core.AuditEntry{Action: "server.update"}, s); err != nil {
		t.Fatal(err)
	}
}

func (b *bundle) sync(t *testing.T, s core.Server, want catalog.SyncResult) {
	t.Helper()
	got, err := b.syncer.Sync(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("result (-want +got):\n%s", diff)
	}
}

func (b *bundle) tools(t *testing.T, s core.Server) []core.Tool {
	t.Helper()
	tools, err := b.store.ServerTools(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func (b *bundle) servers(t *testing.T) ([]core.Server, int64) {
	t.Helper()
	servers, revision, err := b.store.AllServers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return servers, revision
}

// run starts the syncer and gives a function that stops it.
func (b *bundle) run(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.syncer.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// until waits for what other processes decide.
func (b *bundle) until(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		<-tick.C
	}
}

// upstreamServer is a real MCP server over Streamable HTTP whose tools change.
type upstreamServer struct {
	url    string
	server *mcp.Server
	lists  atomic.Int32
	now    atomic.Int32
	most   atomic.Int32
	broken atomic.Bool
	held   chan struct{} // gets a value for each list that is held

	mu   sync.Mutex
	gate chan struct{}
}

func newUpstream(t *testing.T, tools ...string) *upstreamServer {
	u := &upstreamServer{held: make(chan struct{}, 100)}
	u.server = mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	u.server.AddReceivingMiddleware(u.watch)
	for _, name := range tools {
		u.add(name, "does "+name)
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return u.server }, nil)
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u.broken.Load() {
			http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		hs.CloseClientConnections()
		hs.Close()
	})
	u.url = hs.URL
	return u
}

// watch counts lists, and holds them while hold says so.
func (u *upstreamServer) watch(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "tools/list" {
			return next(ctx, method, req)
		}
		u.lists.Add(1)
		u.most.Store(max(u.most.Load(), u.now.Add(1)))
		defer u.now.Add(-1)
		u.mu.Lock()
		gate := u.gate
		u.mu.Unlock()
		if gate != nil {
			u.held <- struct{}{}
			<-gate
		}
		return next(ctx, method, req)
	}
}

func (u *upstreamServer) hold() (release func()) {
	gate := make(chan struct{})
	u.mu.Lock()
	defer u.mu.Unlock()
	u.gate = gate
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.gate = nil
		close(gate)
	}
}

func (u *upstreamServer) add(name, description string) {
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(u.server, &mcp.Tool{Name: name, Description: description},
		func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
}

// rawUpstream is a server of the older generation whose definitions are as given.
func rawUpstream(t *testing.T, tools string) string {
	u := mcp.NewServer(&mcp.Implementation{Name: "raw", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return u }, &mcp.StreamableHTTPOptions{JSONResponse: true})
	hs := httptest.NewServer(rawTools(handler, tools))
	t.Cleanup(func() {
		hs.CloseClientConnections()
		hs.Close()
	})
	return hs.URL
}
