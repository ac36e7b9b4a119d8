package postgres_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

func TestModels(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	if got := must(store.Models(ctx))(t); len(got) != 0 {
		t.Fatalf("got %v, want none", got)
	}
	a := must(store.EnsureModel(ctx, "builtin", "sum", 3))(t)
	if a.Active || a.Dimensions != 3 || a.Provider != "builtin" || a.Name != "sum" {
		t.Fatalf("got %+v", a)
	}
	if again := must(store.EnsureModel(ctx, "builtin", "sum", 3))(t); again != a {
		t.Fatalf("got %+v and then %+v", a, again)
	}
	weighed := must(store.SetModelWeight(ctx, core.AuditEntry{Action: "index.model"}, a.ID, .7))(t)
	if again := must(store.EnsureModel(ctx, "builtin", "sum", 3))(t); again.Weight != .7 || again != weighed {
		t.Errorf("got %+v and then %+v", weighed, again)
	}
	if a = must(store.SetModelWeight(ctx, core.AuditEntry{Action: "index.model"}, a.ID, 0))(t); a.Weight != 0 {
		t.Errorf("got %+v", a)
	}
	for _, weight := range []float64{-.1, 1, math.NaN()} {
		_, err := store.SetModelWeight(ctx, core.AuditEntry{}, a.ID, weight)
		wantKind(t, err, core.InvalidParams)
	}
	_, err := store.SetModelWeight(ctx, core.AuditEntry{}, a.ID+1, .5)
	wantKind(t, err, core.NotFound)
	_, err = store.EnsureModel(ctx, "builtin", "sum", 4)
	wantKind(t, err, core.Conflict)
	_, err = store.EnsureModel(ctx, "builtin", "none", 0)
	wantKind(t, err, core.InvalidParams)
	_, err = store.EnsureModel(ctx, "builtin", "", 3)
	wantKind(t, err, core.InvalidParams)

	b := must(store.EnsureModel(ctx, "openai", "sum", 4))(t)
	active := func() (ids []int64) {
		for _, m := range must(store.Models(ctx))(t) {
			if m.Active {
				ids = append(ids, m.ID)
			}
		}
		return ids
	}
	check(t, store.ActivateModel(ctx, a.ID))
	check(t, store.ActivateModel(ctx, b.ID))
	wantKind(t, store.ActivateModel(ctx, 99), core.NotFound)
	if got := active(); !slices.Equal(got, []int64{b.ID}) {
		t.Fatalf("got %v active, want %d alone", got, b.ID)
	}
	wantKind(t, store.BuildVectorIndex(ctx, 99), core.NotFound)
	check(t, store.BuildVectorIndex(ctx, a.ID))
}

func TestEnsureModelAtOnce(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ids := make([]int64, 8)
	var wait sync.WaitGroup
	for i := range ids {
		wait.Go(func() {
			m, err := store.EnsureModel(t.Context(), "p", "m", 3)
			if err != nil {
				t.Error(err)
			}
			ids[i] = m.ID
		})
	}
	wait.Wait()
	if len(slices.Compact(ids)) != 1 {
		t.Fatalf("got %v, want one id", ids)
	}
}

// pending gives tools without a vector behind a place, so many at most.
func pending(t *testing.T, store *postgres.Store, model int64, after postgres.Place, limit int) []postgres.ToolText {
	t.Helper()
	tools, _, err := store.Pending(t.Context(), model, after, limit)
	check(t, err)
	return tools
}

// saveAll embeds what is pending: the vector of a tool is that of its name.
func saveAll(t *testing.T, store *postgres.Store, model core.Model, vectors map[string][]float32) {
	t.Helper()
	var list []postgres.ToolVector
	for _, p := range pending(t, store, model.ID, postgres.Place{}, 1000) {
		list = append(list, postgres.ToolVector{ToolID: p.ID, TextHash: p.TextHash, Vector: vectors[p.Name]})
	}
	check(t, store.SaveVectors(t.Context(), model.ID, list))
}

func TestPendingFollowsTheText(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	server := createServer(t, store, "a")
	model := must(store.EnsureModel(ctx, "p", "m", 2))(t)
	other := must(store.EnsureModel(ctx, "p", "n", 3))(t)
	wantPending := func(want ...string) {
		t.Helper()
		var names []string
		for _, p := range pending(t, store, model.ID, postgres.Place{}, 10) {
			names = append(names, p.Name)
		}
		slices.Sort(names)
		n, _, err := store.CountPending(ctx, model.ID)
		check(t, err)
		if diff := gocmp.Diff(want, names); diff != "" || n != len(want) {
			t.Fatalf("%d pending (-want +got):\n%s", n, diff)
		}
	}
	vectors := map[string][]float32{"x": {1, 0}, "y": {0, 1}, "z": {0, 0}}
	applyTools(t, store, server.ID, tool("x"), tool("y"), tool("z"))
	wantPending("x", "y", "z")
	if got := pending(t, store, model.ID, postgres.Place{}, 2); len(got) != 2 {
		t.Fatalf("got %d, want the limit of 2", len(got))
	}
	saveAll(t, store, model, vectors)
	wantPending()
	if n, total, err := store.CountPending(ctx, other.ID); err != nil || n != 3 || total != 3 {
		t.Fatalf("got %d of %d, %v for the other model, want all 3", n, total, err)
	}

	// The same text again is no work; another text is, and keeps its old vector meanwhile.
	changed := tool("x")
	changed.Description = "does something else"
	applyTools(t, store, server.ID, changed, tool("y"))
	wantPending("x")
	ids := toolIDs(t, store, server.ID)
	if got := must(store.Nearest(ctx, postgres.NearestQuery{ModelID: model.ID, And: parsed([]string{ids["x"]}...), Vectors: [][]float32{{1, 0}}}))(t); len(got) != 1 {
		t.Fatalf("got %v, want the old vector", got)
	}
	// A vector of the text before is of no use any more.
	check(t, store.SaveVectors(ctx, model.ID, []postgres.ToolVector{
		{ToolID: ids["x"], TextHash: postgres.TextHash(tool("x"), "a"), Vector: []float32{0, 1}}}))
	wantPending("x")
	saveAll(t, store, model, vectors)
	wantPending()

	// A tool that goes takes its vector along, and needs another when it is back.
	must(store.ApplyTools(ctx, server.ID, postgres.ToolDiff{Remove: []string{ids["y"]}}))(t)
	check(t, store.SaveVectors(ctx, model.ID, []postgres.ToolVector{
		{ToolID: ids["y"], TextHash: postgres.TextHash(tool("y"), "a"), Vector: []float32{0, 1}}, {ToolID: "x", Vector: []float32{0, 1}}}))
	if got := must(store.Nearest(ctx, postgres.NearestQuery{ModelID: model.ID, And: parsed([]string{ids["y"], "x"}...), Vectors: [][]float32{{1, 0}}}))(t); len(got) != 0 {
		t.Fatalf("got %v of a tool that is gone", got)
	}
	applyTools(t, store, server.ID, tool("y"))
	wantPending("y")

	saveAll(t, store, model, vectors)
	check(t, store.OutdateVectors(ctx, model.ID))
	wantPending("x", "y", "z")
	if got := must(store.Nearest(ctx, postgres.NearestQuery{ModelID: model.ID, And: parsed([]string{ids["x"]}...), Vectors: [][]float32{{1, 0}}}))(t); len(got) != 1 {
		t.Fatalf("got %v, want the old vector", got)
	}
	saveAll(t, store, model, vectors)

	// So does another name of the server.
	server.Name, server.Version = "b", 0
	must(store.UpdateServer(ctx, by("x"), server))(t)
	wantPending("x", "y", "z")
}

func TestSaveVectorsRefuses(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	server := createServer(t, store, "a")
	applyTools(t, store, server.ID, tool("x"))
	model := must(store.EnsureModel(ctx, "p", "m", 2))(t)
	p := pending(t, store, model.ID, postgres.Place{}, 1)[0]
	v := postgres.ToolVector{ToolID: p.ID, TextHash: p.TextHash, Vector: []float32{1, 0, 0}}
	wantKind(t, store.SaveVectors(ctx, model.ID, []postgres.ToolVector{v}), core.InvalidParams)
	wantKind(t, store.SaveVectors(ctx, 99, []postgres.ToolVector{v}), core.NotFound)
	v.Vector = []float32{1, float32(math.NaN())}
	wantKind(t, store.SaveVectors(ctx, model.ID, []postgres.ToolVector{v}), core.InvalidParams)
	check(t, store.SaveVectors(ctx, model.ID, nil))
	v.Vector = []float32{1, 0}
	check(t, store.SaveVectors(ctx, model.ID, []postgres.ToolVector{v, v}))
}

func TestNearest(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	a, b := createServer(t, store, "a"), createServer(t, store, "b")
	own := tool("d")
	own.Domain = "web"
	applyTools(t, store, a.ID, tool("x"), tool("y"), tool("xy"), own)
	applyTools(t, store, b.ID, tool("z"))
	h := float32(math.Sqrt2 / 2)
	vectors := map[string][]float32{"x": {1, 0, 0}, "y": {0, 1, 0}, "xy": {h, h, 0}, "d": {0, 0, 1}, "z": {0.6, 0, 0.8}}
	model := must(store.EnsureModel(ctx, "p", "m", 3))(t)
	other := must(store.EnsureModel(ctx, "p", "n", 2))(t)
	saveAll(t, store, model, vectors)
	saveAll(t, store, other, map[string][]float32{"x": {1, 0}, "y": {1, 0}, "xy": {1, 0}, "d": {1, 0}, "z": {1, 0}})
	names := map[string]string{}
	for _, server := range []core.Server{a, b} {
		for name, id := range toolIDs(t, store, server.ID) {
			names[id] = name
		}
	}
	both := []string{a.ID, b.ID}
	for name, test := range map[string]struct {
		query postgres.NearestQuery
		want  string
	}{
		"by the query": {postgres.NearestQuery{Servers: postgres.ParseServers(both), Vectors: [][]float32{{1, 0, 0}}, Limit: 3}, "x[1] xy[0.71] z[0.6]"},
		"by the best clause": {postgres.NearestQuery{Servers: postgres.ParseServers(both), Limit: 2,
			Vectors: [][]float32{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, "xy[0.71 0.71 0] z[0.6 0 0.8]"},
		"allowed servers":  {postgres.NearestQuery{Servers: postgres.ParseServers([]string{b.ID}), Vectors: [][]float32{{1, 0, 0}}, Limit: 3}, "z[0.6]"},
		"no server":        {postgres.NearestQuery{Vectors: [][]float32{{1, 0, 0}}, Limit: 3}, ""},
		"no such server":   {postgres.NearestQuery{Servers: postgres.ParseServers([]string{unknownID, "x"}), Vectors: [][]float32{{1, 0, 0}}, Limit: 3}, ""},
		"domain of a tool": {postgres.NearestQuery{Servers: postgres.ParseServers(both), Domain: "web", Vectors: [][]float32{{1, 0, 0}}, Limit: 3}, "d[0]"},
		"domain of a server": {postgres.NearestQuery{Servers: postgres.ParseServers(both), Domain: "general", Vectors: [][]float32{{0, 0, 1}}, Limit: 1},
			"z[0.8]"},
		"all servers but one": {postgres.NearestQuery{Servers: postgres.ParseServers([]string{a.ID}), Except: true, Vectors: [][]float32{{1, 0, 0}}, Limit: 3}, "z[0.6]"},
		"all but none":        {postgres.NearestQuery{Except: true, Vectors: [][]float32{{1, 0, 0}}, Limit: 1}, "x[1]"},
		"zero vector":         {postgres.NearestQuery{Servers: postgres.ParseServers([]string{b.ID}), Vectors: [][]float32{{0, 0, 0}}, Limit: 3}, "z[0]"},
	} {
		for _, exact := range []bool{true, false} {
			test.query.ModelID, test.query.Exact = model.ID, exact
			var got []string
			for _, c := range must(store.Nearest(ctx, test.query))(t) {
				for i := range c.Cosines {
					c.Cosines[i] = float32(math.Round(float64(c.Cosines[i])*100) / 100)
				}
				got = append(got, fmt.Sprint(names[c.ToolID.String()], c.Cosines))
			}
			if got := strings.ReplaceAll(strings.Join(got, " "), "-0", "0"); got != test.want {
				t.Errorf("%s, exact %t: got %q, want %q", name, exact, got, test.want)
			}
		}
	}
	for _, bad := range [][][]float32{nil, {{}}, {{1, 0, 0}, {1, 0}}} {
		_, err := store.Nearest(ctx, postgres.NearestQuery{ModelID: model.ID, Servers: postgres.ParseServers(both), Vectors: bad, Limit: 1})
		wantKind(t, err, core.InvalidParams)
	}
	_, err := store.Nearest(ctx, postgres.NearestQuery{ModelID: model.ID, Servers: postgres.ParseServers(both), Vectors: [][]float32{{1, 0}}, Limit: 1, Exact: true})
	wantKind(t, err, core.InvalidParams)

	found := must(store.Nearest(ctx, postgres.NearestQuery{ModelID: model.ID, And: parsed(slices.Collect(keys(names))...),
		Vectors: [][]float32{{1, 0, 0}, {0, 0, 1}}}))(t)
	slices.SortFunc(found, func(a, b postgres.ToolCosines) int {
		return cmp.Compare(names[a.ToolID.String()], names[b.ToolID.String()])
	})
	var got [][]float32
	for _, c := range found {
		got = append(got, c.Cosines)
	}
	want := [][]float32{{0, 1}, {1, 0}, {h, 0}, {0, 0}, {0.6, 0.8}}
	if diff := gocmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-3)); diff != "" {
		t.Errorf("cosines (-want +got):\n%s", diff)
	}
}

// parsed are those of some ids that can be ids.
func parsed(list ...string) []uuid.UUID {
	var ids []uuid.UUID
	for _, s := range list {
		if id, err := uuid.Parse(s); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func keys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// With enough vectors there is an index, whatever an earlier build left, and it
// finds what an exact scan finds, filtered or not.
func TestVectorIndex(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	ctx := t.Context()
	model := must(store.EnsureModel(ctx, "p", "m", 4))(t)
	all, few := createServer(t, store, "all"), createServer(t, store, "few")
	exec(t, conn, `
		with made as (
			insert into mcp_server_tools (id, server_id, name, origin_name, definition, text_hash, revision)
			select gen_random_uuid(), case when n % 100 = 0 then $2::uuid else $1::uuid end, 'tool ' || n, 'tool ' || n, '{}', '', 1
			from generate_series(1, 20100) n returning id, server_id)
		insert into tool_embeddings (tool_id, model_id, server_id, text_hash, emb)
		select id, $3, server_id, '', l2_normalize(array[random() - .5, random() - .5, random() - .5, random() - .5]::real[]::halfvec)
		from made`, all.ID, few.ID, model.ID)
	exec(t, conn, `analyze tool_embeddings`)
	exec(t, conn, `update tool_embeddings set text_hash = 'x'`)
	check(t, store.OutdateVectors(ctx, model.ID))
	if got := value[int](t, conn, `select count(*) from tool_embeddings where text_hash <> ''`); got != 0 {
		t.Fatalf("got %d vectors that are not out of date", got)
	}
	// What a build that was cut off leaves behind.
	exec(t, conn, `create index tool_embeddings_model_1 on tool_embeddings (tool_id) where false`)
	exec(t, conn, `update pg_index set indisvalid = false where indexrelid = to_regclass('tool_embeddings_model_1')`)
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			if err := store.BuildVectorIndex(ctx, model.ID); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if !value[bool](t, conn, `select indisvalid and pg_get_indexdef(indexrelid) like '%hnsw%' from pg_index
		where indexrelid = to_regclass('tool_embeddings_model_1')`) {
		t.Fatal("there is no index")
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, servers := range [][]string{{all.ID, few.ID}, {few.ID}} {
		found, wanted := 0, 0
		for range 20 {
			q := postgres.NearestQuery{ModelID: model.ID, Servers: postgres.ParseServers(servers), Limit: 10,
				Vectors: [][]float32{unit(random)}, Exact: true}
			want := must(store.Nearest(ctx, q))(t)
			q.Exact = false
			got := must(store.Nearest(ctx, q))(t)
			for _, w := range want {
				wanted++
				if slices.ContainsFunc(got, func(g postgres.ToolCosines) bool { return g.ToolID == w.ToolID }) {
					found++
				}
			}
			for i := 1; i < len(got); i++ {
				if got[i-1].Cosines[0] < got[i].Cosines[0]-1e-5 {
					t.Fatalf("got %v before %v", got[i-1], got[i])
				}
			}
		}
		if recall := float64(found) / float64(wanted); recall < 0.9 {
			t.Errorf("%d servers: got recall %.2f, want 0.9 or more", len(servers), recall)
		}
	}

	check(t, store.BuildVectorIndex(ctx, model.ID))
	checkPlans(t, store, model, all.ID, few.ID)
}

// checkPlans sees that the graph index is used when it is to be, and only then,
// however many servers are named, tools wanted besides, and vectors asked for.
func checkPlans(t *testing.T, store *postgres.Store, model core.Model, all, few string) {
	t.Helper()
	var strangers []string
	for range 3000 {
		strangers = append(strangers, uuid.NewString())
	}
	for name, servers := range map[string][]string{"all": {all}, "few": {few}, "both": {all, few},
		"many": append(strangers, all), "none": {}} {
		for i := range 32 {
			q := postgres.NearestQuery{ModelID: model.ID, Servers: postgres.ParseServers(servers), Except: i&1 != 0,
				Exact: i&2 != 0, Vectors: [][]float32{{1, 0, 0, 0}}, Limit: 100}
			if i&4 != 0 {
				q.Vectors = append(q.Vectors, []float32{0, 1, 0, 0}, []float32{0, 0, 1, 0})
			}
			if i&8 != 0 {
				q.And = parsed(strangers[:100]...)
			}
			if i&16 != 0 {
				q.Domain = postgres.DefaultDomain
			}
			plan := must(store.Plan(t.Context(), q))(t)
			if got := strings.Count(plan, "Index Scan using tool_embeddings_model"); got != len(q.Vectors) && !q.Exact || got > 0 && q.Exact {
				t.Errorf("servers %s, except %t, exact %t, domain %q, %d vectors: the graph index is used %d times:\n%.2000s", name, q.Except, q.Exact, q.Domain,
					len(q.Vectors), got, plan)
			}
		}
	}
}

func unit(r *rand.Rand) []float32 {
	v := make([]float32, 4)
	var sum float64
	for i := range v {
		v[i] = float32(r.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// Vectors that are saved while tools come and go never outlive their tool.
func TestSaveVectorsWhileToolsGo(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	ctx := t.Context()
	server := createServer(t, store, "a")
	model := must(store.EnsureModel(ctx, "p", "m", 2))(t)
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		defer close(done)
		for range 40 {
			applyTools(t, store, server.ID, tool("x"), tool("y"))
			ids := toolIDs(t, store, server.ID)
			if _, err := store.ApplyTools(ctx, server.ID, postgres.ToolDiff{Remove: []string{ids["x"], ids["y"]}}); err != nil {
				t.Error(err)
			}
		}
	})
	wait.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				saveAll(t, store, model, map[string][]float32{"x": {1, 0}, "y": {0, 1}})
			}
		}
	})
	wait.Wait()
	if got := value[int](t, conn, `select count(*) from tool_embeddings`); got != 0 {
		t.Fatalf("got %d vectors of tools that are gone", got)
	}
}

// TestPendingLooksAtAPart has one tool without a vector behind many that have one, and
// one that was removed: the place goes on to it, and then no further.
func TestPendingLooksAtAPart(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	server := createServer(t, store, "a")
	model := must(store.EnsureModel(ctx, "p", "m", 2))(t)
	var tools []core.Tool
	for i := range postgres.PendingPart {
		tools = append(tools, tool(fmt.Sprintf("done_%d", i)))
	}
	applyTools(t, store, server.ID, tools...)
	var done []postgres.ToolVector
	for _, p := range pending(t, store, model.ID, postgres.Place{}, len(tools)) {
		done = append(done, postgres.ToolVector{ToolID: p.ID, TextHash: p.TextHash, Vector: []float32{1, 0}})
	}
	check(t, store.SaveVectors(ctx, model.ID, done))
	applyTools(t, store, server.ID, tool("late"), tool("gone"))
	must(store.ApplyTools(ctx, server.ID, postgres.ToolDiff{Remove: []string{toolIDs(t, store, server.ID)["gone"]}}))(t)

	var found []string
	parts := 0
	for place := (postgres.Place{}); ; parts++ {
		pending, next, err := store.Pending(ctx, model.ID, place, 7)
		check(t, err)
		if next == place {
			break
		}
		for _, p := range pending {
			found = append(found, p.Name)
		}
		place = next
	}
	if !slices.Equal(found, []string{"late"}) || parts != 2 {
		t.Errorf("found %v in %d parts, want late in the second of 2", found, parts)
	}
}

// TestNoToolIsLeftBehindThePlace: whoever goes on from place to place while tools come,
// change and go has seen them all at the end, without ever looking from the start again.
func TestNoToolIsLeftBehindThePlace(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	model := must(store.EnsureModel(ctx, "p", "m", 2))(t)
	done := make(chan struct{})
	var changing sync.WaitGroup
	for i := range 2 {
		server := createServer(t, store, fmt.Sprint("server ", i))
		changing.Go(func() {
			for round := range 30 {
				diff := postgres.ToolDiff{}
				for name, id := range toolIDs(t, store, server.ID) {
					if (len(name)+round)%3 == 0 {
						diff.Remove = append(diff.Remove, id)
					}
				}
				for k := range 20 {
					changed := tool(strings.Repeat("x", 1+(k*7+round)%40))
					changed.Description = fmt.Sprint("as it is in round ", round)
					diff.Upsert = append(diff.Upsert, changed)
				}
				if _, err := store.ApplyTools(ctx, server.ID, diff); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() {
		changing.Wait()
		close(done)
	}()
	var place postgres.Place
	for ended := false; ; {
		tools, next, err := store.Pending(ctx, model.ID, place, 7)
		check(t, err)
		var vectors []postgres.ToolVector
		for _, p := range append(must(store.PendingLatest(ctx, model.ID, next, 3))(t), tools...) {
			vectors = append(vectors, postgres.ToolVector{ToolID: p.ID, TextHash: p.TextHash, Vector: []float32{1, 0}})
		}
		check(t, store.SaveVectors(ctx, model.ID, vectors))
		if next == place && ended {
			break
		}
		place = next
		select {
		case <-done:
			ended = true
		default:
		}
	}
	if n, total, err := store.CountPending(ctx, model.ID); err != nil || n != 0 || total == 0 {
		t.Errorf("%d of %d tools are left behind, %v", n, total, err)
	}
}

func TestPendingGoesOnBehindAPlace(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	server, other := createServer(t, store, "a"), createServer(t, store, "b")
	model := must(store.EnsureModel(ctx, "p", "m", 2))(t)
	applyTools(t, store, server.ID, tool("x"), tool("y"), tool("z"))
	var place postgres.Place
	for range 3 {
		next := pending(t, store, model.ID, place, 1)
		if len(next) != 1 || next[0].ID == place.ToolID {
			t.Fatalf("behind %+v: %+v, want another tool", place, next)
		}
		place = postgres.Place{Revision: next[0].Revision, ToolID: next[0].ID}
	}
	if rest := pending(t, store, model.ID, place, 1); len(rest) != 0 {
		t.Fatalf("%+v behind the last", rest)
	}
	applyTools(t, store, server.ID, tool("y"), tool("w"))
	if late := pending(t, store, model.ID, place, 9); len(late) != 2 {
		t.Errorf("%d behind the place after two changes", len(late))
	}
	if latest := must(store.PendingLatest(ctx, model.ID, place, 1))(t); len(latest) != 1 {
		t.Errorf("%d among the last one, want 1", len(latest))
	}
	for id, want := range map[string]bool{server.ID: true, other.ID: false} {
		if got := must(store.Changed(ctx, place.Revision, []string{id}))(t); got != want {
			t.Errorf("server %s changed: %v, want %v", id, got, want)
		}
	}
}
