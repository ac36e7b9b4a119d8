package evaluate_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/search/evaluate"
)

type world struct {
	b       *testing.B
	rig     *evaluate.Rig
	catalog *evaluate.Catalog
	ids     map[string]string
	random  *rand.Rand
}

func (w *world) use(queries []evaluate.Query, cold map[string]bool) {
	if _, err := w.rig.Store.PruneAudit(w.b.Context(), time.Now().Add(time.Hour)); err != nil {
		w.b.Fatal(err)
	}
	var rows []core.UsageEntry
	for _, q := range queries {
		who := fmt.Sprint(w.random.IntN(20))
		at := time.Now().Add(-time.Duration(w.random.IntN(30*24)) * time.Hour)
		for _, id := range q.Relevant {
			if !cold[id] && w.ids[id] != "" {
				rows = append(rows, core.UsageEntry{AuditEntry: core.AuditEntry{Time: at, Level: core.LevelMeta, Action: "execute_tool", ActorID: who, ToolID: w.ids[id]}})
			}
		}
	}
	for len(rows) > 0 {
		n := min(1000, len(rows))
		if err := w.rig.Store.AppendAudit(w.b.Context(), nil, rows[:n]); err != nil {
			w.b.Fatal(err)
		}
		rows = rows[n:]
	}
	if err := w.rig.Engine.RefreshUsage(w.b.Context()); err != nil {
		w.b.Fatal(err)
	}
}

func (w *world) ask(queries []evaluate.Query) []evaluate.Scores {
	r, err := evaluate.Ask(w.b.Context(), evaluate.Set{Queries: queries}, nil, func(ctx context.Context, q evaluate.Query) (evaluate.Finding, error) {
		a, err := w.rig.Engine.Search(ctx, search.Query{Text: q.Text, Servers: w.catalog.Servers, TopK: 10})
		var f evaluate.Finding
		for _, h := range a.Hits {
			f.IDs = append(f.IDs, w.catalog.Origins[h.ToolID])
		}
		return f, err
	})
	if err != nil {
		w.b.Fatal(err)
	}
	return r.Each
}

func BenchmarkUsage(b *testing.B) {
	for _, name := range []string{"livemcpbench", "mcpproxy-golden", "metatool", "sealtools"} {
		set, err := evaluate.Load(filepath.Join(os.Getenv("TOOLSCOUT_EVAL_DIR"), name))
		if err != nil {
			b.Fatal(err)
		}
		rig, err := evaluate.NewRig(b.Context(), pgtest.New(b))
		if err != nil {
			b.Fatal(err)
		}
		catalog, err := rig.Fill(b.Context(), set.Tools)
		if err != nil {
			b.Fatal(err)
		}
		w := &world{b: b, rig: rig, catalog: catalog, ids: map[string]string{}, random: rand.New(rand.NewPCG(3, 3))}
		for id, origin := range catalog.Origins {
			w.ids[origin] = id
		}
		queries := set.Queries
		w.random.Shuffle(len(queries), func(i, j int) { queries[i], queries[j] = queries[j], queries[i] })
		if len(queries) > 2000 {
			queries = queries[:2000]
		}
		half := len(queries) / 2
		past, next := queries[:half], queries[half:]
		cold := map[string]bool{}
		pop := map[string]float64{}
		for i, k := range w.random.Perm(len(set.Tools)) {
			pop[set.Tools[k].ID] = 1 / math.Pow(float64(i+1), 1)
			if w.random.IntN(2) == 0 {
				cold[set.Tools[k].ID] = true
			}
		}
		split := func(qs []evaluate.Query) (c, r []evaluate.Query) {
			for _, q := range qs {
				all := true
				for _, id := range q.Relevant {
					all = all && cold[id]
				}
				if all {
					c = append(c, q)
				} else {
					r = append(r, q)
				}
			}
			return
		}
		drawn := func(qs []evaluate.Query, n int) []evaluate.Query {
			var cum []float64
			t := 0.0
			for _, q := range qs {
				t += pop[q.Relevant[0]]
				cum = append(cum, t)
			}
			var out []evaluate.Query
			for range n {
				x := w.random.Float64() * t
				for i, c := range cum {
					if c >= x {
						out = append(out, qs[i])
						break
					}
				}
			}
			return out
		}
		coldq, warmq := split(next)
		zpast, znext := drawn(past, half), drawn(next, half)
		test := func(what string, past, next []evaluate.Query, cold map[string]bool) {
			w.use(nil, nil)
			before := w.ask(next)
			w.use(past, cold)
			after := w.ask(next)
			d, _ := evaluate.Compare(after, before)
			fmt.Printf("%-16s %-8s n=%4d  %.4f  %+.4f p=%.3f   R@1 %+.4f\n", name, what, len(next), evaluate.Mean(before).NDCG10, d[2].Gain, d[2].P, evaluate.Mean(after).R1-evaluate.Mean(before).R1)
		}
		test("even", past, next, nil)
		test("cold", past, coldq, cold)
		test("warm", past, warmq, cold)
		test("skewed", zpast, znext, nil)
	}
}
