package postgres_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	user := must(store.CreateUser(ctx, by("user.create"), core.User{Name: "ann", Roles: []string{"dev", "admin"}}))(t)
	token := must(store.CreateToken(ctx, by("token.create"), core.Token{UserID: user.ID, Name: "laptop", Agent: "claude"}, secret("s")))(t)

	got := must(store.Authenticate(ctx, secret("s")))(t)
	want := core.Principal{TenantID: core.DefaultTenant, UserID: user.ID, UserName: "ann", Roles: []string{"admin", "dev"},
		TokenID: token.ID, Agent: "claude"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("principal (-want +got):\n%s", diff)
	}

	server := createServer(t, store, "files")
	check(t, store.SetEnabled(ctx, by("x"), user.ID, server.ID, false))
	got = must(store.Authenticate(ctx, secret("s")))(t)
	if want := (core.Revisions{Catalog: 1, User: 1}); got.Seen != want {
		t.Fatalf("got revisions %+v, want %+v", got.Seen, want)
	}
}

func TestAuthenticateRefuses(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	user := must(store.CreateUser(ctx, by("x"), core.User{Name: "ann"}))(t)
	past, future := time.Now().Add(-time.Second), time.Now().Add(time.Hour)
	must(store.CreateToken(ctx, by("x"), core.Token{UserID: user.ID, Name: "old", ExpiresAt: &past}, secret("expired")))(t)
	must(store.CreateToken(ctx, by("x"), core.Token{UserID: user.ID, Name: "new", ExpiresAt: &future}, secret("good")))(t)
	revoked := must(store.CreateToken(ctx, by("x"), core.Token{UserID: user.ID, Name: "lost"}, secret("revoked")))(t)
	check(t, store.RevokeToken(ctx, by("x"), "", user.ID, revoked.ID))

	must(store.Authenticate(ctx, secret("good")))(t)
	for name, message := range map[string]string{
		"unknown": "the token is not known", "expired": "the token has expired", "revoked": "the token was revoked",
	} {
		_, err := store.Authenticate(ctx, secret(name))
		wantKind(t, err, core.Unauthenticated)
		if got := core.Public(err).Message; got != message {
			t.Errorf("%s: got %q, want %q", name, got, message)
		}
	}
	check(t, store.DeleteUser(ctx, by("x"), "", user.ID))
	_, err := store.Authenticate(ctx, secret("good"))
	wantKind(t, err, core.Unauthenticated)
}

func TestAuthenticateRecordsUse(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	conn := connect(t, url)
	use := func() {
		store, err := postgres.Open(t.Context(), url, postgres.Options{})
		check(t, err)
		check(t, store.EnsureAdmin(t.Context(), "admin", secret("s")))
		must(store.Authenticate(t.Context(), secret("s")))(t)
		store.Close() // waits until the use is written
	}
	use()
	if !value[bool](t, conn, `select last_used_at > now() - interval '5 seconds' from api_tokens`) {
		t.Fatal("the use was not recorded")
	}
	exec(t, conn, `update api_tokens set last_used_at = now() - interval '30 seconds'`)
	use()
	if !value[bool](t, conn, `select last_used_at < now() - interval '20 seconds' from api_tokens`) {
		t.Fatal("the use was recorded again within a minute")
	}
	exec(t, conn, `update api_tokens set last_used_at = now() - interval '2 minutes'`)
	use()
	if !value[bool](t, conn, `select last_used_at > now() - interval '5 seconds' from api_tokens`) {
		t.Fatal("the use was not recorded after a minute")
	}
}

func TestUsesAreSavedOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var saved []string
		var fail error
		uses := postgres.RecordUses(func(_ context.Context, ids []string) error {
			saved = append(saved, ids...)
			return fail
		})
		note := func(id string) {
			uses.Note(id)
			synctest.Wait()
		}
		note("a")
		note("a")
		note("b")
		time.Sleep(time.Minute)
		note("a")
		if want := []string{"a", "b", "a"}; !slices.Equal(saved, want) {
			t.Errorf("got %v, want %v", saved, want)
		}
		// What could not be saved is not held back for a minute.
		fail = errors.New("away")
		note("c")
		note("c")
		if want := []string{"a", "b", "a", "c", "c"}; !slices.Equal(saved, want) {
			t.Errorf("got %v, want %v", saved, want)
		}
		uses.Close()
		uses.Close()
		note("d")
		if slices.Contains(saved, "d") {
			t.Error("saved after the end")
		}
	})
}

func TestEnsureAdmin(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	for range 2 {
		check(t, store.EnsureAdmin(ctx, "admin", secret("one")))
	}
	p := must(store.Authenticate(ctx, secret("one")))(t)
	if !p.Admin() || p.UserName != "admin" {
		t.Fatalf("got %+v, want an admin", p)
	}
	if got := must(store.Tokens(ctx, "", p.UserID, core.Page{}))(t); len(got.Items) != 1 {
		t.Fatalf("got %d tokens, want 1", len(got.Items))
	}

	check(t, store.EnsureAdmin(ctx, "admin", secret("two")))
	must(store.Authenticate(ctx, secret("two")))(t)
	must(store.Authenticate(ctx, secret("one")))(t)

	check(t, store.RevokeToken(ctx, by("x"), "", p.UserID, p.TokenID))
	check(t, store.EnsureAdmin(ctx, "admin", secret("one")))
	_, err := store.Authenticate(ctx, secret("one"))
	wantKind(t, err, core.Unauthenticated)
}

func TestEnsureAdminGivesTheRole(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	user := must(store.CreateUser(ctx, by("x"), core.User{Name: "ann", Roles: []string{"dev"}}))(t)
	must(store.CreateToken(ctx, by("x"), core.Token{UserID: user.ID, Name: "a"}, secret("ann's")))(t)

	check(t, store.EnsureAdmin(ctx, "ann", secret("s")))
	p := must(store.Authenticate(ctx, secret("s")))(t)
	if p.UserID != user.ID || !p.Admin() || !p.Has("dev") || p.Seen.User != 1 {
		t.Fatalf("got %+v, want ann with both roles and another revision", p)
	}
	wantKind(t, store.EnsureAdmin(ctx, "bob", secret("ann's")), core.Conflict)
	if got := must(store.Users(ctx, "", core.Page{}))(t); len(got.Items) != 1 {
		t.Fatalf("got %d users, want none made by what failed", len(got.Items))
	}
	wantKind(t, store.EnsureAdmin(ctx, "", secret("t")), core.InvalidParams)
}
