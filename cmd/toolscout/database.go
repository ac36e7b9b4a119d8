package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/embedded"
)

// database is the store and, where it is ours, the Postgres behind it.
type database struct {
	*postgres.Store
	own *embedded.Server
}

// patience is how long a database that is starting up is waited for.
const patience = 30 * time.Second

// lease is how long an instance may use again what the database said of a token,
// and how much longer every change takes for it. All instances agree on it.
const lease = 20 * time.Millisecond

// openDatabase connects to the database that is configured, or starts one, and
// brings its schema up to date.
func openDatabase(ctx context.Context, cfg config.Config, log *slog.Logger, say func(string)) (*database, error) {
	db := &database{}
	url := cfg.DatabaseURL
	if url == "" {
		own, err := embedded.Start(ctx, embedded.Config{DataDir: filepath.Join(cfg.DataDir, "postgres"), Logger: log, Progress: say})
		if err != nil {
			return nil, err
		}
		db.own, url = own, own.URL()
	}
	store, err := postgres.Open(ctx, url, postgres.Options{Logger: log, Lease: lease})
	if err != nil {
		return nil, errors.Join(err, db.closeOwn())
	}
	db.Store = store
	if err := db.migrate(ctx, log); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// migrate waits for a database that is still starting, and for no other fault.
func (db *database) migrate(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := db.Migrate(ctx)
		if !postgres.Away(err) {
			return err
		}
		log.Warn("waiting for the database", "error", err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("the database does not answer: check TOOLSCOUT_DATABASE_URL, or unset it for an embedded one (%w)", err)
		case <-time.After(time.Second):
		}
	}
}

// Close ends the connections and then the Postgres, where it is ours.
func (db *database) Close() {
	db.Store.Close()
	_ = db.closeOwn() // it has been logged, and there is nobody left to tell
}

func (db *database) closeOwn() error {
	if db.own == nil {
		return nil
	}
	return db.own.Close()
}
