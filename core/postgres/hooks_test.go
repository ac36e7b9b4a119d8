package postgres_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/hooks"
)

// aHook is a valid hook with every field filled in that has no other table behind it.
func aHook(name string) hooks.Definition {
	return hooks.Definition{TenantID: core.DefaultTenant, Name: name, Type: "audit", Level: hooks.Tool,
		Events: []hooks.Event{hooks.ToolBefore, "server:failed"}, Pattern: "gh_*", Servers: []string{"github"}, Agents: []string{"ide", `a,"b"`},
		Mode: hooks.Observe, OnError: hooks.Disable, Priority: -7, Timeout: 1500 * time.Millisecond, Enabled: true,
		Config: json.RawMessage(`{"b":1, "a": "\u0000", "n": 12345678901234567890}`)}
}

func createHook(t *testing.T, store *postgres.Store, d hooks.Definition) hooks.Definition {
	t.Helper()
	return must(store.CreateHook(t.Context(), by("hook.create"), d))(t)
}

func createUser(t *testing.T, store *postgres.Store, name string) core.User {
	t.Helper()
	return must(store.CreateUser(t.Context(), by("user.create"), core.User{Name: name}))(t)
}

func allHooks(t *testing.T, store *postgres.Store) ([]hooks.Definition, int64) {
	t.Helper()
	all, revision, err := store.Hooks(t.Context())
	check(t, err)
	return all, revision
}

func TestHookKeepsEverything(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	want := aHook("mine")
	want.UserID, want.ServerID, want.Owned = createUser(t, store, "ada").ID, createServer(t, store, "github").ID, true
	got := createHook(t, store, want)
	want.Version, want.Origin = 1, hooks.Origin{Kind: hooks.FromDatabase}
	ignore := cmpopts.IgnoreFields(hooks.Definition{}, "ID", "CreatedAt", "UpdatedAt")
	if diff := cmp.Diff(got, want, ignore); diff != "" {
		t.Fatalf("created (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(must(store.Hook(t.Context(), "", got.ID))(t), got); diff != "" {
		t.Errorf("read again (-got +want):\n%s", diff)
	}
	all, revision := allHooks(t, store)
	if diff := cmp.Diff(all, []hooks.Definition{got}); diff != "" || revision != 1 {
		t.Errorf("all hooks at revision %d (-got +want):\n%s", revision, diff)
	}
	entry := must(store.Audit(t.Context(), postgres.AuditFilter{Action: "hook.create"}, core.Page{}))(t).Items[0]
	if entry.ServerID != want.ServerID || !strings.Contains(string(entry.Details), got.ID) || strings.Contains(string(entry.Details), "1234567890") {
		t.Errorf("got audit row %+v, details %s", entry, entry.Details)
	}
}

func TestHookDefaults(t *testing.T) {
	t.Parallel()
	got := createHook(t, pgtest.New(t), hooks.Definition{Name: "a", Type: "audit", Timeout: 1})
	want := hooks.Definition{TenantID: core.DefaultTenant, Name: "a", Type: "audit", Mode: hooks.Enforce, OnError: hooks.Fail,
		Timeout: time.Millisecond, Config: json.RawMessage(`{}`), Version: 1, Origin: hooks.Origin{Kind: hooks.FromDatabase}}
	ignore := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(hooks.Definition{}, "ID", "CreatedAt", "UpdatedAt")}
	if diff := cmp.Diff(got, want, ignore); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestHookRefusals(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	for name, change := range map[string]func(*hooks.Definition){
		"no name":                func(d *hooks.Definition) { d.Name = "" },
		"long name":              func(d *hooks.Definition) { d.Name = strings.Repeat("a", 101) },
		"no type":                func(d *hooks.Definition) { d.Type = "" },
		"type":                   func(d *hooks.Definition) { d.Type = "Audit!" },
		"level":                  func(d *hooks.Definition) { d.Level = "all" },
		"mode":                   func(d *hooks.Definition) { d.Mode = "sometimes" },
		"on error":               func(d *hooks.Definition) { d.OnError = "panic" },
		"negative timeout":       func(d *hooks.Definition) { d.Timeout = -time.Second },
		"a week's timeout":       func(d *hooks.Definition) { d.Timeout = 7 * 24 * time.Hour },
		"config that is no JSON": func(d *hooks.Definition) { d.Config = json.RawMessage(`{`) },
		"unknown user":           func(d *hooks.Definition) { d.UserID = unknownID },
		"user that is no id":     func(d *hooks.Definition) { d.UserID = "ada" },
		"unknown server":         func(d *hooks.Definition) { d.ServerID = unknownID },
		"server that is no id":   func(d *hooks.Definition) { d.ServerID = "github" },
		"nobody's own":           func(d *hooks.Definition) { d.Owned = true },
	} {
		bad := aHook("a")
		change(&bad)
		if _, err := store.CreateHook(t.Context(), by("x"), bad); !errors.Is(err, core.InvalidParams) {
			t.Errorf("%s: got %v, want %s", name, err, core.InvalidParams)
		}
	}
	if all, revision := allHooks(t, store); len(all) != 0 || revision != 0 {
		t.Errorf("%d hooks at revision %d", len(all), revision)
	}
}

// TestHookNamesAreUniqueWithinTheirScope, and free in any other.
func TestHookNamesAreUniqueWithinTheirScope(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	user, server := createUser(t, store, "ada").ID, createServer(t, store, "github").ID
	for _, scope := range [][2]string{{"", ""}, {"", server}, {user, ""}, {user, server}} {
		d := aHook("same")
		d.UserID, d.ServerID = scope[0], scope[1]
		created := createHook(t, store, d)
		_, err := store.CreateHook(t.Context(), by("x"), d)
		wantKind(t, err, core.Conflict)
		other := createHook(t, store, func() hooks.Definition { o := d; o.Name = "other"; return o }())
		other.Name = created.Name
		_, err = store.UpdateHook(t.Context(), by("x"), other)
		wantKind(t, err, core.Conflict)
	}
}

func TestUpdateHookCountsAndGivesAnotherChance(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	d := createHook(t, store, aHook("a"))
	if first := must(store.DisableHook(ctx, d.ID, d.Version, "it panicked"))(t); !first {
		t.Error("somebody else was first")
	}
	disabled := must(store.Hook(ctx, "", d.ID))(t)
	if disabled.DisabledAt.IsZero() || disabled.DisabledReason != "it panicked" || disabled.Version != 1 || !disabled.Enabled {
		t.Fatalf("got %+v", disabled)
	}
	d.Level, d.Owned = "", true // who made it does not change
	updated := must(store.UpdateHook(ctx, by("hook.update"), d))(t)
	if updated.Version != 2 || !updated.DisabledAt.IsZero() || updated.DisabledReason != "" || updated.Level != "" || updated.Owned {
		t.Errorf("got %+v", updated)
	}
	_, err := store.UpdateHook(ctx, by("x"), d) // still at version 1
	wantKind(t, err, core.Conflict)
	check(t, store.DeleteHook(ctx, by("hook.delete"), "", d.ID))
	wantKind(t, store.DeleteHook(ctx, by("x"), "", d.ID), core.NotFound)
	_, err = store.UpdateHook(ctx, by("x"), updated)
	wantKind(t, err, core.NotFound)
	if _, revision := allHooks(t, store); revision != 4 {
		t.Errorf("got revision %d, want one for each of four changes", revision)
	}
}

// TestDisableHookOnce: however many instances find out, there is one audit row, and
// an edit that came first is left alone.
func TestDisableHookOnce(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	d := createHook(t, store, aHook("a"))
	disable := func(id string, version int64, reason string) bool {
		first, err := store.DisableHook(ctx, id, version, reason)
		check(t, err)
		return first
	}
	var all sync.WaitGroup
	var firsts atomic.Int32
	for i := range 4 {
		all.Go(func() {
			if disable(d.ID, d.Version, fmt.Sprint("failure ", i)) {
				firsts.Add(1)
			}
		})
	}
	all.Wait()
	if firsts.Load() != 1 {
		t.Errorf("%d were the first", firsts.Load())
	}
	rows := must(store.Audit(ctx, postgres.AuditFilter{Action: postgres.ActionDisableHook}, core.Page{}))(t).Items
	if len(rows) != 1 || !strings.Contains(string(rows[0].Details), "failure") || rows[0].Level != core.LevelConfig {
		t.Errorf("got %+v", rows)
	}
	edited := must(store.UpdateHook(ctx, by("hook.update"), d))(t)
	if disable(d.ID, d.Version, "late") {
		t.Error("an edited hook was disabled")
	}
	if got := must(store.Hook(ctx, "", d.ID))(t); !cmp.Equal(got, edited) {
		t.Errorf("(-got +want)\n%s", cmp.Diff(got, edited))
	}
	if disable(unknownID, 1, "gone") {
		t.Error("a hook that is gone was disabled")
	}
	_, err := store.DisableHook(ctx, "no id", 1, "")
	wantKind(t, err, core.NotFound)
}

// TestHooksGoWithTheirScope, and everybody learns of it.
func TestHooksGoWithTheirScope(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	user, server := createUser(t, store, "ada").ID, createServer(t, store, "github").ID
	for _, scope := range [][2]string{{"", ""}, {"", server}, {user, ""}, {user, server}} {
		d := aHook("a")
		d.UserID, d.ServerID = scope[0], scope[1]
		createHook(t, store, d)
	}
	_, before := allHooks(t, store)
	check(t, store.DeleteServer(ctx, by("server.delete"), "", server))
	left, revision := allHooks(t, store)
	if len(left) != 2 || revision <= before {
		t.Errorf("%d hooks left at revision %d, before %d", len(left), revision, before)
	}
	check(t, store.DeleteUser(ctx, by("user.delete"), "", user))
	left, last := allHooks(t, store)
	if len(left) != 1 || left[0].UserID != "" || last <= revision {
		t.Errorf("got %+v at revision %d, before %d", left, last, revision)
	}
	createUser(t, store, "bob")
	check(t, store.DeleteServer(ctx, by("server.delete"), "", createServer(t, store, "other").ID))
	if _, same := allHooks(t, store); same != last {
		t.Errorf("revision %d, want %d: no hook went", same, last)
	}
}

func TestOwnHooksAreBounded(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	own := aHook("x")
	own.UserID, own.Owned = createUser(t, store, "ada").ID, true
	var all sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for i := range postgres.MaxOwnHooks + 5 {
		all.Go(func() {
			d := own
			d.Name = fmt.Sprint("h", i)
			if _, err := store.CreateHook(t.Context(), by("x"), d); errors.Is(err, core.Conflict) {
				mu.Lock()
				refused++
				mu.Unlock()
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if refused != 5 {
		t.Errorf("%d were refused, want 5", refused)
	}
	own.Owned = false // an admin's for the same user
	createHook(t, store, own)
}

func TestHookPages(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	user, server := createUser(t, store, "ada").ID, createServer(t, store, "github").ID
	for i, scope := range [][2]string{{"", ""}, {"", server}, {user, ""}, {user, server}} {
		for j := range 2 {
			d := aHook(fmt.Sprint(i, j))
			d.UserID, d.ServerID, d.Type = scope[0], scope[1], []string{"audit", "webhook"}[j]
			createHook(t, store, d)
		}
	}
	none, upper := "", strings.ToUpper(user)
	for name, c := range map[string]struct {
		filter postgres.HookFilter
		want   int
	}{
		"all":           {postgres.HookFilter{}, 8},
		"type":          {postgres.HookFilter{Type: "webhook"}, 4},
		"no user":       {postgres.HookFilter{UserID: &none}, 4},
		"user":          {postgres.HookFilter{UserID: &upper}, 4},
		"server":        {postgres.HookFilter{ServerID: &server}, 4},
		"user alone":    {postgres.HookFilter{UserID: &user, ServerID: &none}, 2},
		"global":        {postgres.HookFilter{UserID: &none, ServerID: &none}, 2},
		"nobody":        {postgres.HookFilter{UserID: &name0}, 0},
		"other tenants": {postgres.HookFilter{TenantID: unknownID}, 0},
	} {
		got := collect(t, 3, func(p core.Page) (core.List[hooks.Definition], error) {
			return store.HookPage(t.Context(), c.filter, p)
		})
		if len(got) != c.want {
			t.Errorf("%s: got %d hooks, want %d", name, len(got), c.want)
		}
	}
}

var name0 = "x\x00"

// TestChangesOfHooksAreSeen: another store on the same database knows with the
// next request that there is something newer.
func TestChangesOfHooksAreSeen(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	open := func() *postgres.Store {
		store := must(postgres.Open(t.Context(), url, postgres.Options{MaxConns: 4, Lease: 20 * time.Millisecond}))(t)
		t.Cleanup(store.Close)
		return store
	}
	here, there := open(), open()
	check(t, here.EnsureAdmin(t.Context(), "root", secret("s")))
	for range 3 {
		before := must(there.Authenticate(t.Context(), secret("s")))(t).Seen.Hooks
		createHook(t, here, aHook(fmt.Sprint(before)))
		seen := must(there.Authenticate(t.Context(), secret("s")))(t).Seen.Hooks
		if _, revision := allHooks(t, there); seen != before+1 || revision < seen {
			t.Fatalf("seen %d, revision %d, want %d", seen, revision, before+1)
		}
	}
}

// TestOddRowsDoNotBreakLists: what somebody writes past us is either refused by the
// database or readable.
func TestOddRowsDoNotBreakLists(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	insert := func(name, columns, values string) error {
		_, err := conn.Exec(t.Context(), `insert into toolscout.mcp_hooks (id, tenant_id, name, type, level, on_error`+columns+`)
			values (gen_random_uuid(), $1, $2, 'nobody_knows', 'tool', 'fail'`+values+`)`, core.DefaultTenant, name)
		return err
	}
	for name, c := range map[string][2]string{
		"config is a list":   {", config", `, '[1]'`},
		"config is null":     {", config", `, 'null'`},
		"config twice":       {", config", `, '{"a":1,"a":2}'`},
		"events are strange": {", events", `, '{"",x:y}'`},
		"empty pattern":      {", pattern", `, ''`},
		"reason alone":       {", disabled_reason", `, 'why'`},
	} {
		check(t, insert(name, c[0], c[1]))
	}
	for name, c := range map[string][2]string{
		"null in a list":      {", events", `, '{null}'`},
		"list of lists":       {", servers", `, '{{a,b},{c,d}}'`},
		"empty list of lists": {", agents", `, '{{a}}'`},
		"endless date":        {", updated_at", `, 'infinity'`},
		"disabled forever":    {", disabled_at", `, '-infinity'`},
	} {
		if insert(name, c[0], c[1]) == nil {
			t.Errorf("%s: not refused", name)
		}
	}
	if all, _ := allHooks(t, store); len(all) != 6 {
		t.Errorf("got %d hooks", len(all))
	}
	if list := must(store.HookPage(t.Context(), postgres.HookFilter{}, core.Page{}))(t); len(list.Items) != 6 {
		t.Errorf("got a page of %d hooks", len(list.Items))
	}
}
