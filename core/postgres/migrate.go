package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/migrations"
)

// installVector says how to get the extension.
const installVector = "install pgvector 0.8 or newer: Debian and Ubuntu: apt install postgresql-17-pgvector; " +
	"Fedora: dnf install pgvector; macOS: brew install pgvector; docker: the image pgvector/pgvector:pg17"

// Migrate brings the database to the schema that this program knows. Of several
// instances that start at once one works and the others wait. Unavailable, with
// advice, when the database is newer than the program, cannot be reached, or lacks
// the extension.
func (s *Store) Migrate(ctx context.Context) error {
	config := s.pool.Config().ConnConfig
	// Waiting for another instance and building indexes may take their time.
	config.RuntimeParams["statement_timeout"] = "0"
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	db := stdlib.OpenDB(*config)
	defer db.Close()
	if err := migrate(ctx, db); err != nil {
		return wrap("migrate", err)
	}
	// Connections from before do not know the types of the extension.
	s.pool.Reset()
	return nil
}

func migrate(ctx context.Context, db *sql.DB) error {
	version, err := migrations.Version(ctx, db)
	if err != nil {
		return err
	}
	if err := checkNotNewer(version); err != nil {
		return err
	}
	if err := checkVectorAvailable(ctx, db); err != nil {
		return err
	}
	err = migrations.Up(ctx, db)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "42501" {
		return core.Errorf(core.Unavailable, "the database user may not do what the migration needs: %s", refused.Message).
			WithHint("as a superuser, in this database: create extension if not exists vector with schema public; " +
				"and for this program's user: grant create on database … to …").Because(err)
	}
	return err
}

func checkNotNewer(version int64) error {
	if version <= migrations.Latest() {
		return nil
	}
	return core.Errorf(core.Unavailable, "the database was migrated to version %d by a newer program; this one knows %d",
		version, migrations.Latest()).WithHint("use the newer program, or another database")
}

// checkVectorAvailable looks for pgvector: what is installed in this database, or
// else what could be.
func checkVectorAvailable(ctx context.Context, db *sql.DB) error {
	var version string
	err := db.QueryRowContext(ctx, `
		select coalesce(installed_version, default_version, '') from pg_available_extensions where name = 'vector'`).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		return core.Errorf(core.Unavailable, "this Postgres does not have the extension vector").WithHint("%s", installVector)
	}
	if err != nil {
		return fmt.Errorf("look for the extension vector: %w", err)
	}
	return checkVectorVersion(version)
}

// checkVectorVersion refuses a pgvector before 0.8, which cannot go on searching
// an index when a filter took what it found.
func checkVectorVersion(version string) error {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if errA == nil && errB == nil && (a > 0 || b >= 8) {
		return nil
	}
	return core.Errorf(core.Unavailable, "the extension vector is %s, and has to be 0.8 or newer", version).
		WithHint("%s; then, in this database: alter extension vector update", installVector)
}

// Ready is nil when the database answers and has the schema and the extension that
// this program needs; otherwise Unavailable with the reason.
func (s *Store) Ready(ctx context.Context) error {
	var version int64
	var vector string
	err := s.pool.QueryRow(ctx, `
		select (select coalesce(max(version_id), 0) from `+migrations.Table+`),
		       coalesce((select extversion from pg_extension where extname = 'vector'), '')`).Scan(&version, &vector)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return wrap("check database", err)
	}
	if version < migrations.Latest() {
		return core.Errorf(core.Unavailable, "the database is at version %d of its schema and has to be at %d",
			version, migrations.Latest())
	}
	if err := checkNotNewer(version); err != nil {
		return err
	}
	return checkVectorVersion(vector)
}
