package evaluate_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search/evaluate"
)

// BenchmarkTokens counts what a language model reads of the real tools in
// TOOLSCOUT_EVAL_DIR, or of as many made-up ones.
func BenchmarkTokens(b *testing.B) {
	tools := evaluate.Generate(8339, 1).Tools
	if folder := os.Getenv("TOOLSCOUT_EVAL_DIR"); folder != "" {
		var err error
		if tools, err = evaluate.LoadTools(filepath.Join(folder, "corpus", "mcp_tools.jsonl")); err != nil {
			b.Fatal(err)
		}
	}
	rig, err := evaluate.NewRig(b.Context(), pgtest.New(b))
	if err != nil {
		b.Fatal(err)
	}
	var k evaluate.Costs
	for b.Loop() {
		if k, err = rig.Costs(b.Context(), tools, questions); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(k.Listing), "listing")
	b.ReportMetric(float64(k.Meta), "meta-tools")
	b.ReportMetric(k.Brief, "brief")
	b.ReportMetric(k.Signature, "signature")
	b.ReportMetric(k.Full, "full")
	b.ReportMetric(k.Schema, "schema")
	b.ReportMetric(float64(k.Execution), "execution")
}

// The gate on speed asks each question so often, and again, if the search seems
// slower, up to so many times: a slowdown that is real is there each time.
const (
	gateRounds   = 60
	gateAttempts = 5
)

// BenchmarkFloor holds a search against the least that it could cost, measured in the
// same moments, and fails when that ratio is more than 15 % above the one in the file
// TOOLSCOUT_PACES. TOOLSCOUT_KEEP=1 writes that file anew. With -short it leaves out
// the larger catalogs: their vectors do not fit into a cache, and what else runs on the
// machine slows the floor more than the search.
func BenchmarkFloor(b *testing.B) {
	file := os.Getenv("TOOLSCOUT_PACES")
	keep := os.Getenv("TOOLSCOUT_KEEP") != ""
	kept, err := evaluate.ReadPaces(file)
	if errors.Is(err, os.ErrNotExist) && (keep || file == "") {
		kept, err = evaluate.Paces{}, nil
	}
	if err != nil {
		b.Fatal(err)
	}
	sizes := []int{1_000, 3_000, 8_000, 100_000}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for i, n := range sizes {
		rig, err := evaluate.NewRig(b.Context(), pgtest.New(b))
		if err != nil {
			b.Fatal(err)
		}
		tools := evaluate.Generate(n, 1).Tools
		catalog, err := rig.Fill(b.Context(), tools)
		if err != nil {
			b.Fatal(err)
		}
		parts := []int{1, 20}
		if i == 0 { // what is left of so few takes as long as nothing does
			parts = parts[:1]
		}
		for _, part := range parts {
			servers, seen := catalog.Visible(tools, part)
			floor, err := evaluate.NewFloor(b.Context(), rig.Embedder, seen)
			if err != nil {
				b.Fatal(err)
			}
			name := fmt.Sprintf("tools=%d/visible=1of%d", n, part)
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					pace(b, name, kept, keep, &evaluate.Race{Engine: rig.Engine, Servers: servers, Floor: floor, Questions: questions})
				}
			})
		}
	}
	if keep {
		if err := kept.Write(file); err != nil {
			b.Fatal(err)
		}
	}
}

// pace measures until the search is seen not to be slower, and keeps the ratio where
// that is wanted.
func pace(b *testing.B, name string, kept evaluate.Paces, keep bool, race *evaluate.Race) {
	var p evaluate.Pace
	for range gateAttempts {
		var err error
		if p, err = race.Run(b.Context(), gateRounds); err != nil {
			b.Fatal(err)
		}
		if !keep && kept.Check(name, p) == nil {
			break
		}
	}
	b.ReportMetric(p.Search, "search-ms")
	b.ReportMetric(p.Floor, "floor-ms")
	b.ReportMetric(p.Ratio, "ratio")
	if keep {
		kept[name] = math.Round(100*p.Ratio) / 100
		return
	}
	if err := kept.Check(name, p); err != nil {
		b.Error(err)
	}
}

// questions are of every kind: one need and several, short and long.
var questions = []string{
	"find a file by name", "create an issue in a repository", "what will the weather be like tomorrow",
	"send an email to a colleague", "list all tables of the database", "take a screenshot of a web page",
	"convert a document to pdf and then mail it to the team", "translate a text, and summarise it in one sentence",
	"play a song", "book a room for a meeting", "read the messages of a channel", "transcribe a video",
	"Look up the order of a customer. Then refund it, and tell the customer by mail.", "run a query against the data warehouse",
}
