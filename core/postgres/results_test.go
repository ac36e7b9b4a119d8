package postgres_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
)

// keeper is a user who may keep results, with a server to have them from.
func keeper(t *testing.T, store *postgres.Store, name string) (core.Principal, postgres.Result) {
	t.Helper()
	user := createUser(t, store, name)
	server := createServer(t, store, name)
	p := core.Principal{TenantID: core.DefaultTenant, UserID: user.ID, Agent: "ide"}
	return p, postgres.Result{ID: postgres.NewResultID(), TenantID: p.TenantID, UserID: p.UserID, Agent: p.Agent,
		ServerID: server.ID, PageBytes: 1000, Body: []byte("{\"a\":\"\x00\xff\"}")}
}

func TestResults(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	ctx := t.Context()
	ann, r := keeper(t, store, "ann")
	bob, _ := keeper(t, store, "bob")
	check(t, store.SaveResult(ctx, r, time.Hour))
	got := must(store.Result(ctx, ann, r.ID))(t)
	if diff := cmp.Diff(r, got, cmpopts.IgnoreFields(postgres.Result{}, "ExpiresAt")); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if left := value[float64](t, conn, `select extract(epoch from expires_at - now())::float8 from results`); left < 3500 || left > 3600 {
		t.Errorf("it expires in %g s", left)
	}

	narrowed, elsewhere := ann, ann
	narrowed.Agent = "other"
	elsewhere.TenantID = unknownID
	for name, p := range map[string]core.Principal{"another_user": bob, "another_agent": narrowed, "another_tenant": elsewhere} {
		_, err := store.Result(ctx, p, r.ID)
		if wantKind(t, err, core.NotFound); core.Public(err).Message != "there is no such result" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, id := range []string{"", "x", unknownID, strings.ToUpper(unknownID) + "'"} {
		_, err := store.Result(ctx, ann, id)
		wantKind(t, err, core.NotFound)
	}

	// The database's clock decides.
	exec(t, conn, `update results set expires_at = now()`)
	_, err := store.Result(ctx, ann, r.ID)
	wantKind(t, err, core.NotFound)
	if n := must(store.PruneResults(ctx))(t); n != 1 {
		t.Errorf("pruned %d", n)
	}
}

func TestResults_make_room(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	ctx := t.Context()
	ann, r := keeper(t, store, "ann")
	bob, other := keeper(t, store, "bob")
	check(t, store.SaveResult(ctx, other, time.Hour))
	r.Body = bytes.Repeat([]byte("x"), postgres.MaxResult)
	var ids []string
	for range 6 {
		r.ID = postgres.NewResultID()
		ids = append(ids, r.ID)
		check(t, store.SaveResult(ctx, r, time.Hour))
	}
	for i, id := range ids {
		_, err := store.Result(ctx, ann, id)
		if oldest := i < 2; oldest != (err != nil) {
			t.Errorf("result %d: %v", i, err)
		}
	}
	if _, err := store.Result(ctx, bob, other.ID); err != nil {
		t.Errorf("another user's: %v", err)
	}

	r.ID, r.Body = postgres.NewResultID(), []byte("{}")
	check(t, store.SaveResult(ctx, r, -time.Second))
	r.ID = postgres.NewResultID()
	check(t, store.SaveResult(ctx, r, time.Hour))
	if n := value[int](t, conn, `select count(*) from results where size = 2`); n != 1 {
		t.Errorf("%d small results, want the expired one gone", n)
	}

	r.ID, r.Body = postgres.NewResultID(), make([]byte, postgres.MaxResult+1)
	wantKind(t, store.SaveResult(ctx, r, time.Hour), core.InvalidParams)
}

// Small results are bounded in number.
func TestResults_small(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	_, r := keeper(t, store, "ann")
	exec(t, conn, `insert into results (id, tenant_id, user_id, agent, server_id, created_at, expires_at, page_bytes, size, body)
		select gen_random_uuid(), $1, $2, '', $3, now() - n * interval '1 second', now() + interval '1 hour', 1, 1, 'x'
		from generate_series(1, 2000) n`, r.TenantID, r.UserID, r.ServerID)
	check(t, store.SaveResult(t.Context(), r, time.Hour))
	if n := value[int](t, conn, `select count(*) from results`); n != 1024 {
		t.Errorf("%d results", n)
	}
}

func TestResults_go_with_the_user_and_the_server(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	ctx := t.Context()
	for _, drop := range []func(postgres.Result) error{
		func(r postgres.Result) error { return store.DeleteUser(ctx, by("user.delete"), r.TenantID, r.UserID) },
		func(r postgres.Result) error {
			return store.DeleteServer(ctx, by("server.delete"), r.TenantID, r.ServerID)
		},
	} {
		_, r := keeper(t, store, postgres.NewResultID())
		check(t, store.SaveResult(ctx, r, time.Hour))
		check(t, drop(r))
		if n := value[int](t, conn, `select count(*) from results`); n != 0 {
			t.Errorf("%d results left", n)
		}
	}
}

// TestResults_of_a_server_that_is_deleted: neither side waits for what the other has.
func TestResults_of_a_server_that_is_deleted(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	ctx := t.Context()
	_, r := keeper(t, store, "ann")
	check(t, store.SaveResult(ctx, r, time.Hour))
	exec(t, conn, `update results set expires_at = now()`)
	tx := must(conn.Begin(ctx))(t)
	exec(t, tx.Conn(), `select from mcp_servers for update`)
	saved := make(chan error)
	go func() {
		next := r
		next.ID = postgres.NewResultID()
		saved <- store.SaveResult(ctx, next, time.Hour)
	}()
	for waits := false; !waits; {
		waits = value[bool](t, tx.Conn(), `select exists (select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid)))`)
	}
	exec(t, tx.Conn(), `delete from mcp_servers`)
	check(t, tx.Commit(ctx))
	wantKind(t, <-saved, core.NotFound)
}
