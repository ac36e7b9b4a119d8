// Package train makes the table of the built-in embedding model from pairs of texts
// that belong together: what somebody asks, and what answers it. Words that occur
// near each other start with similar vectors, and contrastive learning then brings
// the two texts of each pair nearer to each other than to those of other pairs.
//
// The same pairs, options and seed give the same bytes, however many processors
// there are, on one kind of processor.
package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/toolscout/toolscout/embeddings/words"
)

// Options say how a table is made. What is 0 gets the value in brackets.
type Options struct {
	// Seed is what all chance is drawn from.
	Seed uint64
	// Words (22,000) and Dims (256) are the size of the table, which takes a byte for
	// each of Dims in each row, and some twelve more for its word and scale.
	Words, Dims int
	// Steps (24,000) are how many batches of Batch (512) pairs are learned from.
	Steps, Batch int
	// Rate (0.002) is how far a step goes, at its peak.
	Rate float64
	// Progress, unless nil, gets a line now and then.
	Progress func(line string)
}

func (o Options) filled() (Options, error) {
	if o.Words < 0 || o.Dims < 0 || o.Steps < 0 || o.Batch < 0 || o.Rate < 0 {
		return o, errors.New("a number of the options is negative")
	}
	o.Words, o.Dims = cmp.Or(o.Words, 22_000), cmp.Or(o.Dims, 256)
	o.Steps, o.Batch = cmp.Or(o.Steps, 24_000), cmp.Or(o.Batch, 512)
	o.Rate = cmp.Or(o.Rate, 0.002)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o, nil
}

// learned is how many words are learned at least; the rarest are cut off in the end.
// Without them, what stands near them would pass for their inflections and parts:
// that cost .003 of NDCG@10, fused, on the mean of four public sets.
const learned = 40_000

// warmUp is how many steps the rate grows for, before it falls to 0.
const warmUp = 100

// New makes a table from pairs alone.
func New(ctx context.Context, groups []Group, o Options) (*Table, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	words, counts := vocabulary(groups, max(o.Words, learned))
	if len(words) < o.Dims {
		return nil, fmt.Errorf("the pairs hold %d words: too few for %d dimensions", len(words), o.Dims)
	}
	m, err := encoder(words)
	if err != nil {
		return nil, err
	}
	c := newCorpus(groups, m)
	if c.pairs == 0 {
		return nil, errors.New("there is no pair of which both texts have words")
	}
	o.Progress(fmt.Sprintf("%d pairs in %d groups, %d words (the last occurs %d times)", c.pairs, len(c.groups), len(words), counts[len(counts)-1]))
	near := cooccurrence(c, len(words))
	near.ppmi()
	o.Progress(fmt.Sprintf("%d pairs of words occur near each other", len(near.values)))
	rows, err := decompose(ctx, near, o.Dims, rand.New(rand.NewPCG(o.Seed, 1)))
	if err != nil {
		return nil, err
	}
	o.Progress("decomposed")
	t := &Table{Words: words, Dims: o.Dims, Rows: rows}
	t.weigh(counts)
	l := newLearner(t.Rows, t.Dims, o.Batch)
	if err := learn(ctx, l, newSampler(c, m, rand.New(rand.NewPCG(o.Seed, 2))), o); err != nil {
		return nil, err
	}
	t.quieten()
	t.cut(o.Words)
	return t, nil
}

// learn takes all steps.
func learn(ctx context.Context, l *learner, s *sampler, o Options) error {
	var loss float64
	for step := range o.Steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.batch(l.examples)
		rate := o.Rate * min(float64(step+1)/warmUp, float64(o.Steps-step)/float64(o.Steps))
		loss += l.step(float32(rate))
		if (step+1)%500 == 0 {
			o.Progress(fmt.Sprintf("step %d of %d, loss %.4f", step+1, o.Steps, loss/500))
			loss = 0
		}
	}
	return nil
}

// cut leaves the n commonest words.
func (t *Table) cut(n int) {
	n = min(n, len(t.Words))
	t.Words, t.Rows = t.Words[:n], t.Rows[:n*t.Dims]
}

// rare is how common a word may be before it counts half (Arora, Liang and Ma, 2017,
// "A Simple but Tough-to-Beat Baseline for Sentence Embeddings").
const rare = 1e-3

// weigh makes every row as long as its word is telling.
func (t *Table) weigh(counts []int) {
	var total float64
	for _, n := range counts {
		total += float64(n)
	}
	for i, n := range counts {
		row := t.Row(i)
		normalise(row)
		f := float32(rare / (rare + float64(n)/total))
		for j := range row {
			row[j] *= f
		}
	}
}

const (
	stopShare  = 0.05 // of a stop word's row that is left
	digitShare = 0.3  // of a number's
)

// quieten shortens the rows of words that learning leaves too loud: in training a
// query is short, and what wraps it tells the sources apart.
func (t *Table) quieten() {
	for i, share := range t.shares() {
		for j := range t.Dims {
			t.Row(i)[j] *= share
		}
	}
}

// shares are what is left of each word's row: 1 for all but stop words and numbers.
func (t *Table) shares() []float32 {
	stop := words.Stop()
	shares := make([]float32, len(t.Words))
	for i, word := range t.Words {
		switch {
		case stop[word]:
			shares[i] = stopShare
		case word != "" && word[0] <= '9':
			shares[i] = digitShare
		default:
			shares[i] = 1
		}
	}
	return shares
}

func normalise(v []float32) {
	if square := dot(v, v); square > 0 {
		f := float32(1 / math.Sqrt(float64(square)))
		for i := range v {
			v[i] *= f
		}
	}
}
