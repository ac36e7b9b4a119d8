package migrations_test

import (
	"database/sql"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/migrations"
)

func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", pgtest.EmptyURL(t)+" search_path=toolscout,public")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// schema describes all that is in the schema toolscout, goose's table excepted.
func schema(t *testing.T, db *sql.DB) []string {
	t.Helper()
	rows, err := db.Query(`
		select format('column %s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage)
		from pg_attribute a join pg_class c on c.oid = a.attrelid
		where c.relnamespace = 'toolscout'::regnamespace and c.relkind = 'r' and a.attnum > 0 and c.relname not like 'goose%'
		union all
		select format('constraint %s %s', conname, pg_get_constraintdef(oid)) from pg_constraint
		where connamespace = 'toolscout'::regnamespace and conname not like 'goose%'
		union all
		select indexdef from pg_indexes where schemaname = 'toolscout' and indexname not like 'goose%'
		union all
		select 'function ' || proname from pg_proc where pronamespace = 'toolscout'::regnamespace
		union all
		select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
		order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestUpDownUp(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := open(t)
	version := func(want int64) {
		t.Helper()
		got, err := migrations.Version(ctx, db)
		if err != nil || got != want {
			t.Fatalf("got version %d, %v; want %d", got, err, want)
		}
	}
	version(0)
	if err := migrations.Up(ctx, db); err != nil {
		t.Fatal(err)
	}
	version(migrations.Latest())
	first := schema(t, db)

	// One step back and forth at a time, then all the way.
	for v := migrations.Latest() - 1; v >= 0; v-- {
		if err := migrations.Down(ctx, db, v); err != nil {
			t.Fatal(err)
		}
		version(v)
	}
	if left := schema(t, db); len(left) != 0 {
		t.Fatalf("left behind: %s", strings.Join(left, "\n"))
	}
	for range 2 {
		if err := migrations.Up(ctx, db); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, schema(t, db)); diff != "" {
			t.Fatalf("schema after coming back (-want +got):\n%s", diff)
		}
	}
}

func TestEachFileSaysWhyAndHasADown(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil || int64(len(names)) != migrations.Latest() {
		t.Fatalf("got %d files, %v; want %d without a gap", len(names), err, migrations.Latest())
	}
	down := regexp.MustCompile(`(?s)-- \+goose Up\n.*\n-- \+goose Down\n.*\w`)
	for _, name := range names {
		raw, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(raw), "-- ") || strings.HasPrefix(string(raw), "-- +goose") {
			t.Errorf("%s does not begin with its reason", name)
		}
		if !down.Match(raw) {
			t.Errorf("%s has no way back", name)
		}
	}
}

// A vector that is stored outside of its row makes a search five times slower.
func TestVectorsAreStoredInTheRow(t *testing.T) {
	t.Parallel()
	db := open(t)
	if err := migrations.Up(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	var storage string
	err := db.QueryRow(`select attstorage from pg_attribute
		where attrelid = 'toolscout.tool_embeddings'::regclass and attname = 'emb'`).Scan(&storage)
	if err != nil || storage != "p" {
		t.Fatalf("got storage %q, %v; want p", storage, err)
	}
}
