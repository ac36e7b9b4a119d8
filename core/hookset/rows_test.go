package hookset_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/secret"
	"github.com/toolscout/toolscout/hooks"
)

var by = core.AuditEntry{Level: core.LevelConfig, Action: "test"}

// world is a database with two users.
type world struct {
	t      testing.TB
	url    string
	store  *postgres.Store
	box    *secret.Box
	people map[string]core.User
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, url: pgtest.URL(t), box: secret.New([32]byte{1}), people: map[string]core.User{}}
	var err error
	if w.store, err = postgres.Open(t.Context(), w.url, postgres.Options{MaxConns: 8}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.store.Close)
	for _, name := range []string{"ann", "bob"} {
		u, err := w.store.CreateUser(t.Context(), by, core.User{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.store.CreateToken(t.Context(), by, core.Token{UserID: u.ID, Name: "test", Agent: "cli"}, sha256.Sum256([]byte(name))); err != nil {
			t.Fatal(err)
		}
		w.people[name] = u
	}
	return w
}

// instance is a set on the database, as every process has its own.
func (w *world) instance(ts *types, change ...func(*hookset.Config)) *hookset.Set {
	return newSet(w.t, ts, append([]func(*hookset.Config){func(c *hookset.Config) { c.Store, c.Open = w.store, w.box.Open }}, change...)...)
}

func (w *world) principal(name string) core.Principal {
	w.t.Helper()
	p, err := w.store.Authenticate(w.t.Context(), sha256.Sum256([]byte(name)))
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) create(ts *types, name, typ, config string, change ...func(*hooks.Definition)) hooks.Definition {
	w.t.Helper()
	d := declared(ts, name, typ, config, change...)
	d.Origin = hooks.Origin{Kind: hooks.FromDatabase}
	d.OnError, d.Enabled = cmp.Or(d.OnError, hooks.Ignore), true // also of a type that does not exist
	d, err := w.store.CreateHook(w.t.Context(), by, d)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) update(d hooks.Definition) hooks.Definition {
	w.t.Helper()
	d, err := w.store.UpdateHook(w.t.Context(), by, d)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// TestChangesActAtTheNextCall on every instance, whichever made them.
func TestChangesActAtTheNextCall(t *testing.T) {
	t.Parallel()
	w, ts := newWorld(t), newTypes()
	instances := []*hookset.Set{w.instance(ts), w.instance(newTypes())}
	expect := func(step, anns, bobs string) {
		t.Helper()
		for i, s := range instances {
			for name, want := range map[string]string{"ann": anns, "bob": bobs} {
				if sent, _, _, err := through(t, s, w.principal(name)); sent != "args"+want || err != nil {
					t.Errorf("%s, instance %d, %s: got %s, %v, want args%s", step, i, name, sent, err, want)
				}
			}
		}
	}
	expect("at first", "", "")
	all := w.create(ts, "all", "tag", `{"text":"all"}`)
	mine := w.create(ts, "mine", "tag", `{"text":"mine"}`, func(d *hooks.Definition) { d.UserID = w.people["ann"].ID })
	expect("two hooks", "+all+mine", "+all")
	all.Config = json.RawMessage(`{"text":"ALL"}`)
	all = w.update(all)
	expect("one is edited", "+ALL+mine", "+ALL")
	mine.Enabled = false
	mine = w.update(mine)
	expect("one is off", "+ALL", "+ALL")
	mine.Enabled, mine.UserID = true, w.people["bob"].ID
	w.update(mine)
	expect("it is another's", "+ALL", "+ALL+mine")
	if err := w.store.DeleteHook(t.Context(), by, core.DefaultTenant, all.ID); err != nil {
		t.Fatal(err)
	}
	expect("one is deleted", "", "+mine")
}

// TestADatabaseThatWentBack to an earlier state has the hooks of that.
func TestADatabaseThatWentBack(t *testing.T) {
	t.Parallel()
	w, ts := newWorld(t), newTypes()
	s := w.instance(ts)
	w.create(ts, "one", "tag", `{"text":"one"}`)
	w.create(ts, "two", "tag", `{"text":"two"}`)
	ann := core.Principal{TenantID: core.DefaultTenant, UserID: w.people["ann"].ID} // who has seen nothing yet
	expect := func(want string) {
		t.Helper()
		if err := s.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if sent, _, _, err := through(t, s, ann); sent != want || err != nil {
			t.Errorf("got %s, %v, want %s", sent, err, want)
		}
	}
	expect("args+one+two")
	conn, err := pgx.Connect(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), `delete from toolscout.mcp_hooks where name = 'two'; update toolscout.revision set hooks = hooks - 1`); err != nil {
		t.Fatal(err)
	}
	expect("args+one")
}

// TestCallUnderWay goes by what was there when it began, and what left is closed
// after it.
func TestCallUnderWay(t *testing.T) {
	t.Parallel()
	w, ts := newWorld(t), newTypes()
	s := w.instance(ts)
	d := w.create(ts, "one", "tag", `{"text":"one"}`)
	e, err := s.Entries(t.Context(), w.principal("ann"))
	if err != nil {
		t.Fatal(err)
	}
	d.Config = json.RawMessage(`{"text":"two"}`)
	w.update(d)
	if sent, _, _, _ := through(t, s, w.principal("ann")); sent != "args+two" {
		t.Errorf("the next call: %s", sent)
	}
	c := &hooks.Call{Level: hooks.Tool, Tool: &core.Tool{Name: "echo"}, Args: json.RawMessage("args")}
	err = s.Runner().Run(t.Context(), e.Chain(c), c, func(context.Context, *hooks.Call) error { return nil })
	if err != nil || string(c.Args) != "args+one" || ts.counted("closed") != 0 {
		t.Errorf("the call under way: %s, %v, %d closed", c.Args, err, ts.counted("closed"))
	}
	e.Release()
}

// TestBrokenRows become hooks that fail, so that on_error decides.
func TestBrokenRows(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ typ, config, want string }{
		"unknown type":   {"from_the_future", `{}`, `there is no type "from_the_future"`},
		"configuration":  {"tag", `{"x":1}`, "/config/x is not a setting of this type"},
		"not sealed":     {"tag", `{"key":"enc:v1:AAAA"}`, "holds a secret that does not open with this key"},
		"environment":    {"tag", `{"text":"${MISSING}"}`, "the environment variable MISSING is not set"},
		"file":           {"script", `{"file":"/etc/passwd"}`, "files are for hooks of the configuration file"},
		"does not parse": {"script", `{"source":"def ("}`, "source"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, ts := newWorld(t), newTypes()
			s := w.instance(ts)
			d := w.create(ts, "bad", tc.typ, tc.config)
			d.OnError = hooks.Fail
			d = w.update(d)
			_, _, _, err := through(t, s, w.principal("ann"))
			if !errors.Is(err, core.Unavailable) || !strings.Contains(err.Error(), `the hook "bad" cannot be used`) {
				t.Errorf("got %v", err)
			}
			if state := s.State(d); state.State != hookset.Broken || !strings.Contains(state.Reason, tc.want) {
				t.Errorf("got %+v", state)
			}
			d.OnError = hooks.Ignore
			d = w.update(d)
			if sent, _, c, err := through(t, s, w.principal("ann")); err != nil || sent != "args" || len(c.Warnings) != 1 {
				t.Errorf("ignored: %v, %s, %q", err, sent, c.Warnings)
			}
			d.OnError = hooks.Disable
			d = w.update(d)
			if _, _, _, err := through(t, s, w.principal("ann")); err != nil || s.State(d).State != hookset.Broken && s.State(d).State != hookset.Disabled {
				t.Errorf("disabled: %v, %+v", err, s.State(d))
			}
		})
	}
}

// TestSecretsAndOwners: secrets are opened, and what a user wrote reads nothing of
// the environment.
func TestSecretsAndOwners(t *testing.T) {
	t.Parallel()
	w, ts := newWorld(t), newTypes()
	s := w.instance(ts)
	made := func(config string, change ...func(*hooks.Definition)) hooks.Instance {
		t.Helper()
		if err := s.SetFile(hookset.File{OpenToUsers: []string{"tag"}}); err != nil {
			t.Fatal(err)
		}
		d := w.create(ts, "one", "tag", config, change...)
		through(t, s, w.principal("ann"))
		if err := w.store.DeleteHook(t.Context(), by, core.DefaultTenant, d.ID); err != nil {
			t.Fatal(err)
		}
		return ts.last()
	}
	own := func(d *hooks.Definition) { d.UserID, d.Owned = w.people["ann"].ID, true }
	sealed := w.box.Seal("opened")
	if in := made(`{"text":"${A}","key":"` + sealed + `"}`); string(in.Config) != `{"key":"opened","text":"value of A"}` || in.Trusted || in.UserID != "" {
		t.Errorf("an admin's: %s, %+v", in.Config, in)
	}
	if in := made(`{"text":"${A}","key":"`+sealed+`"}`, own); !strings.Contains(string(in.Config), `"text":"${A}"`) || in.UserID != w.people["ann"].ID {
		t.Errorf("a user's own: %s, %+v", in.Config, in)
	}
	if in := made(`{"text":"a","key":"`+w.box.Seal("${SECRET}")+`"}`, own); !strings.Contains(string(in.Config), `"key":"${SECRET}"`) {
		t.Errorf("a user's own secret: %s", in.Config)
	}
}

// TestClosedType: users' own hooks of a type stop acting when it is not open to
// them any more.
func TestClosedType(t *testing.T) {
	t.Parallel()
	w, ts := newWorld(t), newTypes()
	s := w.instance(ts)
	d := w.create(ts, "own", "tag", `{"text":"own"}`, func(d *hooks.Definition) { d.UserID, d.Owned = w.people["ann"].ID, true })
	for _, open := range []bool{false, true, false} {
		f, want, state := hookset.File{}, "args", hookset.Disabled
		if open {
			f, want, state = hookset.File{OpenToUsers: []string{"tag"}}, "args+own", hookset.Active
		}
		if err := s.SetFile(f); err != nil {
			t.Fatal(err)
		}
		if sent, _, _, _ := through(t, s, w.principal("ann")); sent != want || s.State(d).State != state || s.Open("tag") != open {
			t.Errorf("open %v: got %s, %+v", open, sent, s.State(d))
		}
	}
}

// TestDisabledByItsOwnFailure on one instance, a hook of the database is disabled on
// all, and what becomes of it is recorded.
func TestDisabledByItsOwnFailure(t *testing.T) {
	t.Parallel()
	w, ts := newWorld(t), newTypes()
	events := make(chan core.Event, 10)
	s := w.instance(ts, func(c *hookset.Config) {
		c.Publish = func(_ context.Context, e core.Event) error { events <- e; return nil }
	})
	other := w.instance(newTypes())
	if err := s.SetFile(hookset.File{Hooks: []hooks.Definition{declared(ts, "declared", "tag", `{"text":"fail"}`, func(d *hooks.Definition) { d.OnError = hooks.Disable })}}); err != nil {
		t.Fatal(err)
	}
	d := w.create(ts, "stored", "tag", `{"text":"fail"}`, func(d *hooks.Definition) { d.OnError, d.Priority = hooks.Disable, 200 })
	if _, _, c, err := through(t, s, w.principal("ann")); err != nil || len(c.Warnings) != 2 {
		t.Errorf("the first call: %v, %q", err, c.Warnings)
	}
	for range 2 {
		if e := <-events; e.Type != core.EventHookDisabled || !strings.Contains(string(e.Data), `"reason":"out of paper"`) {
			t.Errorf("got %+v %s", e, e.Data)
		}
	}
	for _, set := range []*hookset.Set{s, other} {
		if sent, _, c, err := through(t, set, w.principal("ann")); err != nil || sent != "args" || len(c.Warnings) != 0 {
			t.Errorf("the next call: %v, %s, %q", err, sent, c.Warnings)
		}
	}
	d, err := w.store.Hook(t.Context(), core.DefaultTenant, d.ID)
	if state := s.State(d); err != nil || state.State != hookset.Disabled || state.Reason != "out of paper" || state.Since == nil {
		t.Errorf("got %+v, %v", state, err)
	}
	if state := s.State(s.Definitions()[0]); state.State != hookset.Disabled || state.Reason != "out of paper" {
		t.Errorf("got %+v", state)
	}
	rows, err := w.store.Audit(t.Context(), postgres.AuditFilter{Action: postgres.ActionDisableHook}, core.Page{})
	if err != nil || len(rows.Items) != 2 {
		t.Errorf("got %+v, %v", rows.Items, err)
	}
	d.Config = json.RawMessage(`{"text":"mended"}`)
	w.update(d)
	if sent, _, _, _ := through(t, other, w.principal("ann")); sent != "args+mended" {
		t.Errorf("after an edit: %s", sent)
	}
}

// TestDisabledOnce: of several instances on which a hook fails at once, one tells.
func TestDisabledOnce(t *testing.T) {
	t.Parallel()
	w, ts := newWorld(t), newTypes()
	told := make(chan core.Event, 10)
	var sets []*hookset.Set
	for range 3 {
		sets = append(sets, w.instance(ts, func(c *hookset.Config) {
			c.Publish = func(_ context.Context, e core.Event) error { told <- e; return nil }
		}))
	}
	w.create(ts, "stored", "tag", `{"text":"fail"}`, func(d *hooks.Definition) { d.OnError = hooks.Disable })
	p := w.principal("ann") // who knows of no later revision
	for _, s := range sets {
		if err := s.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range sets {
		if _, _, c, err := through(t, s, p); err != nil || len(c.Warnings) != 1 {
			t.Errorf("%v, warnings %q", err, c.Warnings)
		}
	}
	for _, s := range sets {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(told) != 1 {
		t.Errorf("%d of them told", len(told))
	}
}

func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	w, ts := newWorld(t), newTypes()
	s := w.instance(ts)
	w.create(ts, "one", "tag", `{"text":"one"}`)
	p := w.principal("ann")
	if sent, _, _, _ := through(t, s, p); sent != "args+one" {
		t.Errorf("got %s", sent)
	}
	p.Seen.Hooks += 10
	if _, err := s.Entries(t.Context(), p); !errors.Is(err, core.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	p.Seen.Hooks -= 10
	w.store.Close()
	if sent, _, _, _ := through(t, s, p); sent != "args+one" {
		t.Errorf("without the database: %s", sent)
	}
}
