// Package pgtest gives every test a database of its own, migrated and empty, on
// the Postgres that TOOLSCOUT_TEST_DATABASE_URL names. Databases are copies of a
// template which is made once for each state of the migrations.
package pgtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/migrations"
)

// New gives a store on a fresh database. Both go with the test.
func New(t testing.TB) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), URL(t), postgres.Options{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

// URL gives the URL of a fresh database that is migrated, which goes with the test.
func URL(t testing.TB) string {
	t.Helper()
	server := open(t)
	template, err := server.template(t.Context())
	if err != nil {
		t.Fatalf("make the template database: %v", err)
	}
	return server.create(t, "template "+template+" strategy file_copy")
}

// EmptyURL gives the URL of a fresh database without any schema, which goes with
// the test.
func EmptyURL(t testing.TB) string {
	t.Helper()
	return open(t).create(t, "template template0")
}

// server is the Postgres that tests run on.
type server struct {
	config *pgx.ConnConfig
}

func open(t testing.TB) server {
	t.Helper()
	url := os.Getenv("TOOLSCOUT_TEST_DATABASE_URL")
	if url == "" {
		t.Fatal("TOOLSCOUT_TEST_DATABASE_URL is not set: run the tests with make test, or through " +
			"go run ./core/postgres/embedded/cmd/pgrun -- go test ./...")
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatalf("read TOOLSCOUT_TEST_DATABASE_URL: %v", err)
	}
	config.OnNotice = func(*pgconn.PgConn, *pgconn.Notice) {}
	return server{config}
}

func (s server) create(t testing.TB, options string) string {
	t.Helper()
	name := "toolscout_test_" + strings.ToLower(rand.Text()[:16])
	if err := s.exec(t.Context(), "create database "+name+" "+options); err != nil {
		t.Fatalf("create test database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.exec(ctx, "drop database if exists "+name+" with (force)"); err != nil {
			t.Errorf("drop test database: %v", err)
		}
	})
	return s.url(name)
}

// url is the server's with another database, whichever way it was written.
func (s server) url(database string) string {
	c := s.config
	return fmt.Sprintf("host='%s' port=%d user='%s' password='%s' dbname='%s' sslmode=%s", escape(c.Host), c.Port,
		escape(c.User), escape(c.Password), escape(database), sslmode(c))
}

func sslmode(c *pgx.ConnConfig) string {
	if c.TLSConfig == nil {
		return "disable"
	}
	return "require"
}

func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s)
}

func (s server) exec(ctx context.Context, statements ...string) error {
	conn, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// template gives the name of a migrated database that nobody connects to. It is
// made under another name first: a test that is killed leaves no half of one.
func (s server) template(ctx context.Context) (string, error) {
	name, err := templateName()
	if err != nil {
		return "", err
	}
	conn, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx)) // ends the lock too
	if _, err := conn.Exec(ctx, `select pg_advisory_lock(hashtextextended($1, 0))`, name); err != nil {
		return "", err
	}
	var exists bool
	err = conn.QueryRow(ctx, `select exists (select from pg_database where datname = $1)`, name).Scan(&exists)
	if err != nil || exists {
		return name, err
	}
	for _, statement := range []string{
		"drop database if exists " + name + "_new with (force)",
		"create database " + name + "_new template template0",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return "", err
		}
	}
	if err := migrate(ctx, s.url(name+"_new")); err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "alter database "+name+"_new rename to "+name)
	return name, err
}

func migrate(ctx context.Context, url string) error {
	store, err := postgres.Open(ctx, url, postgres.Options{MaxConns: 1})
	if err != nil {
		return err
	}
	defer store.Close()
	return store.Migrate(ctx)
}

func templateName() (string, error) {
	h := sha256.New()
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		raw, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(raw), raw)
	}
	return "toolscout_template_" + hex.EncodeToString(h.Sum(nil))[:16], nil
}
