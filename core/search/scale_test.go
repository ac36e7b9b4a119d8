package search_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/search/evaluate"
	"github.com/toolscout/toolscout/embeddings"
)

// sizes are the catalogs that BenchmarkSearch makes, unless TOOLSCOUT_BENCH_TOOLS
// says other ones.
const sizes = "1000,8000,10000,100000"

// shares are how much of a catalog the caller may see.
var shares = []float64{1, .1, .01, .001}

// BenchmarkSearch searches catalogs of which a part may be seen, beside the floor:
// the least that the same search could cost in this process, over the same part.
// The table at its end is the one in docs/benchmarks.md.
func BenchmarkSearch(b *testing.B) {
	lines := []string{"| tools | visible | best ms | p50 | p99 | floor best ms | CPU ms, Go + Postgres | floor's | times | q/s, 1 client | 8 | 32 | KB a query | recall@10 |",
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"}
	for size := range strings.SplitSeq(cmp.Or(os.Getenv("TOOLSCOUT_BENCH_TOOLS"), sizes), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(size))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			s := newStage(b, n)
			for _, part := range shares {
				b.Run(fmt.Sprintf("visible=%g%%", 100*part), func(b *testing.B) {
					if line := s.measure(b, part); line != "" {
						lines = append(lines, fmt.Sprintf("| %d | %g %% %s", n, 100*part, line))
					}
				})
			}
			lines = append(lines, "", s.memory(b), "")
		})
	}
	if !testing.Short() {
		fmt.Println("\n" + strings.Join(lines, "\n")) // what is logged here is shown only after a failure
	}
}

// stage is a catalog to search in.
type stage struct {
	rig     *evaluate.Rig
	conn    *pgx.Conn
	tools   []evaluate.Tool
	servers []string         // ids
	places  map[string][]int // of a server's tools, by its id
	heap    float64          // MiB that the engine takes
	made    string           // how long that took
}

func newStage(b *testing.B, n int) *stage {
	b.Helper()
	ctx, url := b.Context(), pgtest.URL(b)
	store, err := postgres.Open(ctx, url, postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(store.Close)
	s := &stage{tools: corpus(b, n), places: make(map[string][]int)}
	if s.rig, err = evaluate.NewRig(ctx, store); err != nil {
		b.Fatal(err)
	}
	if s.conn, err = pgx.Connect(ctx, url); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.conn.Close(ctx) })
	start := time.Now()
	s.load(b, url)
	loaded := time.Now()
	if err := store.BuildVectorIndex(ctx, s.rig.Model.ID); err != nil {
		b.Fatal(err)
	}
	built := time.Now()
	before := heapMiB()
	if err := s.rig.Refresh(ctx); err != nil {
		b.Fatal(err)
	}
	s.heap = heapMiB() - before
	s.made = fmt.Sprintf("%d tools of %d servers: loaded in %.1f s, vector index in %.1f s, word index in %.1f s", n, len(s.servers),
		loaded.Sub(start).Seconds(), built.Sub(loaded).Seconds(), time.Since(built).Seconds())
	return s
}

// load fills the database.
func (s *stage) load(b *testing.B, url string) {
	b.Helper()
	var servers []pgtest.Server
	var texts []embeddings.Tool
	at := make(map[string]int)
	byServer := make([][]int, 0)
	for i, t := range s.tools {
		name := cmp.Or(strings.TrimSpace(t.Server), "00000")
		k, ok := at[name]
		if !ok {
			k = len(servers)
			at[name] = k
			servers, byServer = append(servers, pgtest.Server{Name: name}), append(byServer, nil)
		}
		tool := core.Tool{Name: t.Name, OriginName: t.ID, Description: t.Description, InputSchema: t.InputSchema}
		texts = append(texts, embeddings.Describe(tool, name))
		servers[k].Tools, byServer[k] = append(servers[k].Tools, tool), append(byServer[k], i)
	}
	vectors, err := embeddings.EmbedTools(b.Context(), s.rig.Embedder, texts)
	if err != nil {
		b.Fatal(err)
	}
	for k, places := range byServer {
		for _, i := range places {
			servers[k].Vectors = append(servers[k].Vectors, vectors[i])
		}
	}
	if s.servers, err = pgtest.Load(b.Context(), url, s.rig.Model.ID, servers); err != nil {
		b.Fatal(err)
	}
	for k, id := range s.servers {
		s.places[id] = byServer[k]
	}
}

// share picks servers at random until they hold a share of all tools. It gives
// those tools too.
func (s *stage) share(part float64) (servers []string, tools []evaluate.Tool) {
	for _, i := range rand.New(rand.NewPCG(1, 0)).Perm(len(s.servers)) {
		if len(servers) > 0 && float64(len(tools)) >= part*float64(len(s.tools)) {
			break
		}
		servers = append(servers, s.servers[i])
		for _, place := range s.places[s.servers[i]] {
			tools = append(tools, s.tools[place])
		}
	}
	return servers, tools
}

// measure gives a line of the table. With -short it only asks, one question after the
// other.
func (s *stage) measure(b *testing.B, part float64) string {
	servers, tools := s.share(part)
	search := func(i int) {
		answer, err := s.rig.Engine.Search(b.Context(), search.Query{Text: questions[i%len(questions)], Servers: servers})
		if err != nil || answer.Degraded != "" {
			b.Error(answer.Degraded, err)
		}
	}
	for i := range 2 * len(questions) { // finds connections, and reads what is far from memory
		search(i)
	}
	var took []time.Duration
	own, theirs := cpu(), s.backends(b)
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		search(i)
		took = append(took, time.Since(start))
	}
	n := float64(len(took))
	own, theirs = (cpu()-own)/n, (s.backends(b)-theirs)/n
	p50, p99 := evaluate.Percentile(took, .5), evaluate.Percentile(took, .99)
	report := map[string]float64{"p50-ms": p50, "p99-ms": p99, "best-ms": best(took), "go-cpu-ms": own, "pg-cpu-ms": theirs,
		"cpu-ms": own + theirs}
	defer func() {
		for unit, value := range report {
			b.ReportMetric(value, unit)
		}
	}()
	if testing.Short() {
		return ""
	}
	kb := allocated(search)
	least, floor := s.floor(b, tools)
	one, eight, many := throughput(1, search), throughput(8, search), throughput(32, search)
	recall := s.recall(b, servers)
	maps.Copy(report, map[string]float64{"floor-ms": least, "floor-cpu-ms": floor, "ratio": (own + theirs) / floor, "q/s@1": one,
		"q/s@8": eight, "q/s@32": many, "recall@10": recall})
	return fmt.Sprintf("| %.2f | %.2f | %.1f | %.2f | %.2f + %.2f | %.2f | %.1f | %.0f | %.0f | %.0f | %.0f | %.3f |",
		best(took), p50, p99, least, own, theirs, floor, (own+theirs)/floor, one, eight, many, kb, recall)
}

// allocated is how many KiB a search takes from the heap.
func allocated(search func(int)) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range questions {
		search(i)
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / 1024 / float64(len(questions))
}

// best is the mean over the questions of the quickest answer to each, in ms: whatever
// else runs on the machine only ever adds to that.
func best(took []time.Duration) float64 {
	var sum time.Duration
	n := min(len(questions), len(took))
	for q := range n {
		least := took[q]
		for i := q; i < len(took); i += len(questions) {
			least = min(least, took[i])
		}
		sum += least
	}
	return float64(sum.Microseconds()) / 1000 / float64(n)
}

// floor is what the least takes that these tools can be searched with: the best time,
// and the mean of the processor's, in ms.
func (s *stage) floor(b *testing.B, tools []evaluate.Tool) (least, mean float64) {
	b.Helper()
	floor, err := evaluate.NewFloor(b.Context(), s.rig.Embedder, tools)
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	begun := time.Now()
	own := cpu()
	for i := 0; i < 2*len(questions) || time.Since(begun) < time.Second; i++ {
		start := time.Now()
		if _, _, err := floor.Search(b.Context(), questions[i%len(questions)]); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	return best(took), (cpu() - own) / float64(len(took))
}

// throughput is how many searches a second so many clients get done.
func throughput(clients int, search func(int)) float64 {
	var group sync.WaitGroup
	var done atomic.Int64
	start := time.Now()
	for range clients {
		group.Go(func() {
			for time.Since(start) < time.Second {
				search(int(done.Add(1)))
			}
		})
	}
	group.Wait()
	return float64(done.Load()) / time.Since(start).Seconds()
}

// recall is how many of the ten nearest by vector the search has among its own ten.
// One as near as the tenth counts: many tools of a grown catalog are equally near.
func (s *stage) recall(b *testing.B, servers []string) float64 {
	b.Helper()
	const depth, tie = 10, 1e-6
	found, all := 0, 0
	for _, q := range questions {
		got, err := s.rig.Engine.Near(b.Context(), search.Query{Text: q, Servers: servers})
		if err != nil {
			b.Fatal(err)
		}
		want, err := s.rig.Engine.Nearest(b.Context(), search.Query{Text: q, Servers: servers})
		if err != nil {
			b.Fatal(err)
		}
		want = want[:min(depth, len(want))]
		all += len(want)
		for _, x := range got[:min(depth, len(got))] {
			if x >= want[len(want)-1]-tie {
				found++
			}
		}
	}
	return float64(found) / float64(max(all, 1))
}

// memory says what a catalog takes.
func (s *stage) memory(b *testing.B) string {
	b.Helper()
	line := fmt.Sprintf("%s; word index %.1f MiB of heap", s.made, s.heap)
	rows, err := s.conn.Query(b.Context(), `select relname, pg_relation_size(oid) / 1048576.0::float8 from pg_class
		where relname = 'tool_embeddings' or relname like 'tool_embeddings_%' order by 1`)
	if err != nil {
		b.Fatal(err)
	}
	var name string
	var size float64
	_, err = pgx.ForEachRow(rows, []any{&name, &size}, func() error {
		line += fmt.Sprintf(", %s %.0f MiB", name, size)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	var buffers string
	if err := s.conn.QueryRow(b.Context(), `show shared_buffers`).Scan(&buffers); err != nil {
		b.Fatal(err)
	}
	return line + ", shared_buffers " + buffers
}

func heapMiB() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// cpu is the time in ms that this process has had of the processors.
func cpu() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}

// backends is the same of the database's processes that serve the engine, where they
// run on this machine and that tells of processes in /proc.
func (s *stage) backends(b *testing.B) float64 {
	b.Helper()
	rows, err := s.conn.Query(b.Context(), `select pid from pg_stat_activity where application_name = 'toolscout' and datname = current_database()`)
	if err != nil {
		b.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		b.Fatal(err)
	}
	const tick = 10 // ms: USER_HZ is 100 on every Linux
	sum := 0
	for _, pid := range pids {
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		fields := strings.Fields(string(raw[slices.Index(raw, ')')+1:]))
		if len(fields) < 13 {
			continue
		}
		for _, field := range fields[11:13] { // utime and stime, proc_pid_stat(5)
			n, _ := strconv.Atoi(field)
			sum += n * tick
		}
	}
	return float64(sum)
}
