package access_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/access"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

var by = core.AuditEntry{Level: core.LevelConfig, Action: "test"}

// world is a database with a user.
type world struct {
	t     testing.TB
	store *postgres.Store
	user  core.User
	hash  [32]byte
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, store: pgtest.New(t), hash: sha256.Sum256([]byte("ann"))}
	var err error
	if w.user, err = w.store.CreateUser(t.Context(), by, core.User{Name: "ann", Roles: []string{"ops"}}); err != nil {
		t.Fatal(err)
	}
	if _, err = w.store.CreateToken(t.Context(), by, core.Token{UserID: w.user.ID, Name: "test"}, w.hash); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) principal() core.Principal {
	w.t.Helper()
	p, err := w.store.Authenticate(w.t.Context(), w.hash)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) server(s core.Server) core.Server {
	w.t.Helper()
	s.Transport, s.URL = core.HTTP, "http://127.0.0.1:1"
	created, err := w.store.CreateServer(w.t.Context(), by, s)
	if err != nil {
		w.t.Fatal(err)
	}
	return created
}

// on gives the names of the servers that are on.
func (w *world) on(r *access.Registry) []string {
	w.t.Helper()
	v, err := r.View(w.t.Context(), w.principal())
	if err != nil {
		w.t.Fatal(err)
	}
	names := []string{}
	for _, id := range v.On() {
		s, ok := v.Server(id)
		if !ok {
			w.t.Fatalf("server %s is on and cannot be seen", id)
		}
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

// TestChangesBiteAtTheNextCall on every instance, whichever made the change.
func TestChangesBiteAtTheNextCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	instances := []*access.Registry{access.New(access.Config{Store: w.store}), access.New(access.Config{Store: w.store})}
	expect := func(step string, want ...string) {
		t.Helper()
		for i, r := range instances {
			if diff := cmp.Diff(w.on(r), append([]string{}, want...)); diff != "" {
				t.Errorf("%s, instance %d: %s", step, i, diff)
			}
		}
	}
	ctx := t.Context()
	expect("at first")
	a := w.server(core.Server{Name: "a"})
	b := w.server(core.Server{Name: "b", RequiredRoles: []string{"ops"}})
	expect("two servers", "a", "b")
	if err := w.store.SetEnabled(ctx, by, w.user.ID, a.ID, false); err != nil {
		t.Fatal(err)
	}
	expect("one is off", "b")
	w.user.Roles = nil
	if _, err := w.store.UpdateUser(ctx, by, w.user); err != nil {
		t.Fatal(err)
	}
	expect("the role is gone")
	if err := w.store.SetEnabled(ctx, by, w.user.ID, a.ID, true); err != nil {
		t.Fatal(err)
	}
	b.RequiredRoles = nil
	if _, err := w.store.UpdateServer(ctx, by, b); err != nil {
		t.Fatal(err)
	}
	expect("both again", "a", "b")
	if err := w.store.DeleteServer(ctx, by, core.DefaultTenant, a.ID); err != nil {
		t.Fatal(err)
	}
	expect("one is deleted", "b")
}

func TestView(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := access.New(access.Config{Store: w.store})
	on, off := w.server(core.Server{Name: "on"}), w.server(core.Server{Name: "off"})
	hidden := w.server(core.Server{Name: "hidden", Visibility: core.Hidden})
	if err := w.store.SetEnabled(t.Context(), by, w.user.ID, off.ID, false); err != nil {
		t.Fatal(err)
	}
	v, err := r.View(t.Context(), w.principal())
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]core.Access{on.ID: core.On, off.ID: core.Off, hidden.ID: core.Invisible, "nonsense": core.Invisible} {
		if got := v.Access(id); got != want {
			t.Errorf("%s is %v, want %v", id, got, want)
		}
	}
	var names []string
	for _, s := range v.Servers() {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff(names, []string{"off", "on"}); diff != "" {
		t.Error(diff)
	}
	if _, ok := v.Server(hidden.ID); ok {
		t.Error("a hidden server can be seen")
	}
	if s, err := r.Server(t.Context(), hidden.ID, 0); err != nil || s.Name != "hidden" {
		t.Errorf("got %v, %v", s, err)
	}
	if _, err := r.Server(t.Context(), "nonsense", 0); !errors.Is(err, core.NotFound) {
		t.Errorf("got %v", err)
	}
}

func TestViewsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := access.New(access.Config{Store: w.store, Views: 2})
	w.server(core.Server{Name: "a", AgentAllowlist: []string{"x"}})
	p := w.principal()
	for _, agent := range []string{"x", "y", "z", "x", "y", "x"} {
		p.Agent = agent
		v, err := r.View(t.Context(), p)
		if err != nil || len(v.On()) == 1 != (agent == "x") {
			t.Errorf("%s sees %v, %v", agent, v.On(), err)
		}
	}
}

func TestDatabaseBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := access.New(access.Config{Store: w.store})
	p := w.principal()
	p.Seen.Catalog += 1000
	if _, err := r.View(t.Context(), p); !errors.Is(err, core.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	p = w.principal()
	p.Seen.User += 1000
	if _, err := r.View(t.Context(), p); !errors.Is(err, core.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
}

func TestManyAtOnceWhileThingsChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := access.New(access.Config{Store: w.store})
	s := w.server(core.Server{Name: "a"})
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for ctx.Err() == nil {
				p, err := w.store.Authenticate(ctx, w.hash)
				if err != nil {
					return
				}
				v, err := r.View(ctx, p)
				if err == nil && (v.Catalog() < p.Seen.Catalog) {
					t.Error("an old view")
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 30 {
		// Whoever authenticates after the change sees it.
		if err := w.store.SetEnabled(t.Context(), by, w.user.ID, s.ID, i%2 == 0); err != nil {
			t.Fatal(err)
		}
		if got, want := len(w.on(r)), (i+1)%2; got != want {
			t.Errorf("after change %d: %d servers on, want %d", i, got, want)
		}
		s.Description = string(rune('a' + i%26))
		s.Version = 0
		if _, err := w.store.UpdateServer(t.Context(), by, s); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	readers.Wait()
}

func BenchmarkFreshView(b *testing.B) {
	w := newWorld(b)
	r := access.New(access.Config{Store: w.store})
	s := w.server(core.Server{Name: "a"})
	p := w.principal()
	b.ReportAllocs()
	for b.Loop() {
		v, err := r.View(b.Context(), p)
		if err != nil || v.Access(s.ID) != core.On || len(v.On()) != 1 {
			b.Fatal(err)
		}
	}
}
