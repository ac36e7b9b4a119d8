package evaluate_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search/evaluate"
)

func TestScore(t *testing.T) {
	t.Parallel()
	plain := evaluate.Query{Relevant: []string{"a", "b"}}
	groups := evaluate.Query{Groups: [][]string{{"a", "b"}, {"b", "c"}}}
	tests := []struct {
		name   string
		query  evaluate.Query
		ranked string
		want   evaluate.Scores
	}{
		{"all at the top", plain, "a b", evaluate.Scores{R1: .5, R3: 1, R5: 1, R10: 1, MRR: 1, NDCG5: 1, NDCG10: 1, C5: 1}},
		{"second and sixth", plain, "x a y z u b", evaluate.Scores{R3: .5, R5: .5, R10: 1, MRR: .5,
			NDCG5: .63093 / 1.63093, NDCG10: (.63093 + .35621) / 1.63093}},
		{"nothing", plain, "", evaluate.Scores{}},
		{"one tool named twice", plain, "a a", evaluate.Scores{R1: .5, R3: .5, R5: .5, R10: .5, MRR: 1, NDCG5: 1 / 1.63093, NDCG10: 1 / 1.63093}},
		{"one tool meets one need", groups, "b x a", evaluate.Scores{R1: .5, R3: .5, R5: .5, R10: .5, MRR: 1, NDCG5: 1 / 1.63093, NDCG10: 1 / 1.63093}},
		{"a second member gains nothing", groups, "a b c", evaluate.Scores{R1: .5, R3: 1, R5: 1, R10: 1, MRR: 1, NDCG5: 1, NDCG10: 1, C5: 1}},
		{"a query without labels", evaluate.Query{}, "a", evaluate.Scores{}},
	}
	for _, test := range tests {
		got := evaluate.Score(test.query, strings.Fields(test.ranked))
		if diff := cmp.Diff(got, test.want, cmpopts.EquateApprox(0, 1e-4)); diff != "" {
			t.Errorf("%s (-got +want):\n%s", test.name, diff)
		}
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	run := filepath.Join(t.TempDir(), "run.jsonl")
	var table bytes.Buffer
	err := evaluate.Main(t.Context(), store, evaluate.Options{Sets: madeUp(t), RunFile: run, Minimum: map[string]float64{"generated": .45}}, &table)
	if err != nil {
		t.Fatalf("%v\n%s", err, &table)
	}
	if !strings.Contains(table.String(), "NDCG@10") || !strings.Contains(table.String(), "generated") {
		t.Errorf("printed:\n%s", &table)
	}
	lines, err := os.ReadFile(run)
	if err != nil {
		t.Fatal(err)
	}
	var row struct {
		QueryID string `json:"query_id"`
		Ranked  []string
	}
	if err := json.NewDecoder(bytes.NewReader(lines)).Decode(&row); err != nil || row.QueryID != "q0" || len(row.Ranked) != 10 {
		t.Errorf("the run begins with %+v (%v)", row, err)
	}
	var out bytes.Buffer
	tiny, err := evaluate.LoadAll([]string{writeSet(t)})
	if err != nil {
		t.Fatal(err)
	}
	err = evaluate.Main(t.Context(), store, evaluate.Options{Sets: tiny, JSON: true,
		Minimum: map[string]float64{"tiny": 1.1}}, &out)
	if err == nil || !strings.Contains(err.Error(), "tiny: NDCG@10 is 1.0000, at least 1.1000 is required") {
		t.Errorf("below the minimum: %v", err)
	}
	var result evaluate.Result
	if err := json.Unmarshal(out.Bytes(), &result); err != nil || result.Set != "tiny" || result.Tools != 2 || result.R1 != 1 {
		t.Errorf("printed %s (%v)", &out, err)
	}
}

// writeSet writes a set whose two tools share a name and have no server.
func writeSet(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "tiny")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"tools.jsonl":   `{"id":"one","name":"run","description":"Weather forecast"}` + "\n\n" + `{"id":"two","name":"run","description":"Send mail"}`,
		"queries.jsonl": `{"id":"q","query":"will it rain, what is the forecast","relevant":["one"]}` + "\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestLoadRefuses what could not be scored, and says which row it is.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	const tool, query = `{"id":"one","name":"run"}` + "\n", `{"id":"q","query":"x","relevant":["one"]}` + "\n"
	for _, test := range []struct{ tools, queries, want string }{
		{tool, "{}\n{oops", "queries.jsonl, row 2"},
		{tool + tool, query, `two tools have the id "one", the second in row 2`},
		{tool, query + query, `two queries have the id "q", the second in row 2`},
		{tool, query + `{"id":"r","query":"y","relevant":[]}`, "the query in row 2"},
		{tool, `{"id":"q","query":" ","relevant":["one"]}`, "the query in row 1"},
		{tool, "", "1 tools and 0 queries"},
		{"", query, "0 tools and 1 queries"},
	} {
		folder := writeSet(t)
		for name, text := range map[string]string{"tools.jsonl": test.tools, "queries.jsonl": test.queries} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := evaluate.Load(folder); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q and %q: %v", test.tools, test.queries, err)
		}
	}
	if _, err := evaluate.Load(t.TempDir()); err == nil {
		t.Error("an empty folder was loaded")
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	set := evaluate.Set{Name: "s", Tools: []evaluate.Tool{{ID: "a"}}, Queries: []evaluate.Query{{Relevant: []string{"a"}}}}
	if got := set.Unknown(); got != "" {
		t.Errorf("all there: %q", got)
	}
	set.Queries = append(set.Queries, evaluate.Query{Relevant: []string{"a"}, Groups: [][]string{{"a", "b"}}})
	if got := set.Unknown(); !strings.HasPrefix(got, `s: 1 of 2 queries want tools that it does not have, the first "b" of row 2`) {
		t.Errorf("one missing: %q", got)
	}
}

func TestGenerateAndGrow(t *testing.T) {
	t.Parallel()
	set := evaluate.Generate(10_000, 1)
	if diff := cmp.Diff(evaluate.Generate(10_000, 1), set); diff != "" {
		t.Errorf("the same seed made another set:\n%.500s", diff)
	}
	ids := make(map[string]bool)
	for _, tool := range set.Tools {
		if ids[tool.ID] || !json.Valid(tool.InputSchema) {
			t.Errorf("tool %q is there twice or has a broken schema", tool.ID)
		}
		ids[tool.ID] = true
	}
	if len(ids) != 10_000 || len(set.Queries) < 500 {
		t.Errorf("%d tools and %d queries", len(ids), len(set.Queries))
	}
	for _, q := range set.Queries {
		if !ids[q.Relevant[0]] {
			t.Errorf("query %q asks for a tool that is not there", q.Text)
		}
	}
	grown := evaluate.Grow(set.Tools[:100], 950)
	unique := make(map[string]bool)
	for _, tool := range grown {
		unique[tool.ID] = true
	}
	if len(unique) != 950 || grown[3].ID != set.Tools[3].ID {
		t.Errorf("grown to %d tools", len(unique))
	}
	if n := len(evaluate.Grow(set.Tools, 10)); n != 10 {
		t.Errorf("cut to %d tools", n)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	all := []time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond}
	if p := evaluate.Percentile(all, .5); p != 2 {
		t.Errorf("the median is %f", p)
	}
	if p := evaluate.Percentile(all, .99); p != 3 {
		t.Errorf("the 99th percentile is %f", p)
	}
	if p := evaluate.Percentile(nil, .5); p != 0 {
		t.Errorf("of nothing: %f", p)
	}
}
