package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"golang.org/x/sync/errgroup"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/access"
	"github.com/toolscout/toolscout/core/admin"
	"github.com/toolscout/toolscout/core/catalog"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/core/events"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/core/hookbook"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/core/pace"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/secret"
	"github.com/toolscout/toolscout/core/upstream"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/audit"
	"github.com/toolscout/toolscout/mcpserver"
	"github.com/toolscout/toolscout/mcpserver/door"
	"github.com/toolscout/toolscout/mcpserver/rest"
)

// server is every part, joined.
type server struct {
	db        *database
	pool      *upstream.Pool
	syncer    *catalog.Syncer
	indexer   *catalog.Indexer
	search    *search.Engine
	audit     *audit.Writer
	secrets   *secret.Box
	events    *events.Bus
	hooks     *hookset.Set
	file      hookset.File // the hooks that are declared
	mcp       *mcpserver.Server
	handler   http.Handler
	publicURL string
	retention time.Duration
	usage     bool // counts in search
	log       *slog.Logger
}

// newServer makes every part and joins them. Nothing runs yet.
func newServer(ctx context.Context, cfg config.Config, src config.Source, db *database, addr string, log *slog.Logger) (*server, error) {
	key, err := secretKey(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	box := secret.New(key)
	s := &server{db: db, secrets: box, log: log, publicURL: cmp.Or(cfg.PublicURL, localURL(addr)), retention: cfg.Audit.Retention, usage: cfg.Search.Usage}
	trusted := egress.New(egress.Config{AllowPrivate: true})
	guarded := egress.New(egress.Config{AllowPrivate: cfg.Local(), AllowNetworks: cfg.Gateway.AllowNetworks})

	embedder, err := newEmbedder(cfg.Embeddings, trusted)
	if err != nil {
		return nil, err
	}
	turns := pace.New()
	s.indexer = catalog.NewIndexer(catalog.IndexConfig{Store: db.Store, Embedder: embedder, Pace: turns, Choose: choose(cfg.Embeddings, db.Store),
		Make: remake(cfg.Embeddings, trusted, db.Store), Logger: log,
		Publish: func(ctx context.Context, e core.Event) error { return s.events.Publish(ctx, e) }})
	s.pool = upstream.New(upstream.Config{
		Version: versionString(), Logger: log, Getenv: cfg.Lookup(src), Open: box.Open, Trusted: trusted, Guarded: guarded,
		FileCommandsOnly: !cfg.Local() && !cfg.Gateway.AllowStdioFromAPI,
		MaxChildren:      cfg.Gateway.MaxChildren, MaxResponse: cfg.Gateway.MaxResponseBytes, PerServer: cfg.Gateway.PerServer, CallTimeout: cfg.Gateway.CallTimeout,
		OnHealth:       s.saveHealth,
		OnEra:          s.saveEra,
		OnToolsChanged: func(id string) { s.syncer.Enqueue(id) },
	})
	s.syncer = catalog.NewSyncer(catalog.SyncConfig{Store: db.Store, Pool: s.pool, Poke: s.indexer.Poke, Pace: turns, Interval: cfg.Gateway.SyncInterval, Logger: log})
	dictionary, err := dictionary()
	if err != nil {
		return nil, err
	}
	s.search = search.New(search.Config{Store: db.Store, Embedder: s.indexer.Active, Dictionary: dictionary, Pace: turns, Logger: log})
	s.audit = audit.NewWriter(audit.Config{Append: db.AppendAudit, Sync: cfg.Audit.Sync, Values: cfg.Audit.Values, Logger: log})
	s.events = events.New(events.Config{Store: db.Store, Retention: cfg.Events.Retention, Logger: log,
		Handle: func(ctx context.Context, e core.Event) { s.hooks.Handle(ctx, e) }})
	s.hooks, err = hookset.New(hookset.Config{Store: db.Store, Open: box.Open, Lookup: cfg.Lookup(src), Publish: s.events.Publish, PublishSync: s.events.PublishSync,
		Runner: hooks.Config{Budget: cfg.Hooks.Budget}, Logger: log,
		Types: hookTypes(hookParts{store: db.Store, guarded: guarded, trusted: trusted, log: log,
			publish:     func(ctx context.Context, e core.Event) error { return s.hooks.Publish(ctx, e) },
			publishSync: func(ctx context.Context, e core.Event) error { return s.hooks.PublishSync(ctx, e) }})})
	if err != nil {
		return nil, err
	}
	book := hookbook.New(hookbook.Config{Store: db.Store, Set: s.hooks, Secrets: box})
	registry := access.New(access.Config{Store: db.Store})
	gw := gateway.New(gateway.Config{
		Store: db.Store, Access: registry, Search: s.search, Pool: s.pool, Relist: s.syncer.Enqueue, Audit: s.audit,
		Runner: s.hooks.Runner(), Hooks: s.hooks, Book: book, Events: s.events, PerPrincipal: cfg.Gateway.PerUser, Timeout: cfg.Gateway.CallTimeout, Logger: log,
	})
	adm := admin.New(admin.Config{Store: db.Store, Pool: s.pool, Syncer: s.syncer, Indexer: s.indexer, Search: s.search, Audit: s.audit, Secrets: box, Book: book,
		Policy: admin.Policy{LoopbackOnly: cfg.Local(), AllowStdio: cfg.Gateway.AllowStdioFromAPI, Networks: cfg.Gateway.AllowNetworks}, Logger: log})
	d, err := door.New(door.Config{Authenticate: db.Authenticate, PublicURL: cfg.PublicURL, AllowedHosts: []string{addr},
		AllowedOrigins: cfg.AllowedOrigins, LoopbackOnly: cfg.LoopbackOnly(), MaxBodies: rest.MaxBodies(), Logger: log})
	if err != nil {
		return nil, err
	}
	s.mcp = mcpserver.New(mcpserver.Config{Gateway: gw, Version: versionString(), Logger: log})
	s.handler = s.routes(d, rest.New(rest.Config{Gateway: gw, Admin: adm, Door: d, Version: versionString(), Timeout: cfg.Gateway.CallTimeout}))
	return s, nil
}

// routes is every door there is.
func (s *server) routes(d *door.Door, api http.Handler) http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.GetHead)
	r.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	r.Get("/readyz", func(w http.ResponseWriter, q *http.Request) {
		ctx, cancel := context.WithTimeout(q.Context(), 2*time.Second)
		defer cancel()
		if err := s.db.Ready(ctx); err != nil {
			door.Problem(w, err)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	r.Get("/", http.RedirectHandler("/docs", http.StatusFound).ServeHTTP)
	metadata := d.ProtectedResourceMetadata()
	r.Method(http.MethodGet, "/.well-known/oauth-protected-resource", metadata)
	r.Method(http.MethodGet, "/.well-known/oauth-protected-resource/mcp", metadata)
	r.Handle("/mcp", d.Authenticated(s.mcp.HTTP()))
	sse := d.Authenticated(s.mcp.SSE())
	r.Handle("/sse", sse)
	r.Handle("/message", sse)
	r.NotFound(api.ServeHTTP)
	r.MethodNotAllowed(api.ServeHTTP)
	return d.Guard(r)
}

// httpServer bounds every phase of a request but the answer, which may be a
// stream that lasts as long as its session.
func (s *server) httpServer(log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return context.Background() },
	}
}

// run does what goes on in the background until ctx ends.
func (s *server) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.indexer.Run(ctx) })
	g.Go(func() error { return s.syncer.Run(ctx) })
	g.Go(func() error { return s.events.Run(ctx) })
	g.Go(func() error { return s.hooks.Run(ctx) })
	g.Go(func() error { return s.search.Run(ctx) })
	g.Go(func() error { return s.listen(ctx) })
	g.Go(func() error { return s.prune(ctx) })
	g.Go(func() error { return s.followUsage(ctx) })
	return g.Wait()
}

// listen hears of changes that other instances made, so that the word index is
// warm before the next search asks for it, from the start on.
func (s *server) listen(ctx context.Context) error {
	return s.db.Listen(ctx, func(payload string) {
		// Something happened or changed: a tool, the active model, or, while there was
		// no connection, who knows what.
		s.events.Notice(payload)
		what, _, _ := strings.Cut(payload, " ")
		if what == "hooks" || what == "" {
			s.refreshHooks(ctx)
		}
		if what == "hooks" || what == "events" {
			return
		}
		s.indexer.Poke()
		if revision := atLeast(payload); revision > 0 {
			s.search.Heard(revision)
		}
	})
}

// atLeast is the catalog revision that the word index is to know of after a notice, 0
// where that says nothing of the catalog. Where notices were missed no revision is
// enough, so that the index looks, and sees a database that went back as well.
func atLeast(payload string) (revision int64) {
	if payload == "" {
		return math.MaxInt64
	}
	if _, err := fmt.Sscanf(payload, "catalog %d", &revision); err != nil {
		return 0
	}
	return revision
}

// usageEvery is how often search learns how much tools are used: that moves by days.
const usageEvery = 15 * time.Minute

// followUsage has search learn how much tools are used, unless that is not to count.
func (s *server) followUsage(ctx context.Context) error {
	if !s.usage {
		return nil
	}
	tick := time.NewTicker(usageEvery)
	defer tick.Stop()
	for {
		if err := s.search.RefreshUsage(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("refresh the use of tools", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// refreshHooks brings the hooks up to date for events outside calls; a call does so
// by itself.
func (s *server) refreshHooks(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := s.hooks.Refresh(ctx); err != nil && !errors.Is(err, context.Canceled) {
		s.log.Warn("refresh the hooks", "error", err)
	}
}

// prune removes, once an hour, what is older than it is to be kept.
func (s *server) prune(ctx context.Context) error {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		if s.retention > 0 {
			pruned, err := s.db.PruneAudit(ctx, time.Now().Add(-s.retention))
			s.pruned(ctx, "audit", pruned, err)
		}
		pruned, err := s.db.PruneResults(ctx)
		s.pruned(ctx, "results", pruned, err)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (s *server) pruned(ctx context.Context, what string, rows int64, err error) {
	switch {
	case err != nil && ctx.Err() == nil:
		s.log.Warn("prune", "what", what, "error", err)
	case rows > 0:
		s.log.Info("pruned", "what", what, "rows", rows)
	}
}

// saveHealth keeps what the pool observed, for whoever asks the API.
func (s *server) saveHealth(id string, h core.Health) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.db.SetHealth(ctx, id, h); err != nil {
		s.log.Warn("save health", "server", id, "error", err)
	}
}

func (s *server) saveEra(id, era string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.db.SetEra(ctx, id, era); err != nil {
		s.log.Warn("save protocol generation", "server", id, "error", err)
	}
}

// shutdown ends the sessions, waits for the calls under way, and closes the door.
func (s *server) shutdown(h *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	g := errgroup.Group{}
	g.Go(func() error { return h.Shutdown(ctx) })
	g.Go(func() error { return s.mcp.Close(ctx) })
	if err := g.Wait(); err != nil {
		return h.Close()
	}
	return nil
}

// Close ends what newServer made, after run has returned: live sessions first,
// then what they leave to write. Each has a time of its own, so that a hook that
// hangs costs no event and no row of the audit.
func (s *server) Close() {
	if err := s.pool.Close(); err != nil {
		s.log.Warn("close upstream sessions", "error", err)
	}
	if err := within(10*time.Second, s.hooks.Close); err != nil {
		s.log.Warn("end the hooks", "error", err)
	}
	if err := within(10*time.Second, s.events.Close); err != nil {
		s.log.Error("events were lost", "error", err)
	}
	if err := within(10*time.Second, s.audit.Close); err != nil {
		s.log.Error("audit rows were lost", "error", err)
	}
}

func within(d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return f(ctx)
}
