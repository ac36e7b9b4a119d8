package evaluate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/toolscout/toolscout/core/search"
)

// Tuning is what looking for the best weight came to.
type Tuning struct {
	Set       string `json:"set"`
	Model     string `json:"model"`
	Questions int    `json:"questions"`
	// Tried is the NDCG@10 over all questions with each weight.
	Tried []Tried `json:"tried"`
	// Best is the weight that does best on all questions.
	Best float64 `json:"best"`
	// Now is the NDCG@10 of the weight as it is, HeldOut that of weights which were
	// each found on other questions than those that they are scored on, and Gain and P
	// how far it lies above and how likely that is by chance.
	Now     float64 `json:"now"`
	HeldOut float64 `json:"heldOut"`
	Gain    float64 `json:"gain"`
	P       float64 `json:"p"`
	// Applied: the weight was stored.
	Applied bool `json:"applied"`
}

// Tried is what one weight came to.
type Tried struct {
	Weight float64 `json:"weight"`
	NDCG10 float64 `json:"ndcg10"`
}

// Better reports whether another weight is better by more than chance.
func (t Tuning) Better() bool { return t.Gain > 0 && t.P < lossAt }

const (
	// LeastQuestions is how many questions tuning takes at least: with fewer nothing
	// could be told from chance.
	LeastQuestions = 20
	folds          = 5
	weights        = 19 // .05, .10, … .95
	tuneSeed       = 11
)

func weightAt(i int) float64 { return float64(i+1) / (weights + 1) }

// Tune finds the share of meaning against words that does best on the queries of a set.
// find asks one with a weight; 0 stands for the weight as it is. Each weight is scored on
// questions that it was not chosen by, so that what is said of the gain also holds
// for questions yet to come.
func Tune(ctx context.Context, set Set, say func(string),
	find func(ctx context.Context, q Query, weight float64) ([]string, error)) (Tuning, error) {
	questions := set.Queries
	if len(questions) < LeastQuestions {
		return Tuning{}, fmt.Errorf("%s: %d questions are too few to tell a better weight from chance: %d at least",
			set.Name, len(questions), LeastQuestions)
	}
	now := make([]float64, len(questions))
	table := make([][weights]float64, len(questions))
	told := time.Now()
	for i, q := range questions {
		for w := -1; w < weights; w++ {
			at := 0.0
			if w >= 0 {
				at = weightAt(w)
			}
			ranked, err := find(ctx, q, at)
			if err != nil {
				return Tuning{}, fmt.Errorf("ask %s: %w", q.ID, err)
			}
			score := Score(q, ranked).NDCG10
			if w < 0 {
				now[i] = score
				continue
			}
			table[i][w] = score
		}
		if say != nil && time.Since(told) > progressEvery {
			told = time.Now()
			say(fmt.Sprintf("%s: %d of %d questions, each with %d weights", set.Name, i+1, len(questions), weights))
		}
	}
	t := tuned(now, table)
	t.Set = set.Name
	return t, nil
}

// tuned judges scores by question and weight.
func tuned(now []float64, table [][weights]float64) Tuning {
	held, gains := make([]float64, len(now)), make([]float64, len(now))
	order := rand.New(rand.NewPCG(tuneSeed, 0)).Perm(len(now))
	for fold := range folds {
		var others [][weights]float64
		for at, i := range order {
			if at%folds != fold {
				others = append(others, table[i])
			}
		}
		w := best(means(others))
		for at, i := range order {
			if at%folds == fold {
				held[i] = table[i][w]
				gains[i] = held[i] - now[i]
			}
		}
	}
	all := means(table)
	t := Tuning{Questions: len(now), Best: weightAt(best(all)), Now: mean(now), HeldOut: mean(held), Gain: mean(gains), P: Paired(gains)}
	for w, score := range all {
		t.Tried = append(t.Tried, Tried{weightAt(w), score})
	}
	return t
}

func means(rows [][weights]float64) (m [weights]float64) {
	for _, row := range rows {
		for w, score := range row {
			m[w] += score / float64(len(rows))
		}
	}
	return m
}

// best is the weight with the highest mean of itself and its neighbours: a peak that
// stands alone is chance.
func best(scores [weights]float64) int {
	found, most := 0, -1.0
	for w := range scores {
		from, to := max(0, w-1), min(weights, w+2)
		if m := mean(scores[from:to]); m > most {
			found, most = w, m
		}
	}
	return found
}

// TuneOn tunes on a set, with the rig's model.
func (r *Rig) TuneOn(ctx context.Context, set Set) (Tuning, error) {
	catalog, err := r.Fill(ctx, set.Tools)
	if err != nil {
		return Tuning{}, fmt.Errorf("register %s: %w", set.Name, err)
	}
	t, err := Tune(ctx, set, r.Progress, func(ctx context.Context, q Query, weight float64) ([]string, error) {
		answer, err := r.Engine.Search(ctx, search.Query{Text: q.Text, Servers: catalog.Servers, Weight: weight})
		if err == nil && answer.Degraded != "" {
			err = fmt.Errorf("it was answered without %s", answer.Degraded)
		}
		ranked := make([]string, len(answer.Hits))
		for i, hit := range answer.Hits {
			ranked[i] = catalog.Origins[hit.ToolID]
		}
		return ranked, err
	})
	if err != nil {
		return Tuning{}, err
	}
	t.Model = r.Embedder.Name()
	return t, r.Drop(ctx, catalog)
}
