package admin

import (
	"context"
	"log/slog"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/catalog"
	"github.com/toolscout/toolscout/core/hookbook"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/secret"
	"github.com/toolscout/toolscout/core/upstream"
	"github.com/toolscout/toolscout/hooks/audit"
)

// Config is what an Admin works with. Only Logger may be missing.
type Config struct {
	Store   *postgres.Store
	Pool    *upstream.Pool
	Syncer  *catalog.Syncer
	Indexer *catalog.Indexer
	Search  *search.Engine
	Audit   *audit.Writer
	// Secrets seals credentials before they are stored.
	Secrets *secret.Box
	// Book has the configured hooks.
	Book *hookbook.Book
	// Policy limits which servers may be registered here.
	Policy Policy
	Logger *slog.Logger
}

// Admin is what an administrator can do.
type Admin struct {
	store   *postgres.Store
	pool    *upstream.Pool
	syncer  *catalog.Syncer
	indexer *catalog.Indexer
	engine  *search.Engine
	audit   *audit.Writer
	secrets *secret.Box
	book    *hookbook.Book
	policy  Policy
	log     *slog.Logger
}

// New makes an Admin.
func New(cfg Config) *Admin {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Admin{store: cfg.Store, pool: cfg.Pool, syncer: cfg.Syncer, indexer: cfg.Indexer, engine: cfg.Search,
		audit: cfg.Audit, secrets: cfg.Secrets, book: cfg.Book, policy: cfg.Policy, log: cfg.Logger}
}

// Refuse records an attempt that failed before it reached a method of Admin: a
// body that could not be read, say. It returns err.
func (a *Admin) Refuse(ctx context.Context, req core.Request, action string, err error) error {
	return a.failed(ctx, req.Entry(core.LevelConfig, action), err)
}

// read runs something that changes nothing, for admins. A refusal for want of
// the role is recorded, any other failure is only returned.
func (a *Admin) read(ctx context.Context, req core.Request, action string, work func() error) error {
	if err := allowed(req); err != nil {
		return a.failed(ctx, req.Entry(core.LevelConfig, action), err)
	}
	return work()
}

// change runs a change of configuration, for admins. work is given the audit row
// and passes it to the store, which writes it when the change is made; it may
// fill in what the change is about first. A failure is recorded here.
func (a *Admin) change(ctx context.Context, req core.Request, action string, work func(by *core.AuditEntry) error) error {
	by := req.Entry(core.LevelConfig, action)
	if err := allowed(req); err != nil {
		return a.failed(ctx, by, err)
	}
	if err := work(&by); err != nil {
		return a.failed(ctx, by, err)
	}
	return nil
}

func allowed(req core.Request) error {
	if !req.Principal.Admin() {
		return core.Errorf(core.Denied, "this needs the role admin").WithHint("Ask an admin, or use a token of a user who is one.")
	}
	return nil
}

// failed records how an attempt ended, also when the caller has gone, and
// returns err.
func (a *Admin) failed(ctx context.Context, by core.AuditEntry, err error) error {
	by.Outcome, by.ErrorKind = core.OutcomeOf(err), core.Public(err).Kind
	by = timed(&by)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if auditErr := a.audit.Record(ctx, by); auditErr != nil {
		a.log.Error("audit row lost", "action", by.Action, "request_id", by.RequestID, "error", auditErr)
	}
	return err
}

// timed is an audit row with the time that its request has taken so far.
func timed(by *core.AuditEntry) core.AuditEntry {
	e := *by
	e.DurationMs = float64(time.Since(e.Time)) / float64(time.Millisecond)
	return e
}
