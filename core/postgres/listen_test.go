package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core"
)

func TestListen(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	notices, ended := make(chan string, 100), make(chan error, 1)
	go func() {
		ended <- store.Listen(ctx, func(payload string) {
			if !strings.HasPrefix(payload, "events ") { // each change has its event
				notices <- payload
			}
		})
	}()
	if got := <-notices; got != "" {
		t.Fatalf("got %q at first, want an empty notice: some may have been missed", got)
	}
	user := must(store.CreateUser(ctx, by("x"), core.User{Name: "ann"}))(t)
	server := createServer(t, store, "a")
	check(t, store.SetEnabled(ctx, by("x"), user.ID, server.ID, true))
	model := must(store.EnsureModel(ctx, "p", "m", 3))(t)
	check(t, store.ActivateModel(ctx, model.ID))
	for _, want := range []string{"catalog 1", "user " + user.ID, "model 1"} {
		if got := <-notices; got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}

	exec(t, conn, `select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and application_name = 'toolscout listen'`)
	if got := <-notices; got != "" {
		t.Fatalf("got %q after the connection was lost, want an empty notice", got)
	}
	must(store.UpdateUser(ctx, by("x"), user))(t)
	if got := <-notices; got != "user "+user.ID {
		t.Fatalf("got %q", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatalf("got %v at the end, want no error", err)
	}
}
