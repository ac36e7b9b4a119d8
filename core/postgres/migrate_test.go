package postgres_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

func TestMigrateFromNothing(t *testing.T) {
	t.Parallel()
	store, err := postgres.Open(t.Context(), pgtest.EmptyURL(t), postgres.Options{})
	check(t, err)
	defer store.Close()
	wantKind(t, store.Ready(t.Context()), core.Unavailable)
	_, err = store.Models(t.Context())
	wantKind(t, err, core.Unavailable)

	// Several instances start at once.
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			if err := store.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	check(t, store.Ready(t.Context()))

	// The connections from before do not stand in the way of vectors.
	server := createServer(t, store, "a")
	applyTools(t, store, server.ID, tool("x"))
	model := must(store.EnsureModel(t.Context(), "p", "m", 2))(t)
	saveAll(t, store, model, map[string][]float32{"x": {1, 0}})
}

func TestMigrateRefusesANewerDatabase(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	exec(t, conn, `insert into goose_db_version (version_id, is_applied) values (9999, true)`)
	for name, err := range map[string]error{"migrate": store.Migrate(t.Context()), "ready": store.Ready(t.Context())} {
		wantKind(t, err, core.Unavailable)
		if got := core.Public(err).Message; !strings.Contains(got, "newer") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestReadyMissesTheExtension(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	check(t, store.Ready(t.Context()))
	exec(t, conn, `drop extension vector cascade`)
	err := store.Ready(t.Context())
	wantKind(t, err, core.Unavailable)
	if got := core.Public(err); !strings.Contains(got.Message, "extension vector") || got.Hint == "" {
		t.Errorf("got %q with the hint %q", got.Message, got.Hint)
	}
}

func TestMigrateWithoutTheRight(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	conn := connect(t, url)
	role := value[string](t, conn, `select current_database()`)
	exec(t, conn, `create role `+role)
	defer exec(t, conn, `drop role `+role)
	store, err := postgres.Open(t.Context(), url+" role="+role, postgres.Options{})
	check(t, err)
	defer store.Close()
	err = store.Migrate(t.Context())
	wantKind(t, err, core.Unavailable)
	if got := core.Public(err).Hint; !strings.Contains(got, "create extension") {
		t.Errorf("got the hint %q", got)
	}
	if postgres.Away(err) {
		t.Errorf("%v counts as a database that is away", err)
	}
}

func TestVectorVersions(t *testing.T) {
	t.Parallel()
	for version, fine := range map[string]bool{"0.8.0": true, "0.8.7": true, "0.10": true, "1.0": true, "0.7.4": false, "": false, "x": false} {
		if err := postgres.CheckVectorVersion(version); (err == nil) != fine {
			t.Errorf("%q: got %v", version, err)
		}
	}
}

// Every constraint that a caller can violate has words of its own, and there are
// no words for constraints that do not exist.
func TestEveryConstraintHasAMessage(t *testing.T) {
	t.Parallel()
	_, conn := open(t)
	// Keys made here, singletons, and tables that nothing writes to yet.
	const ours = `name !~ '^(revision|events_state|goose)_|_pkey$' or name = 'mcp_server_tools_pkey'`
	schema := value[[]string](t, conn, `
		select array_agg(name order by name) from (
			select conname::text as name from pg_constraint where connamespace = 'toolscout'::regnamespace and contype in ('c', 'u', 'f', 'p')
			union all select indexrelid::regclass::text from pg_index where indisunique and not indisprimary
				and (indrelid::regclass::text = 'embedding_models' and indpred is not null or indexprs is not null)
			union all select distinct tgname::text from pg_trigger where not tgisinternal) names where `+ours)
	words := postgres.Refusals()
	for _, name := range schema {
		known := slices.Contains(words, name) ||
			// Rows that hang on one which the same transaction has just read or locked.
			name == "tool_embeddings_tool_fkey" || name == "users_tenant_unique"
		if !known {
			t.Errorf("the constraint %s has no message", name)
		}
	}
	for _, name := range words {
		if !slices.Contains(schema, name) {
			t.Errorf("there is a message for %s, which does not exist", name)
		}
	}
}
