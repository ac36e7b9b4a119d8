package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/embedded"
)

// inThrowAway runs f on a migrated database that is gone afterwards.
func (p *program) inThrowAway(ctx context.Context, f func(*postgres.Store) error) error {
	dir, err := os.MkdirTemp("", "toolscout-eval")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // Postgres may run as another user
		return err
	}
	own, err := embedded.Start(ctx, embedded.Config{DataDir: filepath.Join(dir, "postgres"), NoSync: true,
		Progress: func(line string) { fmt.Fprintln(p.stderr, line) }})
	if err != nil {
		return err
	}
	defer own.Close()
	store, err := postgres.Open(ctx, own.URL(), postgres.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	return f(store)
}
