package hookset_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
)

// TestHandleOfWhom: the scope and the servers of a hook go by id or name, also for
// what happens outside calls.
func TestHandleOfWhom(t *testing.T) {
	t.Parallel()
	w, ts := newWorld(t), newTypes()
	var mu sync.Mutex
	var heard []string
	s := w.instance(ts, func(c *hookset.Config) {
		c.Types = append(c.Types, hooks.Type{Name: "hears", Schema: []byte(`{}`), New: func(in hooks.Instance) (hooks.Hook, error) {
			return handlerFunc(func(_ context.Context, e core.Event) error {
				mu.Lock()
				defer mu.Unlock()
				heard = append(heard, in.Name+" "+e.Subject)
				return nil
			}), nil
		}})
	})
	ids := map[string]string{}
	for _, name := range []string{"up", "down"} {
		server, err := w.store.CreateServer(t.Context(), by, core.Server{Name: name, Transport: core.HTTP, URL: "http://127.0.0.1:1", Domain: "general"})
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = server.ID
	}
	var f hookset.File
	for name, change := range map[string]func(*hooks.Definition){
		"all":             func(*hooks.Definition) {},
		"server by name":  func(d *hooks.Definition) { d.ServerID = "up" },
		"server by id":    func(d *hooks.Definition) { d.ServerID = ids["up"] },
		"servers by name": func(d *hooks.Definition) { d.Servers = []string{"other", "up"} },
		"servers by id":   func(d *hooks.Definition) { d.Servers = []string{ids["up"]} },
		"user by name":    func(d *hooks.Definition) { d.UserID = "ann" },
		"user by id":      func(d *hooks.Definition) { d.UserID = w.people["ann"].ID },
	} {
		d := hooks.Definition{Name: name, Type: "hears", TenantID: core.DefaultTenant, OnError: hooks.Ignore, Enabled: true,
			Events: []hooks.Event{"x", core.EventServerFailed}, Origin: hooks.Origin{Kind: hooks.FromFile}}
		change(&d)
		f.Hooks = append(f.Hooks, d)
	}
	if err := s.SetFile(f); err != nil {
		t.Fatal(err)
	}
	for _, e := range []core.Event{
		{Type: core.EventServerFailed, Subject: "up", ServerID: ids["up"]},
		{Type: core.EventServerFailed, Subject: "down", ServerID: ids["down"]},
	} {
		e.TenantID = core.DefaultTenant
		s.Handle(t.Context(), e)
	}
	for _, name := range []string{"ann", "bob"} {
		if err := s.Publish(t.Context(), core.Event{Type: "x", Subject: name, TenantID: core.DefaultTenant, UserID: w.people[name].ID}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Runner().Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(heard)
	want := []string{"all ann", "all bob", "all down", "all up", "server by id up", "server by name up",
		"servers by id up", "servers by name up", "user by id ann", "user by name ann"}
	if diff := cmp.Diff(heard, want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}

// TestPublishWaitsNoLonger than its context for hooks that do not keep up.
func TestPublishWaitsNoLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ts, release := newTypes(), make(chan struct{})
		ts.handle = func(context.Context, core.Event) error { <-release; return nil }
		s := newSet(t, ts, func(c *hookset.Config) { c.Runner = hooks.Config{Queue: 1, Workers: 1} })
		d := declared(ts, "hangs", "handler", `{}`, func(d *hooks.Definition) { d.Events, d.Timeout = []hooks.Event{"x"}, time.Hour })
		if err := s.SetFile(hookset.File{Hooks: []hooks.Definition{d}}); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := s.Publish(ctx, core.Event{Type: "x"}); err != nil {
				t.Error(err)
			}
			cancel()
			synctest.Wait()
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, want 1s", took)
		}
		close(release)
	})
}
