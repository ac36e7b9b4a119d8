package catalog_test

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search/evaluate"
)

// BenchmarkIndexUnderLoad registers 100,000 tools in a catalog of 10,000 that is
// searched meanwhile, and says how long it takes until all of them are found by
// vector and by words, until the graph index is there too, and what becomes of the
// searches.
func BenchmarkIndexUnderLoad(b *testing.B) {
	before, more := 5_000, 15_000
	tools := corpus(b, before+more)
	for b.Loop() {
		l := newLoad(b, tools[:before])
		l.c = l.in.client(b, l.servers)
		l.settle(b)
		l.phase(b, "before", func() { l.pass(b, 5*time.Second) })
		l.phase(b, "index", func() {
			if _, err := l.rig.Register(b.Context(), tools[before:]); err != nil {
				b.Fatal(err)
			}
			registered := time.Since(l.began)
			b.ReportMetric(registered.Seconds(), "register-s")
			println("registered", registered.String())
			l.settle(b)
		})
		l.phase(b, "graph", l.in.indexer.Built)
		l.phase(b, "after", func() { l.pass(b, 5*time.Second) })
		l.c.stop()
		l.report(b)
		l.stop()
	}
}

// corpus gives n tools: real ones, put together anew where there are too few, from
// the folder TOOLSCOUT_EVAL_DIR, or else made up.
func corpus(b *testing.B, n int) []evaluate.Tool {
	b.Helper()
	folder := os.Getenv("TOOLSCOUT_EVAL_DIR")
	if folder == "" {
		return evaluate.Generate(n, 1).Tools
	}
	tools, err := evaluate.LoadTools(filepath.Join(folder, "corpus", "mcp_tools.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	return evaluate.Grow(tools, n)
}

// load is an instance that is searched while its catalog changes.
type load struct {
	rig     *evaluate.Rig
	in      *instance
	servers []string
	c       *client
	stop    func()
	began   time.Time
	phases  []phase
}

type phase struct {
	name     string
	from, to time.Time
	peak     uint64 // bytes of memory
}

func newLoad(b *testing.B, tools []evaluate.Tool) *load {
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
	l := &load{rig: rig, servers: known.Servers}
	println("filled")
	l.in, l.stop = startInstance(b, url, local(b), nil)
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
	l.began = p.from
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
	println(name, p.to.Sub(p.from).String())
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

func (l *load) report(b *testing.B) {
	bad := 0
	p99 := map[string]float64{}
	for _, p := range l.phases {
		took, wrong := l.c.between(b, p.from, p.to)
		bad += wrong
		p99[p.name] = evaluate.Percentile(took, .99)
		b.ReportMetric(p.to.Sub(p.from).Seconds(), p.name+"-s")
		b.ReportMetric(evaluate.Percentile(took, .5), p.name+"-p50-ms")
		b.ReportMetric(p99[p.name], p.name+"-p99-ms")
		b.ReportMetric(float64(p.peak)/(1<<20), p.name+"-MiB")
	}
	b.ReportMetric(p99["index"]/p99["before"], "p99-ratio")
	b.ReportMetric(float64(bad), "bad-answers")
}
