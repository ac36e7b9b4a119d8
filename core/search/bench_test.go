package search_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/search/evaluate"
	"github.com/toolscout/toolscout/embeddings"
)

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

// questions are what benchmarks ask: needs in one clause and in several, with
// words of the corpus and without.
var questions = []string{
	"find a file by name", "search the web for recent news", "create an issue in a repository",
	"what will the weather be like tomorrow", "send an email to a colleague", "list all tables of the database",
	"convert a document to pdf and then mail it to the team", "take a screenshot of a web page",
	"get the price of a stock", "translate a text, and summarise it in one sentence", "play a song",
	"delete old branches of a repository", "book a room for a meeting", "read the messages of a channel",
	"how do I get from the station to the hotel?", "transcribe a video", "monitor the load of a server",
	"Look up the order of a customer. Then refund it, and tell the customer by mail.",
	"generate an image from a description", "run a query against the data warehouse",
}

// share picks servers at random until they hold a share of all tools.
func share(c *evaluate.Catalog, part float64, seed uint64) []string {
	total, random := 0, rand.New(rand.NewPCG(seed, 0))
	for _, size := range c.Sizes {
		total += size
	}
	var servers []string
	seen := 0
	for _, i := range random.Perm(len(c.Servers)) {
		if len(servers) > 0 && float64(seen) >= part*float64(total) {
			break
		}
		servers, seen = append(servers, c.Servers[i]), seen+c.Sizes[i]
	}
	return servers
}

// BenchmarkSearch searches 1,000, 8,000 and 100,000 tools of which a part may be
// seen. recall@10 is how many of the ten nearest by vector an exact comparison
// with all of them has found too.
func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{1_000, 8_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			rig, err := evaluate.NewRig(b.Context(), pgtest.New(b))
			if err != nil {
				b.Fatal(err)
			}
			start := time.Now()
			catalog, err := rig.Fill(b.Context(), corpus(b, n))
			if err != nil {
				b.Fatal(err)
			}
			b.Logf("registered and indexed in %v", time.Since(start).Round(time.Millisecond))
			for _, part := range []float64{1, .1, .01, .001} {
				b.Run(fmt.Sprintf("visible=%g%%", 100*part), func(b *testing.B) {
					benchmarkSearch(b, rig, share(catalog, part, 1))
				})
			}
		})
	}
}

func benchmarkSearch(b *testing.B, rig *evaluate.Rig, servers []string) {
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		answer, err := rig.Engine.Search(b.Context(), search.Query{Text: questions[i%len(questions)], Servers: servers})
		if err != nil || answer.Degraded != "" {
			b.Fatal(answer.Degraded, err)
		}
		took = append(took, time.Since(start))
	}
	b.ReportMetric(evaluate.Percentile(took, .5), "p50-ms")
	b.ReportMetric(evaluate.Percentile(took, .99), "p99-ms")
	b.ReportMetric(recall(b, rig, servers), "recall@10")
}

func recall(b *testing.B, rig *evaluate.Rig, servers []string) float64 {
	b.Helper()
	found, all := 0, 0
	for _, q := range questions {
		vectors, err := rig.Embedder.Embed(b.Context(), []string{q})
		if err != nil {
			b.Fatal(err)
		}
		ask := postgres.NearestQuery{ModelID: rig.Model.ID, Servers: servers, Vectors: vectors, Limit: search.Candidates}
		near, err := rig.Store.Nearest(b.Context(), ask)
		if err != nil {
			b.Fatal(err)
		}
		ask.Exact, ask.Limit = true, 10
		exact, err := rig.Store.Nearest(b.Context(), ask)
		if err != nil {
			b.Fatal(err)
		}
		got := make(map[string]bool)
		for _, t := range near[:min(10, len(near))] {
			got[t.ToolID] = true
		}
		for _, t := range exact {
			all++
			if got[t.ToolID] {
				found++
			}
		}
	}
	return float64(found) / float64(max(all, 1))
}

// BenchmarkWords searches by words alone, and says what the word index takes.
func BenchmarkWords(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			var tools []embeddings.Tool
			for _, t := range corpus(b, n) {
				tools = append(tools, embeddings.Tool{Name: t.Name, Description: t.Description,
					Parameters: embeddings.Parameters(t.InputSchema), Server: t.Server})
			}
			x := search.NewWordIndex(tools)
			for i := 0; b.Loop(); i++ {
				x.Top(questions[i%len(questions)], 100)
			}
			runtime.KeepAlive(tools) // not to be freed while the index is measured
			b.ReportMetric(x.MiB, "MiB")
		})
	}
}
