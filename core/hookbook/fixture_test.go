package hookbook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookbook"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/secret"
	"github.com/toolscout/toolscout/hooks"
)

// sender is a type with secrets.
func sender(made func(hooks.Instance)) hooks.Type {
	return hooks.Type{Name: "sender", Description: "Sends.", Priority: 300, OnError: hooks.Ignore, Level: hooks.Tool,
		Events: []hooks.Event{hooks.ToolAfter},
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["url"],"properties":{
			"url":{"type":"string","description":"Where to.","pattern":"^(https?://|[$][{])"},
			"key":{"type":"string","description":"With what.","writeOnly":true,"minLength":8,"maxLength":20},
			"headers":{"type":"object","description":"And what else.","additionalProperties":{"type":"string","writeOnly":true}},
			"tries":{"type":"integer","description":"How often.","default":1,"maximum":9}}}`),
		New: func(in hooks.Instance) (hooks.Hook, error) {
			if bytes.Contains(in.Config, []byte("nowhere")) {
				e := core.Errorf(core.InvalidParams, "there is no such place")
				e.Faults = []core.Fault{{Pointer: "/url", Message: "is nowhere"}}
				return nil, e
			}
			made(in)
			return still{}, nil
		}}
}

// guard is a type that is for admins.
func guard() hooks.Type {
	return hooks.Type{Name: "guard", Description: "Guards.", Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{}}`),
		Scopes: []hooks.Scope{hooks.Global, hooks.Server}, New: func(hooks.Instance) (hooks.Hook, error) { return still{}, nil }}
}

type still struct{}

func (still) Before(context.Context, *hooks.Call) error { return nil }
func (still) After(context.Context, *hooks.Call) error  { return nil }

// world is a book on a real database.
type world struct {
	*hookbook.Book
	store *postgres.Store
	set   *hookset.Set

	mu   sync.Mutex
	made []hooks.Instance // what hooks were made of
}

func (w *world) note(in hooks.Instance) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made = append(w.made, in)
}

// all gives what hooks were made of so far.
func (w *world) all() []hooks.Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.made)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{store: pgtest.New(t)}
	box := secret.New([32]byte{1})
	var err error
	w.set, err = hookset.New(hookset.Config{Store: w.store, Open: box.Open,
		Types:  []hooks.Type{sender(w.note), guard()},
		Lookup: func(name string) (string, bool) { return "https://value-of-" + name, name != "UNSET" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.set.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	file := hooks.Definition{Name: "declared", Type: "sender", Pattern: "*", Mode: hooks.Enforce, OnError: hooks.Fail, Timeout: hooks.DefaultTimeout,
		Enabled: true, Config: json.RawMessage(`{"url":"${URL}","key":"in-the-file"}`), Origin: hooks.Origin{Kind: hooks.FromFile, Where: "toolscout.toml:7"}}
	adas := file
	adas.Name, adas.UserID = "for-ada", "ada"
	if err := w.set.SetFile(hookset.File{Hooks: []hooks.Definition{file, adas}, OpenToUsers: []string{"sender"}}); err != nil {
		t.Fatal(err)
	}
	w.Book = hookbook.New(hookbook.Config{Store: w.store, Set: w.set, Secrets: box})
	return w
}

// admin is the audit row of an admin's change.
func admin() *core.AuditEntry {
	by := core.Request{ID: "r", Principal: core.Principal{TenantID: core.DefaultTenant, UserName: "root"}}.Entry(core.LevelConfig, "test")
	return &by
}

// seen is a principal as one who authenticates now.
func (w *world) seen(t *testing.T, p core.Principal) core.Principal {
	t.Helper()
	p.TenantID = core.DefaultTenant
	var err error
	if _, p.Seen.Hooks, err = w.store.Hooks(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// user makes a user who can see the given servers.
func (w *world) user(t *testing.T, name string, servers ...string) *hookbook.Own {
	t.Helper()
	u, err := w.store.CreateUser(t.Context(), *admin(), core.User{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return &hookbook.Own{Principal: w.seen(t, core.Principal{UserID: u.ID, UserName: name}),
		Sees: func(id string) bool { return slices.Contains(servers, id) }}
}

func (w *world) server(t *testing.T, name string) string {
	t.Helper()
	s, err := w.store.CreateServer(t.Context(), *admin(), core.Server{Name: name, Transport: core.Stdio, Command: "run"})
	if err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// patch reads a patch from JSON.
func patch(t *testing.T, text string) hookbook.Patch {
	t.Helper()
	var p hookbook.Patch
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *world) create(t *testing.T, own *hookbook.Own, text string) hookbook.Hook {
	t.Helper()
	h, err := w.Create(t.Context(), admin(), own, patch(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (w *world) update(t *testing.T, own *hookbook.Own, id, text string) hookbook.Hook {
	t.Helper()
	h, err := w.Update(t.Context(), admin(), own, id, patch(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// stored is the configuration as it lies in the database.
func (w *world) stored(t *testing.T, id string) string {
	t.Helper()
	d, err := w.store.Hook(t.Context(), "", id)
	if err != nil {
		t.Fatal(err)
	}
	return string(d.Config)
}

func wantKind(t *testing.T, err error, want core.Kind) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// pointers are where an error finds faults.
func pointers(err error) []string {
	var told *core.Error
	if !errors.As(err, &told) {
		return nil
	}
	var all []string
	for _, f := range told.Faults {
		all = append(all, f.Pointer)
	}
	return all
}
