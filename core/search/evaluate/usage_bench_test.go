package evaluate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/search/evaluate"
	"github.com/toolscout/toolscout/embeddings/builtin"
)

// mostQueries of a set are drawn for these benchmarks, which search for each several
// times.
const mostQueries = 2000

// shuffledSets are those in TOOLSCOUT_EVAL_DIR, or one that is made up, with their
// queries in an order of chance: what is asked before and after is alike.
func shuffledSets(b *testing.B) []evaluate.Set {
	b.Helper()
	var folders []string
	if folder := os.Getenv("TOOLSCOUT_EVAL_DIR"); folder != "" {
		found, err := filepath.Glob(filepath.Join(folder, "*", "queries.jsonl"))
		if err != nil {
			b.Fatal(err)
		}
		for _, file := range found {
			folders = append(folders, filepath.Dir(file))
		}
	}
	sets, err := evaluate.LoadAll(folders)
	if err != nil {
		b.Fatal(err)
	}
	for i := range sets {
		q := sets[i].Queries
		rand.New(rand.NewPCG(3, 3)).Shuffle(len(q), func(i, j int) { q[i], q[j] = q[j], q[i] })
		sets[i].Queries = q[:min(mostQueries, len(q))]
	}
	return sets
}

// usageWorld is a catalog and what people do with it.
type usageWorld struct {
	rig     *evaluate.Rig
	catalog *evaluate.Catalog
	ids     map[string]string // by id in the set
	random  *rand.Rand
}

func newUsageWorld(b *testing.B, tools []evaluate.Tool) *usageWorld {
	b.Helper()
	rig, err := evaluate.NewRig(b.Context(), pgtest.New(b))
	if err != nil {
		b.Fatal(err)
	}
	w := &usageWorld{rig: rig, ids: map[string]string{}, random: rand.New(rand.NewPCG(5, 5))}
	if w.catalog, err = rig.Fill(b.Context(), tools); err != nil {
		b.Fatal(err)
	}
	for id, origin := range w.catalog.Origins {
		w.ids[origin] = id
	}
	return w
}

// live has twenty people ask the queries in the course of a month and run what is
// right, but for tools that nobody uses.
func (w *usageWorld) live(b *testing.B, queries []evaluate.Query, unused map[string]bool) {
	b.Helper()
	var rows []core.UsageEntry
	for _, q := range queries {
		who, at := fmt.Sprint(w.random.IntN(20)), time.Now().AddDate(0, 0, -w.random.IntN(30))
		for _, id := range q.Relevant {
			if !unused[id] {
				rows = append(rows, core.UsageEntry{AuditEntry: core.AuditEntry{Time: at, Level: core.LevelMeta, Action: "execute_tool", ActorID: who, ToolID: w.ids[id]}})
			}
		}
	}
	if err := w.rig.Store.AppendAudit(b.Context(), nil, rows); err != nil {
		b.Fatal(err)
	}
	if err := w.rig.Engine.RefreshUsage(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func (w *usageWorld) ask(b *testing.B, queries []evaluate.Query) []evaluate.Scores {
	b.Helper()
	result, err := evaluate.Ask(b.Context(), evaluate.Set{Queries: queries}, nil, func(ctx context.Context, q evaluate.Query) (evaluate.Finding, error) {
		answer, err := w.rig.Engine.Search(ctx, search.Query{Text: q.Text, Servers: w.catalog.Servers})
		var f evaluate.Finding
		for _, hit := range answer.Hits {
			f.IDs = append(f.IDs, w.catalog.Origins[hit.ToolID])
		}
		return f, err
	})
	if err != nil {
		b.Fatal(err)
	}
	return result.Each
}

// BenchmarkUsage is what the use of tools is worth as a prior: half of a set's queries
// were asked and what is right was run, the other half are measured without and with
// that. Of used and of cold half of the tools were never used: the queries that need
// one of the others, and those that need none. Of twins every tool is there twice, on
// two servers of which one is ever used, and right (each tool has its own where a set
// knows no servers).
func BenchmarkUsage(b *testing.B) {
	for _, set := range shuffledSets(b) {
		random := rand.New(rand.NewPCG(7, 7))
		half := len(set.Queries) / 2
		past, next := set.Queries[:half], set.Queries[half:]
		cold, copied := map[string]bool{}, map[string]bool{}
		for _, t := range set.Tools {
			cold[t.ID] = random.IntN(2) == 0
			if _, drawn := copied[t.Server]; t.Server != "" && !drawn {
				copied[t.Server] = random.IntN(2) == 0
			}
		}
		var used, unused []evaluate.Query
		for _, q := range next {
			warm := false
			for _, id := range q.Relevant {
				warm = warm || !cold[id]
			}
			if warm {
				used = append(used, q)
			} else {
				unused = append(unused, q)
			}
		}
		compareUsage(b, set.Name+"/all", set.Tools, past, next, nil)
		compareUsage(b, set.Name+"/used", set.Tools, past, used, cold)
		compareUsage(b, set.Name+"/cold", set.Tools, past, unused, cold)
		tools, rightOf := twins(set.Tools, cold, copied)
		compareUsage(b, set.Name+"/twins", tools, renamed(past, rightOf), renamed(next, rightOf), nil)
	}
}

func compareUsage(b *testing.B, name string, tools []evaluate.Tool, past, next []evaluate.Query, unused map[string]bool) {
	b.Run(name, func(b *testing.B) {
		for b.Loop() {
			w := newUsageWorld(b, tools)
			before := w.ask(b, next)
			w.live(b, past, unused)
			metrics, err := evaluate.Compare(w.ask(b, next), before)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(next)), "queries")
			b.ReportMetric(evaluate.Mean(before).NDCG10, "before")
			b.ReportMetric(metrics[2].Gain, "gain")
			b.ReportMetric(metrics[2].P, "p")
		}
	})
}

// twins are tools with a copy of each on another server, and which of the two is right.
func twins(tools []evaluate.Tool, copiedTools, copiedServers map[string]bool) (all []evaluate.Tool, rightOf map[string]string) {
	rightOf = map[string]string{}
	for _, t := range tools {
		twin := t
		twin.ID, twin.Server = t.ID+" twin", t.Server+" 00000"
		all = append(all, t, twin)
		rightOf[t.ID] = t.ID
		if copied, known := copiedServers[t.Server]; copied || !known && copiedTools[t.ID] {
			rightOf[t.ID] = twin.ID
		}
	}
	return all, rightOf
}

func renamed(queries []evaluate.Query, ids map[string]string) []evaluate.Query {
	list := make([]evaluate.Query, len(queries))
	for i, q := range queries {
		question := evaluate.Question{Query: q}
		list[i] = question.Renamed(ids)
	}
	return list
}

// BenchmarkAdapt adapts the table to a set's catalog alone, and to half of its queries
// too: own is the gain on what Adapt holds out by itself, other that on the other half
// of the queries. Sets of thousands of tools, which take minutes, are left out, and those
// with too few to hold some out.
func BenchmarkAdapt(b *testing.B) {
	now, err := builtin.New()
	if err != nil {
		b.Fatal(err)
	}
	for _, set := range shuffledSets(b) {
		if len(set.Tools) > 1000 || len(set.Tools) < 150 {
			continue
		}
		half := len(set.Queries) / 2
		for name, usage := range map[string][]evaluate.Query{"catalog": nil, "usage": set.Queries[:half]} {
			if name == "usage" && half < 100 {
				continue
			}
			b.Run(set.Name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					m := evaluate.Material{Tools: set.Tools, Usage: usage, HoldOut: .2, Seed: 1, Now: now}
					a, table, err := evaluate.Adapt(b.Context(), pgtest.New(b), m)
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(a.Main().Gain, "own-gain")
					b.ReportMetric(a.Main().P, "own-p")
					if table != nil {
						otherQueries(b, evaluate.Set{Name: set.Name, Tools: set.Tools, Queries: set.Queries[half:]}, now, table)
					}
				}
			})
		}
	}
}

func otherQueries(b *testing.B, set evaluate.Set, now *builtin.Model, table []byte) {
	adapted, err := builtin.Parse(string(table))
	if err != nil {
		b.Fatal(err)
	}
	var each [2][]evaluate.Scores
	for i, e := range []*builtin.Model{now, adapted.Named("builtin/adapted")} {
		rig, err := evaluate.NewRigWith(b.Context(), pgtest.New(b), e)
		if err != nil {
			b.Fatal(err)
		}
		result, err := rig.Run(b.Context(), set, 10)
		if err != nil {
			b.Fatal(err)
		}
		each[i] = result.Each
	}
	metrics, err := evaluate.Compare(each[1], each[0])
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(evaluate.Mean(each[0]).NDCG10, "other-before")
	b.ReportMetric(metrics[2].Gain, "other-gain")
	b.ReportMetric(metrics[2].P, "other-p")
}
