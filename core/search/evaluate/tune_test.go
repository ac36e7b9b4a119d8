package evaluate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search/evaluate"
)

// asks makes questions of which a share is answered with a weight.
func asks(n int, share func(weight float64) float64) ([]evaluate.Query, func(context.Context, evaluate.Query, float64) ([]string, error)) {
	questions, luck := make([]evaluate.Query, n), map[string]float64{}
	random := rand.New(rand.NewPCG(3, 0))
	for i := range questions {
		questions[i] = evaluate.Query{ID: fmt.Sprint(i), Relevant: []string{"right"}}
		luck[questions[i].ID] = random.Float64()
	}
	return questions, func(_ context.Context, q evaluate.Query, weight float64) ([]string, error) {
		if luck[q.ID] < share(weight) {
			return []string{"right"}, nil
		}
		return []string{"wrong", "right"}, nil
	}
}

func TestTune(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		share  func(float64) float64
		better bool
		best   [2]float64
	}{
		{"a peak", func(w float64) float64 {
			if w == 0 {
				return .4
			}
			return 1 - 2*max(w-.7, .7-w)
		}, true, [2]float64{.65, .75}},
		{"nothing gained", func(float64) float64 { return .5 }, false, [2]float64{0, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			questions, find := asks(200, tc.share)
			got, err := evaluate.Tune(t.Context(), evaluate.Set{Queries: questions}, nil, find)
			if err != nil || got.Better() != tc.better || got.Best < tc.best[0] || got.Best > tc.best[1] || len(got.Tried) != 19 {
				t.Errorf("got %+v (%v)", got, err)
			}
		})
	}
}

// TestTuneDoesNotOverfit: where every weight is as good, and questions differ only by
// luck, what is found on some of them gains nothing on others.
func TestTuneDoesNotOverfit(t *testing.T) {
	t.Parallel()
	questions, _ := asks(60, nil)
	taken := 0
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 5))
		got, err := evaluate.Tune(t.Context(), evaluate.Set{Queries: questions}, nil, func(context.Context, evaluate.Query, float64) ([]string, error) {
			return []string{[]string{"right", "wrong"}[random.IntN(2)]}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got.Better() {
			taken++
		}
	}
	if taken > 4 { // one in forty would be by chance
		t.Errorf("luck was taken for a better weight %d of 40 times", taken)
	}
}

func TestTuneNeedsQuestions(t *testing.T) {
	t.Parallel()
	questions, find := asks(evaluate.LeastQuestions-1, nil)
	if _, err := evaluate.Tune(t.Context(), evaluate.Set{Queries: questions}, nil, find); err == nil || !strings.Contains(err.Error(), "too few") {
		t.Errorf("too few: %v", err)
	}
}

func TestTuneOn(t *testing.T) {
	t.Parallel()
	rig, err := evaluate.NewRig(t.Context(), pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := rig.TuneOn(t.Context(), evaluate.Generate(300, 1))
	if err != nil || got.Model != rig.Embedder.Name() || got.Now == 0 || got.Tried[0].NDCG10 == got.Tried[18].NDCG10 {
		t.Errorf("got %+v (%v)", got, err)
	}
}

func TestLoadQuestions(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "questions.jsonl")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"query":"read a file","relevant":["read"]}` + "\n\n" + `{"query":"write it","relevant":["a"],"groups":[["a","b"]]}`)
	list, err := evaluate.LoadQuestions(file)
	if err != nil || len(list) != 2 || list[1].Line != 3 {
		t.Fatalf("got %+v (%v)", list, err)
	}
	want := evaluate.Query{ID: "line 3", Text: "write it", Relevant: []string{"1"}, Groups: [][]string{{"1"}}}
	if diff := cmp.Diff(list[1].Renamed(map[string]string{"a": "1", "b": "1"}), want); diff != "" {
		t.Error(diff)
	}
	write(`{"query":"ok","relevant":["x"]}` + "\n" + `{"query":" ","relevant":["x"]}` + "\n" + `{"query":"y"}` + "\n{oops\n" + `{"id":"line 1","query":"z","relevant":["x"]}`)
	_, err = evaluate.LoadQuestions(file)
	for _, part := range []string{`:2: no "query"`, `:3: no "relevant"`, `:4: not {"query": "...", "relevant": ["tool", ...]}, with "id", "groups" and "tools" if you like (invalid character`, `:5: the id "line 1" is that of line 1 too`} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("want %q in: %v", part, err)
		}
	}
	write(`{"query":"x","relevant":["a"],"tools":["its name"]}` + "\n" + `{"query":"x","relevent":["a"]}` + "\n" + `{"query":"x","relevant":["a"]} {}`)
	_, err = evaluate.LoadQuestions(file)
	for _, part := range []string{`:2: not {"query"`, `unknown field "relevent"`, ":3: not"} {
		if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), ":1:") {
			t.Errorf("want %q in: %v", part, err)
		}
	}
	write(strings.Repeat("a,b\n", 300))
	if _, err = evaluate.LoadQuestions(file); err == nil || strings.Count(err.Error(), "\n") != 5 || !strings.Contains(err.Error(), "295 more like these") {
		t.Errorf("of another kind: %v", err)
	}
	write("\n")
	if _, err = evaluate.LoadQuestions(file); err == nil {
		t.Error("a file without questions was read")
	}
}

func TestFromUsage(t *testing.T) {
	t.Parallel()
	ann, bob := [2]string{"ann", "ide"}, [2]string{"bob", ""}
	at := func(minutes int) time.Time { return time.Date(2026, 1, 1, 0, minutes, 0, 0, time.UTC) }
	asked := []evaluate.Asked{
		{at(10), ann, "send a mail"}, {at(0), ann, "read a file"}, {at(1), bob, "Read  a file"}, {at(30), ann, "nothing comes of it"},
		{at(40), ann, "too late"}, {at(58), bob, "read a file"}, {at(70), ann, "before one without words"}, {at(71), ann, ""},
	}
	used := []evaluate.Used{
		{at(11), ann, "mail"}, {at(2), ann, "read"}, {at(3), ann, "stat"}, {at(4), ann, "read"}, {at(2), bob, "cat"}, {at(59), bob, "read_file"},
		{at(57), ann, "late"}, {at(3), [2]string{"eve", ""}, "read"}, {at(72), ann, "sum"},
	}
	want := []evaluate.Query{
		{ID: "usage 1", Text: "read a file", Relevant: []string{"read_file"}},
		{ID: "usage 2", Text: "send a mail", Relevant: []string{"mail"}},
	}
	if diff := cmp.Diff(evaluate.FromUsage(asked, used), want); diff != "" {
		t.Error(diff)
	}
}
