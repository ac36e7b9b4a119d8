// Package postgres is everything that Toolscout asks of its database: all SQL is
// here, and nothing else imports a driver.
//
// Exported methods open their own transaction; unexported functions take it. What
// a caller can act on is a *core.Error: an unknown or malformed id is NotFound, a
// violated constraint is told by its name (errors.go), and a database that cannot
// be reached is Unavailable.
//
// # Freshness
//
// The table revision holds one number, the catalog's. Whoever changes servers or
// tools locks that row first (lockCatalog), stamps what it changes with the next
// number and publishes it at the end. So catalog changes happen one after the
// other, and become visible in the order of their numbers: who has seen number N
// has seen everything up to N.
package postgres

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxvector "github.com/pgvector/pgvector-go/pgx"

	"github.com/toolscout/toolscout/core"
)

// Options are what may be said about a Store beyond its URL.
type Options struct {
	// MaxConns bounds the connections of the pool; 16 unless said.
	MaxConns int32
	// Logger hears what no caller can be told; nil for none.
	Logger *slog.Logger
	// Lease is how long the answer of Authenticate may be used again, and so how
	// much longer every change takes: see leases. All who share a database must say
	// the same. 0 asks the database for every request.
	Lease time.Duration
}

// Store is the database. It is safe for concurrent use.
type Store struct {
	pool   *pgxpool.Pool
	log    *slog.Logger
	uses   *uses
	leases *leases
}

// session is what every connection of the pool starts with.
var session = map[string]string{
	"application_name": "toolscout",
	"search_path":      "toolscout, public",
	// Compiling a query takes longer than any of ours runs; workers would take the
	// processors from other callers.
	"jit":                             "off",
	"max_parallel_workers_per_gather": "0",
	// Guards: nothing of ours comes near them while all is well.
	"statement_timeout":                   "30s",
	"idle_in_transaction_session_timeout": "60s",
	// For searches through an HNSW index, which alone read these: with fewer than
	// 100 candidates, or without going on after a filter took them, neighbours are
	// missed (measured: recall .38 instead of .96 where a tenth is visible).
	"hnsw.ef_search":      "100",
	"hnsw.iterative_scan": "relaxed_order",
}

// Open makes a Store for a database URL (or a keyword/value string). The database
// need not be up: connections are made when they are needed, and anew after it
// was away. InvalidParams when the URL cannot be read.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, core.Errorf(core.InvalidParams, "the database URL cannot be read").
			WithHint("it looks like postgres://user:password@host:5432/database").Because(err)
	}
	maps.Copy(config.ConnConfig.RuntimeParams, session)
	config.ConnConfig.RuntimeParams["toolscout.instance"] = newID() // marks the events that this Store stores
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	config.ConnConfig.OnNotice = func(*pgconn.PgConn, *pgconn.Notice) {}
	config.AfterConnect = registerVectors
	config.PingTimeout = 5 * time.Second
	config.MaxConnIdleTime = 5 * time.Minute
	config.MaxConnLifetimeJitter = 10 * time.Minute
	config.MaxConns = o.MaxConns
	if config.MaxConns <= 0 {
		config.MaxConns = 16
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, wrap("open database", err)
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Store{pool: pool, log: log}
	s.uses = recordUses(s.saveUses)
	s.leases = newLeases(o.Lease, s.authenticate)
	return s, nil
}

// Close writes what is still held back and closes the connections. It waits for
// those in use.
func (s *Store) Close() {
	s.leases.close()
	s.uses.close()
	s.pool.Close()
}

// registerVectors makes pgx send and read halfvec in binary. Before the first
// migration the type may be missing; Migrate starts over with new connections.
func registerVectors(ctx context.Context, conn *pgx.Conn) error {
	var oid, arrayOID *uint32
	err := conn.QueryRow(ctx, `select to_regtype('halfvec')::oid, to_regtype('halfvec[]')::oid`).Scan(&oid, &arrayOID)
	if err != nil {
		return err
	}
	if oid == nil || arrayOID == nil {
		return nil
	}
	halfvec := &pgtype.Type{Name: "halfvec", OID: *oid, Codec: pgxvector.HalfVectorCodec{}}
	conn.TypeMap().RegisterType(halfvec)
	conn.TypeMap().RegisterType(&pgtype.Type{Name: "_halfvec", OID: *arrayOID, Codec: &pgtype.ArrayCodec{ElementType: halfvec}})
	return nil
}

// tx runs fn, which changes something, in a transaction and tells its error as
// that of op. When it returns, no instance goes by what was before.
func (s *Store) tx(ctx context.Context, op string, fn func(pgx.Tx) error) error {
	err := pgx.BeginFunc(ctx, s.pool, fn)
	s.leases.waitOut() // also after an error: a commit may have gone through
	return wrap(op, err)
}
