package postgres_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

func TestUsers(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	ctx := t.Context()
	ann := must(store.CreateUser(ctx, by("user.create"), core.User{Name: "ann", Email: "ann@example.com", Roles: []string{"b", "a", "b"}}))(t)
	want := core.User{ID: ann.ID, Name: "ann", Email: "ann@example.com", Roles: []string{"a", "b"}, CreatedAt: ann.CreatedAt, UpdatedAt: ann.UpdatedAt}
	if diff := cmp.Diff(want, ann); diff != "" {
		t.Fatalf("user (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(ann, must(store.User(ctx, core.DefaultTenant, ann.ID))(t)); diff != "" {
		t.Fatalf("user read again (-want +got):\n%s", diff)
	}
	ann.Roles, ann.Email = nil, ""
	changed := must(store.UpdateUser(ctx, by("user.update"), ann))(t)
	if len(changed.Roles) != 0 || changed.Email != "" || !changed.UpdatedAt.After(changed.CreatedAt) {
		t.Fatalf("got %+v, want no roles, no address and a later update", changed)
	}
	if got := value[int64](t, conn, `select revision from users`); got != 1 {
		t.Fatalf("got revision %d, want 1", got)
	}
	check(t, store.DeleteUser(ctx, by("user.delete"), "", ann.ID))
	_, err := store.User(ctx, "", ann.ID)
	wantKind(t, err, core.NotFound)

	audit := must(store.Audit(ctx, postgres.AuditFilter{ActorID: unknownID}, core.Page{}))(t)
	var actions []string
	for _, e := range audit.Items {
		actions = append(actions, e.Action)
		if e.Outcome != core.OutcomeOK || e.Level != core.LevelConfig || e.Actor != "root" ||
			string(e.Details) != `{"userId":"`+ann.ID+`","userName":"ann"}` {
			t.Errorf("got %+v with details %s", e, e.Details)
		}
	}
	if diff := cmp.Diff([]string{"user.delete", "user.update", "user.create"}, actions); diff != "" {
		t.Fatalf("actions (-want +got):\n%s", diff)
	}
}

func TestUserRefusals(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	must(store.CreateUser(ctx, by("x"), core.User{Name: "ann"}))(t)
	for name, test := range map[string]struct {
		user core.User
		want core.Kind
	}{
		"name taken":        {core.User{Name: "ann"}, core.Conflict},
		"no name":           {core.User{}, core.InvalidParams},
		"spaces around":     {core.User{Name: " x"}, core.InvalidParams},
		"control character": {core.User{Name: "a\nb"}, core.InvalidParams},
		"not an address":    {core.User{Name: "b", Email: "b"}, core.InvalidParams},
		"empty role":        {core.User{Name: "b", Roles: []string{""}}, core.InvalidParams},
	} {
		_, err := store.CreateUser(ctx, by("x"), test.user)
		wantKind(t, err, test.want)
		if core.Public(err).Message == "" {
			t.Errorf("%s: no message", name)
		}
	}
	// A NUL cannot be stored; it becomes the mark for what cannot be shown.
	if got := must(store.CreateUser(ctx, by("x"), core.User{Name: "a\x00b"}))(t); got.Name != "a\uFFFDb" {
		t.Errorf("got name %q", got.Name)
	}
	// What failed left no audit behind.
	if got := must(store.Audit(ctx, postgres.AuditFilter{}, core.Page{}))(t); len(got.Items) != 2 {
		t.Errorf("got %d audit rows, want 2", len(got.Items))
	}
	other := by("x")
	other.TenantID = unknownID
	_, err := store.CreateUser(ctx, other, core.User{Name: "c"})
	wantKind(t, err, core.NotFound)
}

func TestTheLastAdminStays(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	must(store.CreateUser(ctx, by("x"), core.User{Name: "dev", Roles: []string{"dev"}}))(t)
	ann := must(store.CreateUser(ctx, by("x"), core.User{Name: "ann", Roles: []string{"admin"}}))(t)
	wantKind(t, store.DeleteUser(ctx, by("x"), "", ann.ID), core.Conflict)
	_, err := store.UpdateUser(ctx, by("x"), core.User{ID: ann.ID, Name: "ann"})
	wantKind(t, err, core.Conflict)
	must(store.UpdateUser(ctx, by("x"), core.User{ID: ann.ID, Name: "anna", Roles: []string{"admin", "x"}}))(t)

	// Two admins who take the role from each other at once: one of them stays.
	bob := must(store.CreateUser(ctx, by("x"), core.User{Name: "bob", Roles: []string{"admin"}}))(t)
	errs := make([]error, 2)
	var wait sync.WaitGroup
	wait.Go(func() { errs[0] = store.DeleteUser(ctx, by("x"), "", ann.ID) })
	wait.Go(func() { _, errs[1] = store.UpdateUser(ctx, by("x"), core.User{ID: bob.ID, Name: "bob"}) })
	wait.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("got %v and %v, want one of them refused", errs[0], errs[1])
	}
}

func TestDeletingAUserTakesTheirOwnServers(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	ctx := t.Context()
	ann := must(store.CreateUser(ctx, by("x"), core.User{Name: "ann"}))(t)
	shared := createServer(t, store, "shared")
	own := must(store.CreateServer(ctx, by("x"), core.Server{Name: "own", Transport: core.HTTP, URL: "https://a.example",
		Visibility: core.Owned, OwnerID: ann.ID}))(t)
	applyTools(t, store, own.ID, tool("a"))
	check(t, store.SetEnabled(ctx, by("x"), ann.ID, shared.ID, true))
	_, before, err := store.ToolChanges(ctx, 0, 10)
	check(t, err)

	check(t, store.DeleteUser(ctx, by("x"), "", ann.ID))
	_, err = store.Server(ctx, "", own.ID)
	wantKind(t, err, core.NotFound)
	must(store.Server(ctx, "", shared.ID))(t)
	changes, _, err := store.ToolChanges(ctx, before, 10)
	check(t, err)
	if len(changes) != 1 || !changes[0].Removed {
		t.Fatalf("got %+v, want one removed tool", changes)
	}
	if got := value[int](t, conn, `select count(*) from user_mcp_preferences`); got != 0 {
		t.Errorf("got %d preferences, want none", got)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	ann := must(store.CreateUser(ctx, by("x"), core.User{Name: "ann"}))(t)
	bob := must(store.CreateUser(ctx, by("x"), core.User{Name: "bob"}))(t)
	expires := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	first := must(store.CreateToken(ctx, by("token.create"), core.Token{UserID: ann.ID, Name: "one", Agent: "cli", ExpiresAt: &expires}, secret("1")))(t)
	if first.Name != "one" || first.Agent != "cli" || !first.ExpiresAt.Equal(expires) || first.RevokedAt != nil || first.LastUsedAt != nil {
		t.Fatalf("got %+v", first)
	}
	for _, name := range []string{"2", "3", "4", "5"} {
		must(store.CreateToken(ctx, by("x"), core.Token{UserID: ann.ID, Name: name}, secret(name)))(t)
	}
	all := collect(t, 2, func(p core.Page) (core.List[core.Token], error) { return store.Tokens(ctx, "", ann.ID, p) })
	var names []string
	for _, token := range all {
		names = append(names, token.Name)
	}
	if diff := cmp.Diff([]string{"one", "2", "3", "4", "5"}, names); diff != "" {
		t.Fatalf("tokens (-want +got):\n%s", diff)
	}

	wantKind(t, store.RevokeToken(ctx, by("x"), "", bob.ID, first.ID), core.NotFound)
	check(t, store.RevokeToken(ctx, by("x"), "", ann.ID, first.ID))
	at := must(store.Tokens(ctx, "", ann.ID, core.Page{Limit: 1}))(t).Items[0].RevokedAt
	check(t, store.RevokeToken(ctx, by("x"), "", ann.ID, first.ID))
	if again := must(store.Tokens(ctx, "", ann.ID, core.Page{Limit: 1}))(t).Items[0].RevokedAt; at == nil || !again.Equal(*at) {
		t.Fatalf("got revoked at %v and then %v, want the same", at, again)
	}

	_, err := store.CreateToken(ctx, by("x"), core.Token{UserID: bob.ID, Name: "b"}, secret("1"))
	wantKind(t, err, core.Conflict)
	_, err = store.CreateToken(ctx, by("x"), core.Token{UserID: bob.ID}, secret("b"))
	wantKind(t, err, core.InvalidParams)
}
