package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

// createServer registers a plain stdio server.
func createServer(t *testing.T, store *postgres.Store, name string) core.Server {
	t.Helper()
	return must(store.CreateServer(t.Context(), by("server.create"), core.Server{Name: name, Transport: core.Stdio, Command: "run"}))(t)
}

func catalog(t *testing.T, store *postgres.Store) int64 {
	t.Helper()
	_, n, err := store.AllServers(t.Context())
	check(t, err)
	return n
}

func TestServerKeepsEverything(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	owner := must(store.CreateUser(ctx, by("x"), core.User{Name: "ann"}))(t)
	want := core.Server{
		TenantID: core.DefaultTenant, Name: "My files", Description: "Files\nof mine", Domain: "file-system",
		Transport: core.Stdio, Command: "npx", Args: []string{"-y", "", "a,\"b\" {c}"},
		Env: map[string]string{"TOKEN": "${TOKEN}", "EMPTY": ""}, Headers: map[string]string{}, Prefix: "fs_",
		AllowedTools: []string{"a"}, BlockedTools: []string{"b"}, RequiredRoles: []string{"dev"},
		AgentAllowlist: []string{"claude"}, Tags: []string{"t"}, Visibility: core.Owned, OwnerID: owner.ID,
		Isolation: core.PerUser, Timeout: 1500 * time.Millisecond, Status: core.Inactive, Origin: core.FromAPI,
		Health: core.Health{State: core.Stopped}, Version: 1,
	}
	got := must(store.CreateServer(ctx, by("server.create"), want))(t)
	ignore := cmp.Options{cmpopts.IgnoreFields(core.Server{}, "ID", "CreatedAt", "UpdatedAt"), cmpopts.IgnoreFields(core.Health{}, "Since")}
	if diff := cmp.Diff(want, got, ignore); diff != "" {
		t.Fatalf("created (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, must(store.Server(ctx, "", got.ID))(t)); diff != "" {
		t.Fatalf("read again (-want +got):\n%s", diff)
	}
	all, n, err := store.AllServers(ctx)
	check(t, err)
	if diff := cmp.Diff([]core.Server{got}, all); diff != "" || n != 1 {
		t.Fatalf("all servers at revision %d (-want +got):\n%s", n, diff)
	}
	domains := must(store.Domains(ctx, ""))(t)
	if diff := cmp.Diff([]core.Domain{{ID: "file-system", Name: "File system"}}, domains); diff != "" {
		t.Fatalf("domains (-want +got):\n%s", diff)
	}
	entry := must(store.Audit(ctx, postgres.AuditFilter{Action: "server.create"}, core.Page{}))(t).Items[0]
	if entry.ServerID != got.ID || entry.ServerName != "My files" {
		t.Errorf("got audit of %q %q", entry.ServerID, entry.ServerName)
	}
}

func TestServerDefaults(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	got := must(store.CreateServer(t.Context(), by("x"), core.Server{Name: "a", Transport: core.HTTP, URL: "${BASE}/mcp", Timeout: 1}))(t)
	want := core.Server{TenantID: core.DefaultTenant, Name: "a", Domain: "general", Transport: core.HTTP, URL: "${BASE}/mcp",
		Visibility: core.Visible, Isolation: core.Shared, Status: core.Active, Origin: core.FromAPI, Timeout: time.Millisecond,
		Health: core.Health{State: core.Connecting}, Version: 1}
	ignore := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(core.Server{}, "ID", "CreatedAt", "UpdatedAt"),
		cmpopts.IgnoreFields(core.Health{}, "Since")}
	if diff := cmp.Diff(want, got, ignore); diff != "" {
		t.Fatalf("server (-want +got):\n%s", diff)
	}
}

func TestServerRefusals(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	createServer(t, store, "taken")
	good := core.Server{Name: "a", Transport: core.Stdio, Command: "run"}
	for name, change := range map[string]func(*core.Server){
		"no name":              func(s *core.Server) { s.Name = "" },
		"long name":            func(s *core.Server) { s.Name = fmt.Sprintf("%0101d", 1) },
		"transport":            func(s *core.Server) { s.Transport = "carrier pigeon" },
		"no transport":         func(s *core.Server) { s.Transport = "" },
		"no command":           func(s *core.Server) { s.Command = "" },
		"command and URL":      func(s *core.Server) { s.URL = "https://a.example" },
		"HTTP without URL":     func(s *core.Server) { s.Transport, s.Command = core.HTTP, "" },
		"HTTP with command":    func(s *core.Server) { s.Transport, s.URL = core.HTTP, "https://a.example" },
		"another URL scheme":   func(s *core.Server) { s.Transport, s.Command, s.URL = core.HTTP, "", "file:///etc/passwd" },
		"headers of stdio":     func(s *core.Server) { s.Headers = map[string]string{"a": "b"} },
		"prefix":               func(s *core.Server) { s.Prefix = "a b" },
		"domain":               func(s *core.Server) { s.Domain = "No Slug" },
		"visibility":           func(s *core.Server) { s.Visibility = "secret" },
		"isolation":            func(s *core.Server) { s.Isolation = "total" },
		"status":               func(s *core.Server) { s.Status = "broken" },
		"origin":               func(s *core.Server) { s.Origin = "nowhere" },
		"negative timeout":     func(s *core.Server) { s.Timeout = -time.Second },
		"a week's timeout":     func(s *core.Server) { s.Timeout = 7 * 24 * time.Hour },
		"user without owner":   func(s *core.Server) { s.Visibility = core.Owned },
		"owner without user":   func(s *core.Server) { s.OwnerID = unknownID },
		"unknown owner":        func(s *core.Server) { s.Visibility, s.OwnerID = core.Owned, unknownID },
		"owner that is no id":  func(s *core.Server) { s.Visibility, s.OwnerID = core.Owned, "ann" },
		"overlong description": func(s *core.Server) { s.Description = fmt.Sprintf("%010001d", 1) },
	} {
		bad := good
		change(&bad)
		if _, err := store.CreateServer(ctx, by("x"), bad); !errors.Is(err, core.InvalidParams) {
			t.Errorf("%s: got %v, want %s", name, err, core.InvalidParams)
		}
	}
	good.Name = "taken"
	_, err := store.CreateServer(ctx, by("x"), good)
	wantKind(t, err, core.Conflict)
	good.Name, good.TenantID = "a", unknownID
	_, err = store.CreateServer(ctx, by("x"), good)
	wantKind(t, err, core.NotFound)
	if got := catalog(t, store); got != 1 {
		t.Errorf("got revision %d after refusals, want 1", got)
	}
}

func TestOneOfManyGetsTheName(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	errs := make([]error, 8)
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() {
			_, errs[i] = store.CreateServer(t.Context(), by("x"), core.Server{Name: "a", Transport: core.Stdio, Command: "run"})
		})
	}
	wait.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
			continue
		}
		wantKind(t, err, core.Conflict)
	}
	if made != 1 || catalog(t, store) != 1 {
		t.Fatalf("got %d servers and revision %d, want 1 and 1", made, catalog(t, store))
	}
}

func TestUpdateServer(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	server := createServer(t, store, "a")
	createServer(t, store, "b")
	check(t, store.SetEra(ctx, server.ID, "modern"))
	server = must(store.Server(ctx, "", server.ID))(t)

	// The same again is not an edit.
	same := must(store.UpdateServer(ctx, by("x"), server))(t)
	if diff := cmp.Diff(server, same); diff != "" || catalog(t, store) != 2 {
		t.Fatalf("unchanged at revision %d (-want +got):\n%s", catalog(t, store), diff)
	}
	change := server
	change.Description, change.RequiredRoles, change.Origin = "new", []string{"dev"}, core.FromFile
	got := must(store.UpdateServer(ctx, by("x"), change))(t)
	if got.Version != 2 || got.Description != "new" || got.Era != "modern" || got.Origin != core.FromAPI || catalog(t, store) != 3 {
		t.Fatalf("got %+v at revision %d", got, catalog(t, store))
	}
	change.Version = 1
	_, err := store.UpdateServer(ctx, by("x"), change)
	wantKind(t, err, core.Conflict)

	change.Version, change.Command = 2, "walk"
	if got = must(store.UpdateServer(ctx, by("x"), change))(t); got.Era != "" {
		t.Fatalf("got era %q after another command, want none", got.Era)
	}
	check(t, store.SetEra(ctx, server.ID, "modern"))
	change.Version, change.Args = 0, []string{"-y", "another-package"}
	if got = must(store.UpdateServer(ctx, by("x"), change))(t); got.Era != "" {
		t.Fatalf("got era %q after other arguments, want none", got.Era)
	}
	check(t, store.SetHealth(ctx, server.ID, core.Health{State: core.Healthy}))
	change.Status = core.Inactive
	if got = must(store.UpdateServer(ctx, by("x"), change))(t); got.Health.State != core.Stopped {
		t.Fatalf("got health %+v of an inactive server, want stopped", got.Health)
	}
	change.Status = core.Active
	if got = must(store.UpdateServer(ctx, by("x"), change))(t); got.Health.State != core.Connecting {
		t.Fatalf("got health %+v of a server that is active again, want connecting", got.Health)
	}
	change.Version, change.Name = 0, "b"
	_, err = store.UpdateServer(ctx, by("x"), change)
	wantKind(t, err, core.Conflict)
	change.TenantID = unknownID
	_, err = store.UpdateServer(ctx, by("x"), change)
	wantKind(t, err, core.NotFound)
}

func TestObservationsAreNoEdits(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	server := createServer(t, store, "a")
	seen := time.Now().UTC().Truncate(time.Second)
	health := core.Health{State: core.Unstable, Stage: "call", Message: "cut \x00 off", Since: seen, LastSeen: &seen}
	check(t, store.SetHealth(ctx, server.ID, health))
	check(t, store.SetEra(ctx, server.ID, "legacy"))
	got := must(store.Server(ctx, "", server.ID))(t)
	health.Message = "cut \uFFFD off"
	if diff := cmp.Diff(health, got.Health); diff != "" {
		t.Fatalf("health (-want +got):\n%s", diff)
	}
	if got.Era != "legacy" || got.Version != 1 || !got.UpdatedAt.Equal(server.UpdatedAt) || catalog(t, store) != 1 {
		t.Fatalf("got %+v at revision %d, want no edit", got, catalog(t, store))
	}
	wantKind(t, store.SetHealth(ctx, server.ID, core.Health{State: "fine"}), core.InvalidParams)
	wantKind(t, store.SetEra(ctx, server.ID, "stone age"), core.InvalidParams)
}

func TestServersAreFiltered(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	for i, name := range []string{"GitHub", "gitlab", "files 100%", "web"} {
		s := core.Server{Name: name, Transport: core.Stdio, Command: "run", Description: fmt.Sprintf("number_%d", i)}
		if name == "web" {
			s.Status = core.Inactive
		}
		must(store.CreateServer(ctx, by("x"), s))(t)
	}
	for _, test := range []struct {
		filter postgres.ServerFilter
		want   []string
	}{
		{postgres.ServerFilter{}, []string{"GitHub", "files 100%", "gitlab", "web"}},
		{postgres.ServerFilter{Query: "GIT"}, []string{"GitHub", "gitlab"}},
		{postgres.ServerFilter{Query: "%"}, []string{"files 100%"}},
		{postgres.ServerFilter{Query: "number_2"}, []string{"files 100%"}},
		{postgres.ServerFilter{Status: core.Inactive}, []string{"web"}},
		{postgres.ServerFilter{Status: core.Active, Query: "web"}, nil},
		{postgres.ServerFilter{TenantID: unknownID}, nil},
	} {
		var got []string
		for _, s := range collect(t, 1, func(p core.Page) (core.List[core.Server], error) { return store.Servers(ctx, test.filter, p) }) {
			got = append(got, s.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.filter, diff)
		}
	}
}

func TestDeleteServer(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	server := createServer(t, store, "a")
	applyTools(t, store, server.ID, tool("one"), tool("two"))
	id := must(store.ServerTools(ctx, server.ID))(t)[0].ID
	since := catalog(t, store)

	wantKind(t, store.DeleteServer(ctx, by("x"), unknownID, server.ID), core.NotFound)
	check(t, store.DeleteServer(ctx, by("server.delete"), "", server.ID))
	wantKind(t, store.DeleteServer(ctx, by("x"), "", server.ID), core.NotFound)
	_, err := store.Tool(ctx, id)
	wantKind(t, err, core.NotFound)
	changes, upTo, err := store.ToolChanges(ctx, since, 100)
	check(t, err)
	if len(changes) != 2 || !changes[0].Removed || upTo != since+1 {
		t.Fatalf("got %+v up to %d, want both tools removed at %d", changes, upTo, since+1)
	}
	entry := must(store.Audit(ctx, postgres.AuditFilter{Action: "server.delete"}, core.Page{}))(t).Items
	if len(entry) != 1 || entry[0].ServerName != "a" {
		t.Fatalf("got audit %+v", entry)
	}
}

func TestReconcileServers(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	api := createServer(t, store, "by hand")
	declare := func(name, command string) core.Server {
		return core.Server{Name: name, Transport: core.Stdio, Command: command, Timeout: 1500 * time.Microsecond}
	}
	first := must(store.ReconcileServers(ctx, by("start"), []core.Server{declare("b", "run"), declare("a", "run")}))(t)
	if len(first) != 2 || catalog(t, store) != 2 {
		t.Fatalf("got %v at revision %d, want two changes in one revision", first, catalog(t, store))
	}
	a := must(store.Server(ctx, "", first[0]))(t)
	if a.Name != "a" || a.Origin != core.FromFile || a.Version != 1 {
		t.Fatalf("got %+v", a)
	}

	if again := must(store.ReconcileServers(ctx, by("start"), []core.Server{declare("a", "run"), declare("b", "run")}))(t); len(again) != 0 || catalog(t, store) != 2 {
		t.Fatalf("got %v at revision %d, want nothing changed", again, catalog(t, store))
	}

	// b leaves, a changes.
	changed := must(store.ReconcileServers(ctx, by("reload"), []core.Server{declare("a", "walk")}))(t)
	if diff := cmp.Diff([]string{first[0], first[1]}, changed); diff != "" {
		t.Fatalf("changed (-want +got):\n%s", diff)
	}
	a, b := must(store.Server(ctx, "", first[0]))(t), must(store.Server(ctx, "", first[1]))(t)
	if a.Command != "walk" || a.Version != 2 || b.Status != core.Inactive || b.Command != "run" {
		t.Fatalf("got %+v and %+v", a, b)
	}
	if again := must(store.ReconcileServers(ctx, by("reload"), []core.Server{declare("a", "walk")}))(t); len(again) != 0 {
		t.Fatalf("got %v changed, want nothing", again)
	}

	// b comes back with its id.
	must(store.ReconcileServers(ctx, by("reload"), []core.Server{declare("a", "walk"), declare("b", "run")}))(t)
	if b = must(store.Server(ctx, "", first[1]))(t); b.Status != core.Active || b.Version != 3 {
		t.Fatalf("got %+v", b)
	}

	_, err := store.UpdateServer(ctx, by("server.update"), b)
	wantKind(t, err, core.Conflict)
	wantKind(t, store.DeleteServer(ctx, by("server.delete"), "", b.ID), core.Conflict)
	if got := must(store.Server(ctx, "", api.ID))(t); got.Status != core.Active || got.Version != 1 {
		t.Fatalf("got %+v, want the server of the API untouched", got)
	}
	audit := must(store.Audit(ctx, postgres.AuditFilter{Action: postgres.ActionReconcile, ServerID: b.ID}, core.Page{}))(t)
	var details []string
	for _, e := range audit.Items {
		details = append(details, string(e.Details))
	}
	want := []string{`{"change":"changed in the file"}`, `{"change":"left the file"}`, `{"change":"declared"}`}
	if diff := cmp.Diff(want, details); diff != "" {
		t.Fatalf("audit (-want +got):\n%s", diff)
	}
}

func TestReconcileIsAllOrNothing(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	createServer(t, store, "taken")
	good := core.Server{Name: "a", Transport: core.Stdio, Command: "run"}
	for _, test := range []struct {
		name    string
		bad     core.Server
		kind    core.Kind
		message string
	}{
		{"registered by API", core.Server{Name: "taken", Transport: core.Stdio, Command: "run"}, core.Conflict,
			`server "taken": it was registered through the API`},
		{"twice", good, core.InvalidParams, `the server "a" is declared twice`},
		{"invalid", core.Server{Name: "z", Transport: core.Stdio}, core.InvalidParams,
			`server "z": a stdio server has a command, and no URL or headers; any other has a URL, and no command or arguments`},
	} {
		_, err := store.ReconcileServers(ctx, by("x"), []core.Server{good, test.bad})
		wantKind(t, err, test.kind)
		if got := core.Public(err).Message; got != test.message {
			t.Errorf("%s: got %q, want %q", test.name, got, test.message)
		}
	}
	if all, n, err := store.AllServers(ctx); err != nil || len(all) != 1 || n != 1 {
		t.Fatalf("got %d servers at revision %d, %v; want the one there was", len(all), n, err)
	}
}

func TestReconcileAtOnce(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	var declared []core.Server
	for i := range 20 {
		declared = append(declared, core.Server{Name: fmt.Sprint("s", i), Transport: core.Stdio, Command: "run"})
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			if _, err := store.ReconcileServers(t.Context(), by("x"), declared); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got := catalog(t, store); got != 1 {
		t.Fatalf("got revision %d, want 1: only the first of four changes anything", got)
	}
}

func TestPreferences(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	ann := must(store.CreateUser(ctx, by("x"), core.User{Name: "ann"}))(t)
	a, b := createServer(t, store, "a"), createServer(t, store, "b")
	yes, no := true, false

	check(t, store.SetPreference(ctx, by("preference.set"), ann.ID, a.ID, core.Preference{Granted: true}))
	check(t, store.SetEnabled(ctx, by("x"), ann.ID, a.ID, no))
	check(t, store.SetEnabled(ctx, by("x"), ann.ID, b.ID, yes))
	got, revision, err := store.Preferences(ctx, ann.ID)
	check(t, err)
	want := map[string]core.Preference{a.ID: {Granted: true, Enabled: &no}, b.ID: {Enabled: &yes}}
	if diff := cmp.Diff(want, got); diff != "" || revision != 3 {
		t.Fatalf("preferences at revision %d (-want +got):\n%s", revision, diff)
	}
	check(t, store.SetPreference(ctx, by("x"), ann.ID, a.ID, core.Preference{}))
	if got, _, err = store.Preferences(ctx, ann.ID); err != nil || got[a.ID] != (core.Preference{}) {
		t.Fatalf("got %+v, %v", got[a.ID], err)
	}
	if catalog(t, store) != 2 {
		t.Errorf("got revision %d: a preference is no change of the catalog", catalog(t, store))
	}
	entry := must(store.Audit(ctx, postgres.AuditFilter{Action: "preference.set"}, core.Page{}))(t).Items[0]
	if entry.ServerName != "a" || string(entry.Details) != `{"userId":"`+ann.ID+`","userName":"ann"}` {
		t.Errorf("got audit %+v with %s", entry, entry.Details)
	}

	wantKind(t, store.SetEnabled(ctx, by("x"), ann.ID, unknownID, true), core.NotFound)
	other := by("x")
	other.TenantID = unknownID
	wantKind(t, store.SetEnabled(ctx, other, ann.ID, a.ID, true), core.NotFound)
	if _, revision, _ = store.Preferences(ctx, ann.ID); revision != 4 {
		t.Errorf("got revision %d, want 4", revision)
	}
}
