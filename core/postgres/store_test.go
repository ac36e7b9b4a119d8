package postgres_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

// unknownID is an id that nothing has.
const unknownID = "00000000-0000-7000-8000-000000000000"

// by is the audit entry of a change that an admin makes.
func by(action string) core.AuditEntry {
	p := core.Principal{TenantID: core.DefaultTenant, UserID: unknownID, UserName: "root"}
	return core.Request{ID: "request-1", Principal: p}.Entry(core.LevelConfig, action)
}

func secret(s string) [32]byte { return sha256.Sum256([]byte(s)) }

// open gives a store on a fresh database, and a way to ask that directly.
func open(t *testing.T) (*postgres.Store, *pgx.Conn) {
	t.Helper()
	url := pgtest.URL(t)
	store, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store, connect(t, url)
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), `set search_path = toolscout, public`); err != nil {
		t.Fatal(err)
	}
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, query string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// value is the one value that a query gives.
func value[T any](t *testing.T, conn *pgx.Conn, query string, args ...any) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

func wantKind(t *testing.T, err error, want core.Kind) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %s", err, want)
	}
}

// must gives a value that has to be there.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesUnreadableURL(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), "postgres://[", postgres.Options{})
	wantKind(t, err, core.InvalidParams)
}

func TestUnreachableDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	store, err := postgres.Open(t.Context(), "postgres://nobody@127.0.0.1:1/none", postgres.Options{})
	check(t, err)
	defer store.Close()
	wantKind(t, store.Ready(t.Context()), core.Unavailable)
	wantKind(t, store.Migrate(t.Context()), core.Unavailable)
	if err := store.Migrate(t.Context()); !postgres.Away(err) {
		t.Errorf("%v does not count as a database that is away", err)
	}
	_, err = store.Authenticate(t.Context(), secret("x"))
	wantKind(t, err, core.Unavailable)
	wantKind(t, store.AppendAudit(t.Context(), []core.AuditEntry{{}}, nil), core.Unavailable)
}

func TestClosedStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	store, err := postgres.Open(t.Context(), pgtest.URL(t), postgres.Options{})
	check(t, err)
	store.Close()
	_, err = store.Models(t.Context())
	wantKind(t, err, core.Unavailable)
}

func TestCancelledCallIsNotUnavailable(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := store.Models(ctx)
	if !errors.Is(err, context.Canceled) || errors.Is(err, core.Unavailable) {
		t.Fatalf("got %v, want a cancelled context", err)
	}
}

// A restart of Postgres ends every connection. The pool may fail once for each of
// them, each time as Unavailable, and then works again.
func TestPoolRecoversFromLostConnections(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if _, err := store.Models(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	exec(t, conn, `select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and pid <> pg_backend_pid()`)
	var err error
	for range 20 {
		if _, err = store.Models(t.Context()); err == nil {
			break
		}
		wantKind(t, err, core.Unavailable)
	}
	check(t, err)
	check(t, store.Ready(t.Context()))
}

func TestMalformedIDsAreNotFound(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	for _, id := range []string{"", "x", unknownID, "00000000-0000-7000-8000-00000000000g", "urn:uuid:" + unknownID, "a\x00b"} {
		calls := map[string]func() error{
			"User":       func() error { _, err := store.User(ctx, "", id); return err },
			"UpdateUser": func() error { _, err := store.UpdateUser(ctx, by("x"), core.User{ID: id, Name: "a"}); return err },
			"DeleteUser": func() error { return store.DeleteUser(ctx, by("x"), "", id) },
			"CreateToken": func() error {
				_, err := store.CreateToken(ctx, by("x"), core.Token{UserID: id, Name: "a"}, secret("a"))
				return err
			},
			"Tokens":        func() error { _, err := store.Tokens(ctx, "", id, core.Page{}); return err },
			"RevokeToken":   func() error { return store.RevokeToken(ctx, by("x"), "", unknownID, id) },
			"Server":        func() error { _, err := store.Server(ctx, "", id); return err },
			"UpdateServer":  func() error { _, err := store.UpdateServer(ctx, by("x"), core.Server{ID: id}); return err },
			"DeleteServer":  func() error { return store.DeleteServer(ctx, by("x"), "", id) },
			"SetHealth":     func() error { return store.SetHealth(ctx, id, core.Health{State: core.Healthy}) },
			"SetEra":        func() error { return store.SetEra(ctx, id, "modern") },
			"SetPreference": func() error { return store.SetPreference(ctx, by("x"), id, id, core.Preference{}) },
			"SetEnabled":    func() error { return store.SetEnabled(ctx, by("x"), id, id, true) },
			"Preferences":   func() error { _, _, err := store.Preferences(ctx, id); return err },
			"Tool":          func() error { _, err := store.Tool(ctx, id); return err },
			"ApplyTools":    func() error { _, err := store.ApplyTools(ctx, id, postgres.ToolDiff{}); return err },
			"ApplyExtras":   func() error { return store.ApplyExtras(ctx, id, nil, nil) },
		}
		for name, call := range calls {
			if err := call(); !errors.Is(err, core.NotFound) {
				t.Errorf("%s(%q): got %v, want %s", name, id, err, core.NotFound)
			}
		}
	}
}

func TestMalformedIDsInListsAreLeftOut(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	bad := []string{"x", "", unknownID, "a\x00"}
	if got := must(store.ToolsByID(ctx, bad))(t); len(got) != 0 {
		t.Errorf("got %v, want nothing", got)
	}
	if got := must(store.ToolPage(ctx, postgres.ToolFilter{Servers: bad}, core.Page{}))(t); got.Items == nil || len(got.Items) != 0 {
		t.Errorf("got %v, want an empty list", got)
	}
	if got := must(store.DomainCounts(ctx, bad))(t); len(got) != 0 {
		t.Errorf("got %v, want nothing", got)
	}
	if got := must(store.ServerTools(ctx, "x"))(t); len(got) != 0 {
		t.Errorf("got %v, want nothing", got)
	}
}

func TestCursorsThatNoListGaveOutAreInvalid(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	user := must(store.CreateUser(ctx, by("x"), core.User{Name: "a"}))(t)
	for _, cursor := range []string{"x", "!!!", "e30", "bnVsbA", "W10", "eyJpIjoieCJ9", "eyJrIjoiXHUwMDAwIiwiaSI6IjAwMDAwMDAwLTAwMDAtNzAwMC04MDAwLTAwMDAwMDAwMDAwMCJ9"} {
		p := core.Page{Cursor: cursor}
		calls := map[string]func() error{
			"Users":    func() error { _, err := store.Users(ctx, "", p); return err },
			"Tokens":   func() error { _, err := store.Tokens(ctx, "", user.ID, p); return err },
			"Servers":  func() error { _, err := store.Servers(ctx, postgres.ServerFilter{}, p); return err },
			"ToolPage": func() error { _, err := store.ToolPage(ctx, postgres.ToolFilter{}, p); return err },
			"HookPage": func() error { _, err := store.HookPage(ctx, postgres.HookFilter{}, p); return err },
			"Audit":    func() error { _, err := store.Audit(ctx, postgres.AuditFilter{}, p); return err },
			"Usage":    func() error { _, err := store.Usage(ctx, postgres.AuditFilter{}, p); return err },
		}
		for name, call := range calls {
			if err := call(); !errors.Is(err, core.InvalidParams) {
				t.Errorf("%s(%q): got %v, want %s", name, cursor, err, core.InvalidParams)
			}
		}
	}
}

// collect reads a list to its end in pages of n.
func collect[T any](t *testing.T, n int, list func(core.Page) (core.List[T], error)) []T {
	t.Helper()
	var all []T
	p := core.Page{Limit: n}
	for {
		got, err := list(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Items) > n {
			t.Fatalf("got a page of %d items, want at most %d", len(got.Items), n)
		}
		all = append(all, got.Items...)
		if got.NextCursor == "" {
			return all
		}
		p.Cursor = got.NextCursor
	}
}

func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	exec(t, conn, `insert into users (id, tenant_id, name)
		select gen_random_uuid(), $1, 'user ' || n from generate_series(1, 300) n`, core.DefaultTenant)
	for limit, want := range map[int]int{-1: core.DefaultLimit, 0: core.DefaultLimit, 7: 7, 1000: core.MaxLimit} {
		got := must(store.Users(t.Context(), "", core.Page{Limit: limit}))(t)
		if len(got.Items) != want {
			t.Errorf("limit %d: got %d users, want %d", limit, len(got.Items), want)
		}
	}
	all := collect(t, 37, func(p core.Page) (core.List[core.User], error) { return store.Users(t.Context(), "", p) })
	seen := map[string]bool{}
	for i, u := range all {
		seen[u.ID] = true
		if i > 0 && all[i-1].Name > u.Name {
			t.Fatalf("got %q before %q", all[i-1].Name, u.Name)
		}
	}
	if len(all) != 300 || len(seen) != 300 {
		t.Fatalf("got %d users, %d different ones, want 300", len(all), len(seen))
	}
}

func ExampleOpen() {
	_, err := postgres.Open(context.Background(), "not a url", postgres.Options{})
	fmt.Println(core.Public(err).Message)
	// Output: the database URL cannot be read
}
