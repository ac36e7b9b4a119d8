package search_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

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
