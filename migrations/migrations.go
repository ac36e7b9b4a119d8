// Package migrations holds the schema of the database as goose SQL files, which
// are part of the binary. A file that has landed is never edited: a change is a
// new file, which says why it exists and how it is taken back.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// FS holds the files, 0001_*.sql onwards.
//
//go:embed *.sql
var FS embed.FS

// Table is where goose keeps which of the files a database has seen.
const Table = "toolscout.goose_db_version"

// Latest is the number of the newest file.
func Latest() int64 {
	names, err := fs.Glob(FS, "*.sql")
	if err != nil || len(names) == 0 {
		panic("migrations: no files embedded")
	}
	last := names[len(names)-1]
	number, _, _ := strings.Cut(last, "_")
	version, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("migrations: %s does not start with a number", last))
	}
	return version
}

// Up brings db to Latest. Of several processes that try at once one works and
// the others wait. The search path of db's sessions must start with toolscout.
func Up(ctx context.Context, db *sql.DB) error {
	p, err := provider(ctx, db)
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate up: %w", err)
	}
	return nil
}

// Down takes back everything after version; 0 takes back all of it.
func Down(ctx context.Context, db *sql.DB, version int64) error {
	p, err := provider(ctx, db)
	if err != nil {
		return err
	}
	if _, err := p.DownTo(ctx, version); err != nil {
		return fmt.Errorf("migrate down to %d: %w", version, err)
	}
	return nil
}

// Version is the number of the newest file that db has seen, 0 for none.
func Version(ctx context.Context, db *sql.DB) (int64, error) {
	var exists bool
	if err := db.QueryRowContext(ctx, `select to_regclass($1) is not null`, Table).Scan(&exists); err != nil {
		return 0, fmt.Errorf("look for %s: %w", Table, err)
	}
	if !exists {
		return 0, nil
	}
	var version int64
	err := db.QueryRowContext(ctx, `select coalesce(max(version_id), 0) from `+Table).Scan(&version)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", Table, err)
	}
	return version, nil
}

func provider(ctx context.Context, db *sql.DB) (*goose.Provider, error) {
	if err := createSchema(ctx, db); err != nil {
		return nil, err
	}
	// Tries every second for ten minutes: the default of five seconds would make
	// a second instance's start that much slower.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 600))
	if err != nil {
		return nil, fmt.Errorf("migration lock: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, FS,
		goose.WithTableName(Table), goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return p, nil
}

// createSchema makes the schema that goose's own table lives in. "If not exists"
// would fail when two sessions do it at once, hence the lock, and for a role that
// may not create schemas where one was made for it, hence the question.
func createSchema(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("create schema: %w", err)
	}
	defer tx.Rollback()
	for _, statement := range []string{
		`select pg_advisory_xact_lock(hashtextextended('toolscout schema', 0))`,
		`do $$ begin if to_regnamespace('toolscout') is null then create schema toolscout; end if; end $$`,
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create schema: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("create schema: %w", err)
	}
	return nil
}
