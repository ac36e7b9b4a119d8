package catalog_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/search/evaluate"
	"github.com/toolscout/toolscout/embeddings"
)

// BenchmarkIndexUnderLoad adds 100,000 tools to a catalog of 10,000 that is searched
// meanwhile, and says how long it takes until all of them are found by vector and by
// words, what becomes of the searches, then and while the graph index is built, and
// how soon a change is found on two instances, at rest before and at the end.
func BenchmarkIndexUnderLoad(b *testing.B) {
	const before, more = 10_000, 100_000
	tools := corpus(b, before+more)
	for b.Loop() {
		l := newLoad(b, tools[:before], nil)
		l.settle(b)
		l.changes(b, "rest", []*instance{l.in})
		l.c = l.in.client(b, l.servers)
		l.phase(b, "before", func() { l.pass(b, 30*time.Second) })
		l.phase(b, "index", func() {
			begin := time.Now()
			if _, err := l.rig.Register(b.Context(), tools[before:]); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(time.Since(begin).Seconds(), "register-s")
			l.settle(b)
		})
		l.phase(b, "graph", func() { l.pass(b, 20*time.Second) })
		begin := time.Now()
		other, stop := startInstance(b, l.url, local(b), nil)
		waitIndexed(b, other)
		if err := other.engine.Refresh(b.Context(), l.in.revision.Load()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(begin).Seconds(), "start-s")
		l.changes(b, "load", []*instance{l.in, other})
		l.c.stop()
		l.report(b)
		stop()
		l.stop()
	}
}

// BenchmarkSwitchUnderLoad changes the model of a catalog of 100,000 tools, which is
// searched as a whole meanwhile on the instance that stays, and says how long the new
// model takes to be searched with everywhere and what becomes of the searches.
func BenchmarkSwitchUnderLoad(b *testing.B) {
	tools := corpus(b, 100_000)
	next := slanted(b, "next", 0, 224)
	for b.Loop() {
		l := newLoad(b, tools, func(context.Context, core.Model) (embeddings.Embedder, error) { return next, nil })
		l.settle(b)
		l.c = l.in.client(b, l.servers)
		l.phase(b, "before", func() { l.pass(b, 30*time.Second) })
		var stop func()
		l.phase(b, "switch", func() {
			var in *instance
			in, stop = startInstance(b, l.url, next, func(context.Context, core.Model) (embeddings.Embedder, error) { return local(b), nil })
			for _, each := range []*instance{in, l.in} {
				if err := each.indexer.WaitActive(b.Context(), next.Name()); err != nil {
					b.Fatal(err)
				}
			}
		})
		l.phase(b, "after", func() { l.pass(b, 20*time.Second) })
		l.c.stop()
		l.report(b)
		stop()
		l.stop()
	}
}

// changes changes tools, and reports how long it takes until each change is found
// on every instance, by words and by vector.
func (l *load) changes(b *testing.B, when string, instances []*instance) {
	b.Helper()
	_, model, err := l.in.indexer.Active()
	if err != nil {
		b.Fatal(err)
	}
	tools, err := l.rig.Store.ServerTools(b.Context(), l.servers[0])
	if err != nil {
		b.Fatal(err)
	}
	var words, vectors []time.Duration
	for i := range 20 {
		tool := tools[i]
		word := fmt.Sprintf("%s%cqvx", when, 'a'+i)
		tool.Description = fmt.Sprintf("%s %s", word, loadQuestions[i%len(loadQuestions)])
		vector, err := embeddings.EmbedTools(b.Context(), l.rig.Embedder, []embeddings.Tool{embeddings.Describe(tool, l.names[0])})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if _, err := l.rig.Store.ApplyTools(b.Context(), l.servers[0], postgres.ToolDiff{Upsert: []core.Tool{tool}}); err != nil {
			b.Fatal(err)
		}
		l.until(b, func() bool {
			near, err := l.rig.Store.Nearest(b.Context(), postgres.NearestQuery{ModelID: model.ID, Servers: postgres.ParseServers(l.servers[:1]), Vectors: vector, Limit: 1, Exact: true})
			return err == nil && len(near) == 1 && near[0].ToolID.String() == tool.ID && near[0].Cosines[0] > .999
		})
		vectors = append(vectors, time.Since(start))
		for _, in := range instances {
			l.until(b, func() bool {
				answer, err := in.engine.Search(b.Context(), search.Query{Text: word, Servers: l.servers[:1], TopK: 1})
				return err == nil && len(answer.Hits) == 1 && answer.Hits[0].ToolID == tool.ID
			})
		}
		words = append(words, time.Since(start))
	}
	b.ReportMetric(evaluate.Percentile(vectors, .5), when+"-vector-ms")
	b.ReportMetric(evaluate.Percentile(words, .5), when+"-change-ms")
	b.ReportMetric(evaluate.Percentile(words, 1), when+"-change-max-ms")
}

// until asks until it is so, every now and then.
func (l *load) until(b *testing.B, so func() bool) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-b.Context().Done():
			b.Fatal("the benchmark was ended")
		}
	}
}

// perServer is how many tools a server of corpus has: few servers, as to register them
// is not what is measured.
const perServer = 500

// corpus gives n tools: real ones, put together anew where there are too few, from
// the folder TOOLSCOUT_EVAL_DIR, or else made up.
func corpus(b *testing.B, n int) []evaluate.Tool {
	b.Helper()
	tools := evaluate.Generate(n, 1).Tools
	if folder := os.Getenv("TOOLSCOUT_EVAL_DIR"); folder != "" {
		real, err := evaluate.LoadTools(filepath.Join(folder, "corpus", "mcp_tools.jsonl"))
		if err != nil {
			b.Fatal(err)
		}
		tools = evaluate.Grow(real, n)
	}
	for i := range tools {
		tools[i].ID = fmt.Sprintf("%d", i)
		tools[i].Server = fmt.Sprintf("server %03d", i/perServer)
	}
	return tools
}

// load is an instance that is searched while its catalog changes.
type load struct {
	rig     *evaluate.Rig
	url     string
	in      *instance
	servers []string
	names   []string
	c       *client
	stop    func()
	phases  []phase
}

type phase struct {
	name     string
	from, to time.Time
	peak     uint64 // bytes of memory
}

func newLoad(b *testing.B, tools []evaluate.Tool, remake func(context.Context, core.Model) (embeddings.Embedder, error)) *load {
	url := pgtest.URL(b)
	store, err := postgres.Open(b.Context(), url, postgres.Options{MaxConns: 8})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(store.Close)
	rig, err := evaluate.NewRig(b.Context(), store)
	if err != nil {
		b.Fatal(err)
	}
	known, err := rig.Fill(b.Context(), tools)
	if err != nil {
		b.Fatal(err)
	}
	l := &load{rig: rig, url: url, servers: known.Servers, names: known.Names}
	l.in, l.stop = startInstance(b, url, local(b), remake)
	rig.Pace = l.in.pace
	return l
}

// settle returns when every tool is found by its vector and by its words.
func (l *load) settle(b *testing.B) {
	if err := l.in.indexer.Wait(b.Context()); err != nil {
		b.Fatal(err)
	}
	_, revision, err := l.in.store.AllServers(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if err := l.in.engine.Refresh(b.Context(), revision); err != nil {
		b.Fatal(err)
	}
}

// phase notes what happens while f runs.
func (l *load) phase(b *testing.B, name string, f func()) {
	runtime.GC()
	p := phase{name: name, from: time.Now()}
	quit, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			p.peak = max(p.peak, memory())
			select {
			case <-quit:
				return
			case <-tick.C:
			}
		}
	}()
	f()
	close(quit)
	<-watched
	p.to = time.Now()
	l.phases = append(l.phases, p)
}

// pass lets the client go on for a while.
func (l *load) pass(b *testing.B, d time.Duration) {
	select {
	case <-time.After(d):
	case <-b.Context().Done():
	}
}

// memory is what the process holds, without what it has given back.
func memory() uint64 {
	read := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(read)
	return read[0].Value.Uint64() - read[1].Value.Uint64()
}

// report says of each phase how the searches went, beside the first.
func (l *load) report(b *testing.B) {
	var bad int
	var first float64
	for i, p := range l.phases {
		took, wrong := l.c.between(b, p.from, p.to)
		bad += wrong
		p99 := evaluate.Percentile(took, .99)
		if i == 0 {
			first = p99
		}
		b.ReportMetric(p.to.Sub(p.from).Seconds(), p.name+"-s")
		b.ReportMetric(evaluate.Percentile(took, .5), p.name+"-p50-ms")
		b.ReportMetric(p99, p.name+"-p99-ms")
		b.ReportMetric(float64(p.peak)/(1<<20), p.name+"-MiB")
		if i > 0 {
			b.ReportMetric(p99/first, p.name+"-p99-ratio")
		}
	}
	b.ReportMetric(float64(bad), "bad-answers")
}
