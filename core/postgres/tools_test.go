package postgres_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

func tool(name string) core.Tool {
	return core.Tool{Name: name, OriginName: name, Description: "does " + name, Definition: json.RawMessage(`{"name":"` + name + `"}`)}
}

func applyTools(t *testing.T, store *postgres.Store, serverID string, tools ...core.Tool) int64 {
	t.Helper()
	return must(store.ApplyTools(t.Context(), serverID, postgres.ToolDiff{Upsert: tools}))(t)
}

// toolIDs are the ids of a server's tools by name.
func toolIDs(t *testing.T, store *postgres.Store, serverID string) map[string]string {
	t.Helper()
	byName := map[string]string{}
	for _, tool := range must(store.ServerTools(t.Context(), serverID))(t) {
		byName[tool.Name] = tool.ID
	}
	return byName
}

func TestToolKeepsEverything(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	server := createServer(t, store, "a")
	want := core.Tool{
		ServerID: server.ID, Name: "gh_search", OriginName: "search", Title: "Search", Description: "Finds\n\"things\"",
		Domain:       "general",
		InputSchema:  json.RawMessage(`{ "z": 1.0000000000000000001, "a": "\u0000\ud800", "z": 2 }`),
		OutputSchema: json.RawMessage(`true`), Annotations: json.RawMessage(`{"readOnlyHint":true}`),
		Definition: json.RawMessage(`{"name":"search","x":12345678901234567890123}`), SchemaHash: "abc",
		Signature: "(a: string)", Warnings: []string{"one, \"two\"", "{three}"},
	}
	applyTools(t, store, server.ID, want)
	got := must(store.ServerTools(ctx, server.ID))(t)
	if diff := cmp.Diff([]core.Tool{want}, got, cmpopts.IgnoreFields(core.Tool{}, "ID")); diff != "" {
		t.Fatalf("tool (-want +got):\n%s", diff)
	}
	want = got[0]
	if diff := cmp.Diff(want, must(store.Tool(ctx, want.ID))(t)); diff != "" {
		t.Errorf("by id (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]core.Tool{want}, must(store.ToolsNamed(ctx, "gh_search"))(t)); diff != "" {
		t.Errorf("by name (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]core.Tool{want.ID: want}, must(store.ToolsByID(ctx, []string{want.ID, unknownID}))(t)); diff != "" {
		t.Errorf("by ids (-want +got):\n%s", diff)
	}
	if got := must(store.Server(ctx, "", server.ID))(t).ToolCount; got != 1 {
		t.Errorf("got a count of %d, want 1", got)
	}
}

func TestToolOfOddContent(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	server := createServer(t, store, "a")
	deep := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	applyTools(t, store, server.ID,
		core.Tool{Name: "n\x00", OriginName: "n\x00", Description: "bad \xff and \x00"},
		core.Tool{Name: "deep", OriginName: "deep", InputSchema: json.RawMessage(deep)},
		core.Tool{Name: "long", OriginName: "long", Description: strings.Repeat("ä", 1<<20)},
	)
	tools := must(store.ServerTools(t.Context(), server.ID))(t)
	if len(tools) != 3 || tools[2].Name != "n\uFFFD" || tools[2].Description != "bad \uFFFD and \uFFFD" {
		t.Fatalf("got %d tools, the last %q", len(tools), tools[len(tools)-1].Name)
	}
	if tools[2].InputSchema != nil || tools[2].OutputSchema != nil || tools[2].Annotations != nil {
		t.Error("got documents that were never there")
	}
	if string(tools[0].InputSchema) != deep {
		t.Error("the deep schema came back changed")
	}
}

func TestApplyToolsRefusals(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	a, b := createServer(t, store, "a"), createServer(t, store, "b")
	applyTools(t, store, a.ID, tool("x"))
	taken := tool("y")
	taken.ID = toolIDs(t, store, a.ID)["x"]
	for name, test := range map[string]struct {
		diff postgres.ToolDiff
		want core.Kind
	}{
		"no name":         {postgres.ToolDiff{Upsert: []core.Tool{tool("")}}, core.InvalidParams},
		"not JSON":        {postgres.ToolDiff{Upsert: []core.Tool{{Name: "x", OriginName: "x", Definition: json.RawMessage("{")}}}, core.InvalidParams},
		"another's id":    {postgres.ToolDiff{Upsert: []core.Tool{taken}}, core.Conflict},
		"same name twice": {postgres.ToolDiff{Upsert: []core.Tool{tool("x"), tool("x")}}, core.InvalidParams},
		"domain":          {postgres.ToolDiff{Upsert: []core.Tool{{Name: "x", OriginName: "x", Domain: "A B"}}}, core.InvalidParams},
		"another version": {postgres.ToolDiff{Upsert: []core.Tool{tool("x")}, Version: b.Version + 1}, core.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := store.ApplyTools(ctx, b.ID, test.diff)
			wantKind(t, err, test.want)
		})
	}
	if got := catalog(t, store); got != 3 {
		t.Errorf("got revision %d, want 3", got)
	}
	if got := must(store.ApplyTools(ctx, b.ID, postgres.ToolDiff{}))(t); got != 3 {
		t.Errorf("got revision %d after nothing, want 3", got)
	}
	// Ids of another server's tools, and what is no id, are passed over.
	must(store.ApplyTools(ctx, b.ID, postgres.ToolDiff{Remove: []string{taken.ID, "x"}}))(t)
	must(store.Tool(ctx, taken.ID))(t)
}

func TestToolComesBackUnderItsID(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	server := createServer(t, store, "a")
	applyTools(t, store, server.ID, tool("x"), tool("y"))
	before := toolIDs(t, store, server.ID)

	must(store.ApplyTools(ctx, server.ID, postgres.ToolDiff{Remove: []string{before["x"]}}))(t)
	_, err := store.Tool(ctx, before["x"])
	wantKind(t, err, core.NotFound)
	if got := must(store.ToolsNamed(ctx, "x"))(t); len(got) != 0 {
		t.Fatalf("got %v by name", got)
	}
	if got := must(store.Server(ctx, "", server.ID))(t).ToolCount; got != 1 {
		t.Errorf("got a count of %d, want 1", got)
	}
	renamed := tool("x")
	renamed.Name = "new_x"
	applyTools(t, store, server.ID, renamed)
	after := toolIDs(t, store, server.ID)
	if diff := cmp.Diff(map[string]string{"new_x": before["x"], "y": before["y"]}, after); diff != "" {
		t.Fatalf("ids (-want +got):\n%s", diff)
	}
}

func TestToolPage(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	a, b, c := createServer(t, store, "a"), createServer(t, store, "b"), createServer(t, store, "c")
	own := tool("odd")
	own.Domain = "web"
	applyTools(t, store, a.ID, tool("same"), tool("Zeta"), tool("alpha"), own)
	applyTools(t, store, b.ID, tool("same"), tool("beta"))
	applyTools(t, store, c.ID, tool("hidden"))
	names := func(f postgres.ToolFilter) []string {
		var names []string
		for _, tool := range collect(t, 2, func(p core.Page) (core.List[core.Tool], error) { return store.ToolPage(ctx, f, p) }) {
			names = append(names, tool.Name+"/"+tool.Domain)
		}
		return names
	}
	for _, test := range []struct {
		filter postgres.ToolFilter
		want   []string
	}{
		{postgres.ToolFilter{Servers: []string{a.ID, b.ID}}, []string{"Zeta/general", "alpha/general", "beta/general", "odd/web", "same/general", "same/general"}},
		{postgres.ToolFilter{Servers: []string{b.ID}}, []string{"beta/general", "same/general"}},
		{postgres.ToolFilter{Servers: []string{a.ID, b.ID}, Domain: "web"}, []string{"odd/web"}},
		{postgres.ToolFilter{Servers: []string{b.ID}, Domain: "web"}, nil},
		{postgres.ToolFilter{}, nil},
	} {
		if diff := cmp.Diff(test.want, names(test.filter)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.filter, diff)
		}
	}
}

func TestDomains(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	a := createServer(t, store, "a")
	b := must(store.CreateServer(ctx, by("x"), core.Server{Name: "b", Domain: "web", Transport: core.Stdio, Command: "run"}))(t)
	own, own2 := tool("o1"), tool("o2")
	own.Domain, own2.Domain = "web", "files_2"
	applyTools(t, store, a.ID, tool("x"), tool("y"), own, own2)
	applyTools(t, store, b.ID, tool("x"))
	count := func(servers ...string) map[string]int { return must(store.DomainCounts(ctx, servers))(t) }
	for _, test := range []struct {
		servers []string
		want    map[string]int
	}{
		{[]string{a.ID, b.ID}, map[string]int{"general": 2, "web": 2, "files_2": 1}},
		{[]string{b.ID}, map[string]int{"web": 1}},
		{nil, map[string]int{}},
	} {
		if diff := cmp.Diff(test.want, count(test.servers...)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.servers, diff)
		}
	}
	must(store.ApplyTools(ctx, a.ID, postgres.ToolDiff{Remove: []string{toolIDs(t, store, a.ID)["o2"], toolIDs(t, store, a.ID)["x"]}}))(t)
	if diff := cmp.Diff(map[string]int{"general": 1, "web": 2}, count(a.ID, b.ID)); diff != "" {
		t.Errorf("after removal (-want +got):\n%s", diff)
	}

	// Where the server moves, its tools move along, except those of their own domain.
	a.Domain, a.Version = "web", 0
	must(store.UpdateServer(ctx, by("x"), a))(t)
	if diff := cmp.Diff(map[string]int{"web": 3}, count(a.ID, b.ID)); diff != "" {
		t.Errorf("after a move (-want +got):\n%s", diff)
	}

	before := catalog(t, store)
	must(store.PutDomain(ctx, by("domain.put"), "", core.Domain{ID: "web", Name: "The Web"}))(t)
	must(store.PutDomain(ctx, by("domain.put"), "", core.Domain{ID: "version-control"}))(t)
	kept := must(store.PutDomain(ctx, by("domain.put"), "", core.Domain{ID: "web", Description: "Pages"}))(t)
	if kept.Name != "The Web" {
		t.Errorf("got %+v, want the name it had", kept)
	}
	want := []core.Domain{{ID: "files_2", Name: "Files 2"}, {ID: "general", Name: "General"},
		{ID: "web", Name: "The Web", Description: "Pages"}, {ID: "version-control", Name: "Version control"}}
	if diff := cmp.Diff(want, must(store.Domains(ctx, ""))(t)); diff != "" {
		t.Errorf("domains (-want +got):\n%s", diff)
	}
	if got := catalog(t, store); got != before+3 {
		t.Errorf("got revision %d, want %d", got, before+3)
	}
	for _, refused := range []struct {
		tenant, id string
		want       core.Kind
	}{{"", "A", core.InvalidParams}, {"", "", core.InvalidParams}, {unknownID, "a", core.NotFound}} {
		_, err := store.PutDomain(ctx, by("x"), refused.tenant, core.Domain{ID: refused.id})
		wantKind(t, err, refused.want)
	}
}

func TestApplyExtras(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	ctx := t.Context()
	server := createServer(t, store, "a")
	raw := func(texts ...string) (list []json.RawMessage) {
		for _, text := range texts {
			list = append(list, json.RawMessage(text))
		}
		return list
	}
	stored := func(table string) []string {
		return value[[]string](t, conn, `select coalesce(array_agg(definition::text order by position), '{}') from `+table)
	}
	check(t, store.ApplyExtras(ctx, server.ID, raw(`{"uri": "a"}`, `{"uri":"b\u0000"}`), raw(`{"name":"p"}`)))
	if diff := cmp.Diff([]string{`{"uri": "a"}`, `{"uri":"b\u0000"}`}, stored("mcp_server_resources")); diff != "" {
		t.Fatalf("resources (-want +got):\n%s", diff)
	}
	written := value[string](t, conn, `select min(xmin::text) from mcp_server_prompts`)
	check(t, store.ApplyExtras(ctx, server.ID, raw(`{"uri":"c"}`), raw(`{"name":"p"}`)))
	if got := stored("mcp_server_resources"); !slices.Equal(got, []string{`{"uri":"c"}`}) {
		t.Fatalf("got %v", got)
	}
	if got := value[string](t, conn, `select min(xmin::text) from mcp_server_prompts`); got != written {
		t.Error("the same prompts were written again")
	}
	check(t, store.ApplyExtras(ctx, server.ID, nil, nil))
	if got := len(stored("mcp_server_resources")) + len(stored("mcp_server_prompts")); got != 0 {
		t.Fatalf("got %d left, want none", got)
	}
}

func TestToolChanges(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	a := must(store.CreateServer(ctx, by("x"), core.Server{Name: "a", Description: "of a", Transport: core.Stdio, Command: "run"}))(t)
	first := applyTools(t, store, a.ID, tool("x"), tool("y"), tool("z"))
	ids := toolIDs(t, store, a.ID)

	// A revision comes whole, however small the limit.
	changes, upTo, err := store.ToolChanges(ctx, 0, 1)
	check(t, err)
	if len(changes) != 3 || upTo != first {
		t.Fatalf("got %d changes up to %d, want 3 up to %d", len(changes), upTo, first)
	}
	for _, c := range changes {
		if c.ServerName != "a" || c.ServerDescription != "of a" || c.Revision != first || c.Domain != "general" ||
			string(c.TextHash) != string(postgres.TextHash(c.Tool, "a")) {
			t.Fatalf("got %+v", c)
		}
	}
	if changes, upTo, err = store.ToolChanges(ctx, first, 10); err != nil || len(changes) != 0 || upTo != first {
		t.Fatalf("got %v up to %d, %v; want nothing", changes, upTo, err)
	}

	second := must(store.ApplyTools(ctx, a.ID, postgres.ToolDiff{Upsert: []core.Tool{tool("w")}, Remove: []string{ids["x"]}}))(t)
	third := applyTools(t, store, a.ID, tool("y"))
	var got []string
	for since := first; since < third; {
		if changes, since, err = store.ToolChanges(ctx, since, 1); err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			got = append(got, fmt.Sprintf("%d %s %t", c.Revision-first, c.Name, c.Removed))
		}
	}
	if diff := cmp.Diff([]string{"1 w false", "1  true", "2 y false"}, got); diff != "" || second != first+1 {
		t.Fatalf("changes (-want +got):\n%s", diff)
	}

	// Another name of the server is another text for its tools.
	a.Name, a.Version = "new", 0
	must(store.UpdateServer(ctx, by("x"), a))(t)
	changes, _, err = store.ToolChanges(ctx, third, 10)
	check(t, err)
	if len(changes) != 3 || changes[0].ServerName != "new" ||
		string(changes[0].TextHash) != string(postgres.TextHash(changes[0].Tool, "new")) {
		t.Fatalf("got %+v, want three stamped tools", changes)
	}
	// Roles and the like are no business of an index.
	a.RequiredRoles = []string{"dev"}
	must(store.UpdateServer(ctx, by("x"), a))(t)
	if changes, upTo, err = store.ToolChanges(ctx, third+1, 10); err != nil || len(changes) != 0 || upTo != third+2 {
		t.Fatalf("got %v up to %d, %v", changes, upTo, err)
	}
	// From the beginning, what is gone was never there.
	changes, _, err = store.ToolChanges(ctx, 0, 10)
	check(t, err)
	if len(changes) != 3 || slices.ContainsFunc(changes, func(c postgres.ToolText) bool { return c.Removed }) {
		t.Fatalf("got %+v", changes)
	}
	if _, upTo, err = store.ToolChanges(ctx, 1000, 10); err != nil || upTo >= 1000 {
		t.Fatalf("got up to %d, %v; want a number below", upTo, err)
	}
}

// A follower that reads along while several write ends up with what is there.
func TestToolChangesMissNothing(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	const writers, rounds = 4, 25
	servers := make([]core.Server, writers)
	for i := range servers {
		servers[i] = createServer(t, store, fmt.Sprint("s", i))
	}
	done := make(chan struct{})
	var wait sync.WaitGroup
	for i := range writers {
		wait.Go(func() {
			for round := range rounds {
				diff := postgres.ToolDiff{Upsert: []core.Tool{tool(fmt.Sprint("t", round)), tool(fmt.Sprint("t", round/2))}}
				if round/2 == round {
					diff.Upsert = diff.Upsert[:1]
				}
				if round%5 == 4 {
					diff.Remove = []string{toolIDs(t, store, servers[i].ID)[fmt.Sprint("t", round-3)]}
				}
				if _, err := store.ApplyTools(ctx, servers[i].ID, diff); err != nil {
					t.Error(err)
					return
				}
			}
			if i == 0 {
				if err := store.DeleteServer(ctx, by("x"), "", servers[0].ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { wait.Wait(); close(done) }()

	index := map[string]postgres.ToolText{}
	since := int64(0)
	catchUp := func() {
		for {
			changes, upTo, err := store.ToolChanges(ctx, since, 3)
			if err != nil {
				t.Error(err)
				return
			}
			for _, c := range changes {
				delete(index, c.ID)
				if !c.Removed {
					index[c.ID] = c
				}
			}
			if upTo == since {
				return
			}
			since = upTo
		}
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		catchUp()
	}
	catchUp()
	want, _, err := store.ToolChanges(ctx, 0, 10_000)
	check(t, err)
	if len(index) != len(want) {
		t.Fatalf("got %d tools, want %d", len(index), len(want))
	}
	for _, w := range want {
		if diff := cmp.Diff(w, index[w.ID]); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", w.ID, diff)
		}
	}
	if since != catalog(t, store) {
		t.Fatalf("got to revision %d, want %d", since, catalog(t, store))
	}
}

func TestTextHash(t *testing.T) {
	t.Parallel()
	base := core.Tool{Name: "n", Title: "t", Description: "d", InputSchema: json.RawMessage(`{}`)}
	seen := map[string]string{string(postgres.TextHash(base, "s")): "base"}
	for name, change := range map[string]func(*core.Tool) string{
		"name":        func(t *core.Tool) string { t.Name = "m"; return "s" },
		"title":       func(t *core.Tool) string { t.Title = "u"; return "s" },
		"description": func(t *core.Tool) string { t.Description = "e"; return "s" },
		"schema":      func(t *core.Tool) string { t.InputSchema = json.RawMessage(`{ }`); return "s" },
		"server":      func(*core.Tool) string { return "r" },
		"shifted":     func(t *core.Tool) string { t.Name, t.Title = "nt", ""; return "s" },
	} {
		tool := base
		server := change(&tool)
		hash := string(postgres.TextHash(tool, server))
		if other, ok := seen[hash]; ok {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[hash] = name
	}
	irrelevant := base
	irrelevant.ID, irrelevant.Definition, irrelevant.Warnings = "x", json.RawMessage(`1`), []string{"w"}
	if string(postgres.TextHash(irrelevant, "s")) != string(postgres.TextHash(base, "s")) {
		t.Error("what no vector is made of changes the hash")
	}
}
