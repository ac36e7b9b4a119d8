package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// How a table is adapted: with little to learn from, it must not forget what it
// knows of everything else.
const (
	adaptWords  = 2_000 // new words
	adaptOften  = 2     // times that a new word occurs at least
	adaptRounds = 20    // times that each pair is learned from, about
	adaptSteps  = 4_000 // batches at most: three minutes of a processor
	adaptPull   = 0.01  // back to where a row was, each time it is changed
	newWord     = 0.3   // length of the row of a word of which nothing is known
)

// Adapt gives a table that knows more of what the pairs are about: a catalog's tools
// (ToolPairs), or what was asked for and then used. It keeps the words of the table
// and adds those that occur more than once in the pairs, up to o.Words in all (2,000
// more than there were); o.Dims is ignored, and Steps and Batch go by the number of
// pairs, with 4,000 steps at most, unless they are set. The table itself stays as it is.
//
// What comes out is not always better: measure it on pairs that were held back.
func Adapt(ctx context.Context, table *Table, groups []Group, o Options) (*Table, error) {
	o.Words = cmp.Or(o.Words, len(table.Words)+adaptWords)
	t, err := table.extended(groups, o)
	if err != nil {
		return nil, err
	}
	m, err := encoder(t.Words)
	if err != nil {
		return nil, err
	}
	c := newCorpus(groups, m)
	if c.pairs < 2 {
		return nil, errors.New("there are not two pairs to learn from")
	}
	o.Batch = cmp.Or(o.Batch, min(512, max(2, c.pairs/4)))
	o.Steps = cmp.Or(o.Steps, min(adaptSteps, max(1, adaptRounds*c.pairs/o.Batch)))
	if o, err = o.filled(); err != nil {
		return nil, err
	}
	o.Progress(fmt.Sprintf("%d pairs, %d new words", c.pairs, len(t.Words)-len(table.Words)))
	l := newLearner(t.Rows, t.Dims, o.Batch)
	l.anchor, l.pull = slices.Clone(t.Rows), adaptPull
	l.fixed = make([]bool, len(t.Words))
	for i, share := range t.shares() {
		l.fixed[i] = share < 1
	}
	if err := learn(ctx, l, newSampler(c, m, rand.New(rand.NewPCG(o.Seed, 2))), o); err != nil {
		return nil, err
	}
	return t, nil
}

// extended is a copy of the table with the new words of the pairs. Each begins as
// what the encoder made of it before, or anywhere.
func (t *Table) extended(groups []Group, o Options) (*Table, error) {
	m, err := encoder(t.Words)
	if err != nil {
		return nil, err
	}
	out := &Table{Words: slices.Clone(t.Words), Dims: t.Dims, Rows: slices.Clone(t.Rows)}
	known := make(map[string]bool, len(t.Words))
	for _, word := range t.Words {
		known[word] = true
	}
	random := rand.New(rand.NewPCG(o.Seed, 3))
	words, counts := vocabulary(groups, len(t.Words)+o.Words)
	for i, word := range words {
		if len(out.Words) >= o.Words || counts[i] < adaptOften {
			break
		}
		if known[word] {
			continue
		}
		out.Words = append(out.Words, word)
		out.Rows = append(out.Rows, t.guess(m.AppendRows(nil, word), random)...)
	}
	return out, nil
}

// guess is the row of a word that is made of these.
func (t *Table) guess(parts []uint32, random *rand.Rand) []float32 {
	row := make([]float32, t.Dims)
	for _, part := range parts {
		addTo(row, 1, t.Row(int(part)))
	}
	if len(parts) > 0 {
		return row
	}
	for i := range row {
		row[i] = float32(random.NormFloat64())
	}
	normalise(row)
	for i := range row {
		row[i] *= newWord
	}
	return row
}
