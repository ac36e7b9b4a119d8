package evaluate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search/evaluate"
	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/embeddings/embedtest"
)

// TestPaired compares with exact p values, found by hand over all signs.
func TestPaired(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		differences []float64
		want        float64
	}{
		{"none", nil, 1},
		{"no difference", []float64{0, 0, 0}, 1},
		{"one", []float64{.5}, 1},                             // either sign is as far
		{"all alike", []float64{1, 1, 1, 1, 1}, 2. / 32},      // only all up or all down
		{"zeros do not count", []float64{0, 1, 1, 0}, 2. / 4}, // as two
		{"mixed", []float64{3, 2, -1}, 4. / 8},                // |sum| >= 4: +++, ++-, and their opposites
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := evaluate.Paired(tc.differences); math.Abs(got-tc.want) > .015 {
				t.Errorf("got p = %.4f, want %.4f", got, tc.want)
			}
			if evaluate.Paired(tc.differences) != evaluate.Paired(tc.differences) {
				t.Error("twice the same gave two values")
			}
		})
	}
}

// TestScoresOfARun compares with what an independent program printed of the same run:
// four queries, one with groups, one that the run lacks.
func TestScoresOfARun(t *testing.T) {
	t.Parallel()
	queries := []evaluate.Query{
		{ID: "a", Relevant: []string{"t1"}},
		{ID: "b", Relevant: []string{"t1", "t2", "t3"}, Groups: [][]string{{"t1", "t4"}, {"t2"}, {"t3"}}},
		{ID: "c", Relevant: []string{"t5", "t6"}},
		{ID: "d", Relevant: []string{"t7"}},
	}
	run := map[string]string{"a": "t9 t1 t2", "b": "t4 t1 t8 t2 t9 t7 t3", "c": "t6 t1 t2 t3 t4 t5", "d": ""}
	var each []evaluate.Scores
	for _, q := range queries {
		each = append(each, evaluate.Score(q, strings.Fields(run[q.ID])))
	}
	got := evaluate.Mean(each)
	for name, pair := range map[string][2]float64{
		"R@1": {got.R1, 0.2083}, "R@3": {got.R3, 0.4583}, "R@5": {got.R5, 0.5417}, "R@10": {got.R10, 0.7500},
		"MRR": {got.MRR, 0.6250}, "NDCG@5": {got.NDCG5, 0.4789}, "NDCG@10": {got.NDCG10, 0.5726}, "C@5": {got.C5, 0.2500},
	} {
		if math.Abs(pair[0]-pair[1]) > 5e-5 {
			t.Errorf("%s is %.4f, want %.4f", name, pair[0], pair[1])
		}
	}
}

func madeUp(t *testing.T) []evaluate.Set {
	t.Helper()
	sets, err := evaluate.LoadAll(nil)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

// TestAgainst compares a run with its own run file, and holds it against figures.
func TestAgainst(t *testing.T) {
	t.Parallel()
	store, dir := pgtest.New(t), t.TempDir()
	run, figures := filepath.Join(dir, "run.jsonl"), filepath.Join(dir, "figures.json")
	measure := func(o evaluate.Options) (string, error) {
		t.Helper()
		var out bytes.Buffer
		err := evaluate.Main(t.Context(), store, o, &out)
		return out.String(), err
	}
	if out, err := measure(evaluate.Options{Sets: madeUp(t), RunFile: run, Figures: figures, Keep: true}); err != nil {
		t.Fatal(err, out)
	}
	out, err := measure(evaluate.Options{Sets: madeUp(t), Against: run, Figures: figures})
	if err != nil || !strings.Contains(out, "against "+run) || !strings.Contains(out, "+0.0000  1.0000") {
		t.Errorf("against itself: %v\n%s", err, out)
	}
	raise(t, figures)
	if out, err = measure(evaluate.Options{Sets: madeUp(t), Figures: figures}); err == nil || !strings.Contains(err.Error(), "a loss of") {
		t.Errorf("against a search that knew everything: %v\n%s", err, out)
	}
	out, err = measure(evaluate.Options{Sets: madeUp(t), Other: &evaluate.Variant{Name: "all meaning", Weight: .99}})
	if err != nil || !strings.Contains(out, "against all meaning") {
		t.Errorf("against another weight: %v\n%s", err, out)
	}
	if err := os.WriteFile(figures, []byte(`{"sets":{"generated":{"queries":"other"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = measure(evaluate.Options{Sets: madeUp(t), Figures: figures}); err == nil || !strings.Contains(err.Error(), "of other queries") {
		t.Errorf("figures of other queries: %v", err)
	}
}

// TestMainRefuses to compare with nothing: a gate that is open would look like one that
// was passed.
func TestMainRefuses(t *testing.T) {
	t.Parallel()
	store, dir := pgtest.New(t), t.TempDir()
	other := filepath.Join(dir, "other.jsonl")
	if err := os.WriteFile(other, []byte(`{"query_id":"q0","set":"other","ranked":["a"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]evaluate.Options{
		"a least NDCG@10 is asked of generatd": {Minimum: map[string]float64{"generatd": .1}},
		"there are no figures in":              {Figures: filepath.Join(dir, "none.json")},
		"it has none of the queries":           {Against: other},
	} {
		o.Sets = madeUp(t)
		if err := evaluate.Main(t.Context(), store, o, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	empty := filepath.Join(dir, "empty.json")
	if err := os.WriteFile(empty, []byte(`{"sets":null}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := evaluate.Main(t.Context(), store, evaluate.Options{Sets: madeUp(t), Figures: empty, Keep: true}, io.Discard); err != nil {
		t.Error(err)
	}
	set := writeSet(t)
	if _, err := evaluate.LoadAll([]string{set, writeSet(t)}); err == nil || !strings.Contains(err.Error(), "are both called tiny") {
		t.Errorf("two sets of one name: %v", err)
	}
	if _, err := evaluate.ReadPaces(filepath.Join(dir, "none.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("paces of no file: %v", err)
	}
}

// TestAnotherModel measures one behind a service, beside the built-in one.
func TestAnotherModel(t *testing.T) {
	t.Parallel()
	service := embedtest.New(t)
	model, err := embeddings.NewHTTP(embeddings.HTTPConfig{Provider: embeddings.OpenAI, BaseURL: service.URL + "/v1", Model: "other", Client: http.DefaultClient})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = evaluate.Main(t.Context(), pgtest.New(t), evaluate.Options{Sets: madeUp(t), JSON: true, Other: &evaluate.Variant{Name: "built in"},
		Search: evaluate.Variant{Name: "other", Embedder: model}}, &out)
	var result evaluate.Result
	if err = errors.Join(err, json.Unmarshal(out.Bytes(), &result)); err != nil || result.Model != "openai/other" ||
		result.Against.Name != "built in" || len(result.Against.Metrics) != 3 || len(service.Requests()) < 10 {
		t.Errorf("%v: %s", err, &out)
	}
	service.FailAlways(embedtest.Unauthorized)
	err = evaluate.Main(t.Context(), pgtest.New(t), evaluate.Options{Sets: madeUp(t), Search: evaluate.Variant{Embedder: model}}, &out)
	if err == nil || !strings.Contains(err.Error(), "ask the model openai/other") {
		t.Errorf("a service that refuses: %v", err)
	}
}

// raise makes figures those of a search that found everything.
func raise(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	var figures evaluate.Figures
	if err = errors.Join(err, json.Unmarshal(raw, &figures)); err != nil {
		t.Fatal(err)
	}
	for _, set := range figures.Sets {
		for i := range set.Each {
			set.Each[i] = 255
		}
	}
	raw, err = json.Marshal(figures)
	if err = errors.Join(err, os.WriteFile(file, raw, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// TestPacesAreHeld to 15 %.
func TestPacesAreHeld(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "paces.json")
	if err := (evaluate.Paces{"one": 10}).Write(file); err != nil {
		t.Fatal(err)
	}
	kept, err := evaluate.ReadPaces(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Check("one", evaluate.Pace{Ratio: 11.4}); err != nil {
		t.Error(err)
	}
	if err := kept.Check("one", evaluate.Pace{Ratio: 11.6}); err == nil || !strings.Contains(err.Error(), "slower by 16 %") {
		t.Errorf("slower: %v", err)
	}
	if err := kept.Check("another", evaluate.Pace{Ratio: 99}); err != nil {
		t.Error(err)
	}
}

// TestFloorFinds what it is to be a floor of: the vectors' nearest as the search has
// them, and by words the tool that holds them.
func TestFloorFinds(t *testing.T) {
	t.Parallel()
	rig, err := evaluate.NewRig(t.Context(), pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	tools := evaluate.Generate(300, 1).Tools
	floor, err := evaluate.NewFloor(t.Context(), rig.Embedder, tools)
	if err != nil {
		t.Fatal(err)
	}
	near, worded, err := floor.Search(t.Context(), tools[42].Description)
	if err != nil || len(near) != 10 || tools[near[0]].Description != tools[42].Description ||
		tools[worded[0]].Description != tools[42].Description {
		t.Errorf("near %v, worded %v (%v)", near, worded, err)
	}
}
