package postgres_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

func TestLeases_ask_once_while_one_is_valid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		principal, wait := postgres.Leases(20*time.Millisecond, func(context.Context, [32]byte) (core.Principal, error) {
			return core.Principal{UserID: fmt.Sprint(asked.Add(1))}, nil
		})
		defer wait()
		at := func(after time.Duration, want string) {
			t.Helper()
			time.Sleep(after)
			p, err := principal(t.Context(), [32]byte{1})
			if err != nil || p.UserID != want {
				t.Errorf("got %v, %v, want the answer to question %s", p.UserID, err, want)
			}
			synctest.Wait()
		}
		at(0, "1")
		at(9*time.Millisecond, "1")  // first half
		at(3*time.Millisecond, "1")  // second half: renewed behind the caller
		at(9*time.Millisecond, "2")  // from the renewal
		at(30*time.Millisecond, "3") // run out
	})
}

func TestLeases_keep_no_refusal(t *testing.T) {
	t.Parallel()
	refused := errors.New("no")
	answers := []error{refused, nil}
	principal, wait := postgres.Leases(time.Hour, func(context.Context, [32]byte) (core.Principal, error) {
		err := answers[0]
		answers = answers[1:]
		return core.Principal{}, err
	})
	defer wait()
	for _, want := range []error{refused, nil, nil} {
		if _, err := principal(t.Context(), [32]byte{}); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

// TestAuthenticate_leased changes things through one store while others, which
// hold leases, are busy: whoever asks after the change is done must see it.
func TestAuthenticate_leased(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	open := func() *postgres.Store {
		s, err := postgres.Open(t.Context(), url, postgres.Options{Lease: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	writer, reader := open(), open()
	secret := sha256.Sum256([]byte("secret"))
	by := core.Request{ID: "r", Principal: core.Principal{TenantID: core.DefaultTenant}}.Entry(core.LevelConfig, "test")
	user, err := writer.CreateUser(t.Context(), by, core.User{Name: "ann", Roles: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	token, err := writer.CreateToken(t.Context(), by, core.Token{UserID: user.ID, Name: "t"}, secret)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for range 4 {
		busy.Go(func() {
			for ctx.Err() == nil {
				_, _ = reader.Authenticate(ctx, secret) // only to keep leases young
			}
		})
	}
	for i := range 30 {
		user.Roles = []string{fmt.Sprint("role", i)}
		if user, err = writer.UpdateUser(t.Context(), by, user); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*postgres.Store{reader, writer} {
			p, err := s.Authenticate(t.Context(), secret)
			if err != nil || !slices.Equal(p.Roles, user.Roles) {
				t.Fatalf("change %d: got %v, %v, want %v", i, p.Roles, err, user.Roles)
			}
		}
	}
	if err := writer.RevokeToken(t.Context(), by, core.DefaultTenant, user.ID, token.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Authenticate(t.Context(), secret); !errors.Is(err, core.Unauthenticated) {
		t.Errorf("got %v for a revoked token", err)
	}
	stop()
	busy.Wait()
}
