package search_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/search/evaluate"
	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/embeddings/embedtest"
)

func newRig(t *testing.T, store *postgres.Store) *evaluate.Rig {
	t.Helper()
	rig, err := evaluate.NewRig(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	return rig
}

func fill(t *testing.T, rig *evaluate.Rig, tools []evaluate.Tool) *evaluate.Catalog {
	t.Helper()
	catalog, err := rig.Fill(t.Context(), tools)
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

func find(t *testing.T, e *search.Engine, q search.Query) search.Answer {
	t.Helper()
	answer, err := e.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("search for %q: %v", q.Text, err)
	}
	return answer
}

// hits are the ids in the set, best first.
func hits(c *evaluate.Catalog, a search.Answer) []string {
	list := make([]string, len(a.Hits))
	for i, h := range a.Hits {
		list[i] = c.Origins[h.ToolID]
	}
	return list
}

// office is a small catalog whose right answers are plain.
var office = []evaluate.Tool{
	{ID: "read", Name: "read_file", Description: "Read the contents of a file from disk.", Server: "files"},
	{ID: "write", Name: "write_file", Description: "Save text to a file on disk, creating it if needed.", Server: "files"},
	{ID: "dir", Name: "list_directory", Description: "List the files in a folder.", Server: "files"},
	{ID: "issue", Name: "create_issue", Description: "Open a new bug report in a repository.", Server: "github"},
	{ID: "pr", Name: "listPullRequests", Description: "List pull requests of a repository.", Server: "github"},
	{ID: "mail", Name: "send_email", Description: "Send an email message to a recipient.", Server: "mail"},
	{ID: "weather", Name: "get_forecast", Description: "Weather forecast for a city.", Server: "weather"},
	{ID: "date", Name: "get-date", Description: "获取当前日期", Server: "calendar"},
}

func TestSearch(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	catalog := fill(t, rig, office)
	tests := []struct{ query, want string }{
		{"show me what is inside a document on my disk", "read"},
		{"what will the weather be like in Oslo tomorrow", "weather"},
		{"report a bug", "issue"},
		{"pull requests", "pr"},
		{"mail the boss", "mail"},
		{"save this text", "write"},
		{"list_directory", "dir"},
		{"当前日期", "date"},
	}
	for _, test := range tests {
		answer := find(t, rig.Engine, search.Query{Text: test.query, Servers: catalog.Servers, TopK: 3})
		if got := hits(catalog, answer); len(got) != 3 || got[0] != test.want {
			t.Errorf("%q finds %q, want %q first of 3", test.query, got, test.want)
		}
		for i, h := range answer.Hits {
			if h.Score < 0 || h.Score > 1 || i > 0 && h.Score > answer.Hits[i-1].Score {
				t.Errorf("%q: score %d is %f", test.query, i, h.Score)
			}
		}
		if answer.Degraded != "" {
			t.Errorf("%q: degraded: %s", test.query, answer.Degraded)
		}
	}
}

func TestBothNeedsOfAQueryAreFound(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	catalog := fill(t, rig, office)
	answer := find(t, rig.Engine, search.Query{Text: "Open a bug report about the crash, and then send an email to the team.",
		Servers: catalog.Servers, TopK: 2})
	got := hits(catalog, answer)
	slices.Sort(got)
	if diff := cmp.Diff(got, []string{"issue", "mail"}); diff != "" {
		t.Errorf("found (-got +want):\n%s", diff)
	}
}

// TestOnlyWhatMayBeSeen searches with random sets of servers, and sees that every
// hit may be seen and that as many come as were asked for.
func TestOnlyWhatMayBeSeen(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	catalog := fill(t, rig, evaluate.Generate(700, 3).Tools)
	size := make(map[string]int)
	for i, server := range catalog.Servers {
		size[server] = catalog.Sizes[i]
	}
	random := rand.New(rand.NewPCG(7, 7))
	for round := range 60 {
		servers := slices.Clone(catalog.Servers)
		random.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
		servers = servers[:1+random.IntN(len(servers))]
		visible := 0
		for _, s := range servers {
			visible += size[s]
		}
		q := search.Query{Text: questions[round%len(questions)], Servers: servers, TopK: 1 + random.IntN(50)}
		answer := find(t, rig.Engine, q)
		if want := min(q.TopK, visible); len(answer.Hits) != want {
			t.Errorf("%d hits, want %d of %d visible", len(answer.Hits), want, visible)
		}
		seen := make(map[string]bool)
		for _, h := range answer.Hits {
			if !slices.Contains(servers, h.ServerID) || seen[h.ToolID] {
				t.Errorf("hit %+v is invisible or given twice", h)
			}
			seen[h.ToolID] = true
		}
	}
}

func TestDomain(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	rig := newRig(t, store)
	catalog := fill(t, rig, office)
	server, err := store.Server(t.Context(), core.DefaultTenant, catalog.Servers[1])
	if err != nil {
		t.Fatal(err)
	}
	server.Domain = "documents"
	if _, err := store.UpdateServer(t.Context(), change("server.update"), server); err != nil {
		t.Fatal(err)
	}
	q := search.Query{Text: "send an email", Servers: catalog.Servers, Domain: "documents", AtLeast: revision(t, store)}
	got := hits(catalog, find(t, rig.Engine, q))
	slices.Sort(got)
	if diff := cmp.Diff(got, []string{"dir", "read", "write"}); diff != "" {
		t.Errorf("found in the domain (-got +want):\n%s", diff)
	}
	q.Domain = "cooking"
	if answer := find(t, rig.Engine, q); len(answer.Hits) > 0 || !strings.Contains(answer.Suggestion, "cooking") {
		t.Errorf("in an unknown domain: %+v", answer)
	}
}

func TestTopKIsFilledBeforeVectorsAreThere(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	rig := newRig(t, store)
	catalog := fill(t, rig, office)
	_, err := store.ApplyTools(t.Context(), catalog.Servers[0], postgres.ToolDiff{Upsert: []core.Tool{
		{Name: "zzz_new", OriginName: "new", Description: "Brew espresso"}, {Name: "aaa_new", OriginName: "new2"}}})
	if err != nil {
		t.Fatal(err)
	}
	answer := find(t, rig.Engine, search.Query{Text: "brew espresso", Servers: catalog.Servers, TopK: 50, AtLeast: revision(t, store)})
	if len(answer.Hits) != len(office)+2 {
		t.Errorf("%d hits, want all %d", len(answer.Hits), len(office)+2)
	}
	if name := toolName(t, store, answer.Hits[0].ToolID); name != "zzz_new" {
		t.Errorf("%s is first", name)
	}
}

func TestMinSimilarity(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	catalog := fill(t, rig, office)
	q := search.Query{Text: "weather forecast", Servers: catalog.Servers, MinSimilarity: .4}
	if got := hits(catalog, find(t, rig.Engine, q)); !slices.Equal(got, []string{"weather"}) {
		t.Errorf("with a bound of .4: %q", got)
	}
	q.MinSimilarity = .9999
	if answer := find(t, rig.Engine, q); len(answer.Hits) > 0 || !strings.Contains(answer.Suggestion, "min_similarity") {
		t.Errorf("with a bound that none meets: %+v", answer)
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	catalog := fill(t, rig, office)
	tests := []struct {
		name, query string
		servers     []string
		hits        int
		want        string
	}{
		{"fits", "read a file", catalog.Servers, 8, ""},
		{"nothing fits", "bake a chocolate cake", catalog.Servers, 8, "Nothing here fits"},
		{"no known word", "qzx vvk", catalog.Servers, 0, "No word of the query"},
		{"only signs", "?!", catalog.Servers, 0, "No word of the query"},
		{"empty", "", catalog.Servers, 0, "No word of the query"},
		{"nothing visible", "read a file", nil, 0, "no tools that you may use"},
	}
	for _, test := range tests {
		q := search.Query{Text: test.query, Servers: test.servers}
		first := find(t, rig.Engine, q)
		if len(first.Hits) != test.hits || !strings.Contains(first.Suggestion, test.want) || (test.want == "") != (first.Suggestion == "") {
			t.Errorf("%s: %d hits and the suggestion %q", test.name, len(first.Hits), first.Suggestion)
		}
		for range 5 {
			if diff := cmp.Diff(find(t, rig.Engine, q), first); diff != "" {
				t.Errorf("%s: another answer to the same query:\n%s", test.name, diff)
			}
		}
	}
}

// TestIndexFollowsTheCatalog makes many small changes and compares the index that
// followed them with one that was read afresh.
func TestIndexFollowsTheCatalog(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	rig := newRig(t, store)
	set := evaluate.Generate(400, 5).Tools
	catalog := fill(t, rig, set)
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 25 {
		server := catalog.Servers[random.IntN(len(catalog.Servers))]
		tools, err := store.ServerTools(t.Context(), server)
		if err != nil {
			t.Fatal(err)
		}
		diff := postgres.ToolDiff{Upsert: []core.Tool{{Name: fmt.Sprintf("new_%d", round), OriginName: fmt.Sprint(round), Description: set[round].Description}}}
		for i, tool := range tools {
			switch random.IntN(4) {
			case 0:
				diff.Remove = append(diff.Remove, tool.ID)
			case 1:
				tool.Description = set[(i*round)%len(set)].Description
				diff.Upsert = append(diff.Upsert, tool)
			}
		}
		if _, err := store.ApplyTools(t.Context(), server, diff); err != nil {
			t.Fatal(err)
		}
		if round == 20 {
			if err := store.DeleteServer(t.Context(), change("server.delete"), core.DefaultTenant, catalog.Servers[0]); err != nil {
				t.Fatal(err)
			}
			catalog.Servers = catalog.Servers[1:]
		}
		if err := rig.Engine.Refresh(t.Context(), revision(t, store)); err != nil {
			t.Fatal(err)
		}
	}
	fresh := newRig(t, store)
	for _, question := range questions {
		q := search.Query{Text: question, Servers: catalog.Servers, TopK: 50, AtLeast: revision(t, store)}
		if diff := cmp.Diff(find(t, rig.Engine, q), find(t, fresh.Engine, q), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
			t.Fatalf("%q: the index that followed differs (-followed +fresh):\n%s", question, diff)
		}
	}
}

func TestRemovedToolsAreGoneAtOnce(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	rig := newRig(t, store)
	catalog := fill(t, rig, office)
	q := search.Query{Text: "send an email", Servers: catalog.Servers, TopK: 50}
	mail := find(t, rig.Engine, q).Hits[0]
	removed, err := store.ApplyTools(t.Context(), mail.ServerID, postgres.ToolDiff{Remove: []string{mail.ToolID}})
	if err != nil {
		t.Fatal(err)
	}
	q.AtLeast = removed
	for _, h := range find(t, rig.Engine, q).Hits {
		if h.ToolID == mail.ToolID {
			t.Error("a removed tool was found")
		}
	}
}

// TestSearchDuringRefresh lets readers search while tools come and go. A server's
// two tools change together, so no search may see one without the other.
func TestSearchDuringRefresh(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	rig := newRig(t, store)
	catalog := fill(t, rig, office)
	engine := search.New(search.Config{Store: store, Embedder: broken})
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				answer, err := engine.Search(ctx, search.Query{Text: "pair", Servers: catalog.Servers, TopK: 50})
				if err != nil {
					if ctx.Err() == nil {
						t.Errorf("search: %v", err)
					}
					return
				}
				matching := 0
				for _, h := range answer.Hits {
					if h.Score > 0 {
						matching++
					}
				}
				if matching%2 != 0 {
					t.Errorf("half of a change was seen: %d tools", matching)
				}
			}
		})
	}
	for i := range 40 {
		if err := pairOf(ctx, store, catalog.Servers[i%2], i/2%2 == 1); err != nil {
			t.Error(err)
		}
		if err := engine.Refresh(ctx, revision(t, store)); err != nil {
			t.Error(err)
		}
	}
	cancel()
	readers.Wait()
}

// pairOf gives a server two tools, or takes them away.
func pairOf(ctx context.Context, store *postgres.Store, server string, remove bool) error {
	var diff postgres.ToolDiff
	if !remove {
		diff.Upsert = []core.Tool{{Name: "pair_a", OriginName: "a"}, {Name: "pair_b", OriginName: "b"}}
	} else {
		tools, err := store.ServerTools(ctx, server)
		if err != nil {
			return err
		}
		for _, tool := range tools {
			if strings.HasPrefix(tool.Name, "pair_") {
				diff.Remove = append(diff.Remove, tool.ID)
			}
		}
	}
	_, err := store.ApplyTools(ctx, server, diff)
	return err
}

func broken() (embeddings.Embedder, core.Model, error) {
	return nil, core.Model{}, errors.New("no model")
}

func TestWithoutVectors(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	rig := newRig(t, store)
	catalog := fill(t, rig, office)
	service := embedtest.New(t)
	remote, err := embeddings.NewHTTP(embeddings.HTTPConfig{Provider: embeddings.OpenAI, BaseURL: service.URL + "/v1",
		Model: "m", Client: http.DefaultClient, Dimensions: 256})
	if err != nil {
		t.Fatal(err)
	}
	engine := search.New(search.Config{Store: store, Embedder: func() (embeddings.Embedder, core.Model, error) {
		return remote, rig.Model, nil // the service answers with the same vectors
	}})
	ask := func(e *search.Engine, degraded string) {
		t.Helper()
		answer := find(t, e, search.Query{Text: "send an email", Servers: catalog.Servers, TopK: 4, MinSimilarity: .1})
		if got := hits(catalog, answer); answer.Degraded != degraded || len(got) == 0 || got[0] != "mail" {
			t.Errorf("degraded %q, found %q", answer.Degraded, got)
		}
	}
	ask(engine, "")
	for _, f := range []embedtest.Failure{embedtest.Unauthorized, embedtest.MoreDimensions, embedtest.HTML, embedtest.Stall} {
		service.FailAlways(f)
		ask(engine, search.Vectors)
	}
	service.FailAlways(embedtest.None)
	ask(engine, "")
	ask(search.New(search.Config{Store: store, Embedder: broken}), search.Vectors)
	other := search.New(search.Config{Store: store, Embedder: func() (embeddings.Embedder, core.Model, error) {
		return rig.Embedder, core.Model{ID: rig.Model.ID, Dimensions: 8}, nil
	}})
	ask(other, search.Vectors)
}

func TestWithoutWords(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	store, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	catalog := fill(t, newRig(t, store), office)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `alter table toolscout.mcp_server_tools_gone rename to away`); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer := find(t, newRig(t, store).Engine, search.Query{Text: "send an email", Servers: catalog.Servers[1:], TopK: 3})
	if got := hits(catalog, answer); answer.Degraded != search.Words || len(got) != 3 || got[0] != "mail" {
		t.Errorf("degraded %q, found %q", answer.Degraded, got)
	}
	both := search.New(search.Config{Store: store, Embedder: broken})
	if _, err := both.Search(t.Context(), search.Query{Text: "mail", Servers: catalog.Servers}); !errors.Is(err, core.Unavailable) {
		t.Errorf("without both halves: %v", err)
	}
}

func TestACallerWhoGivesUp(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	catalog := fill(t, rig, office)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rig.Engine.Search(ctx, search.Query{Text: "mail", Servers: catalog.Servers}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func revision(t *testing.T, store *postgres.Store) int64 {
	t.Helper()
	_, catalog, err := store.AllServers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

func change(action string) core.AuditEntry {
	return core.Request{ID: "test", Principal: core.Principal{TenantID: core.DefaultTenant}}.Entry(core.LevelConfig, action)
}

func toolName(t *testing.T, store *postgres.Store, id string) string {
	t.Helper()
	tool, err := store.Tool(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return tool.Name
}
