package train

import (
	"context"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Slopes gives the loss of a batch of pairs, and how it changes with each number of
// the rows.
func Slopes(rows []float32, dims int, pairs [][2][]uint32) (float64, []float32) {
	l := newLearner(rows, dims, len(pairs))
	for i, p := range pairs {
		l.examples[i] = example{a: p[0], b: p[1], keyA: key(p[0]), keyB: key(p[1])}
	}
	loss := l.gradient()
	out := make([]float32, len(rows))
	l.index.build(2*len(pairs), l.text)
	for i, row := range l.index.rows {
		for _, t := range l.index.of(i) {
			addTo(l.vector(out, int(row)), 1, l.vector(l.slopes, int(t)))
		}
	}
	return loss, out
}

// Decompose is decompose of a dense matrix.
func Decompose(m *mat.Dense, k int, seed uint64) ([]float32, error) {
	n, _ := m.Dims()
	s := &sparse{n: n}
	for i := range n {
		for j := range n {
			if x := m.At(i, j); x != 0 {
				s.columns, s.values = append(s.columns, uint32(j)), append(s.values, float32(x))
			}
		}
		s.ends = append(s.ends, len(s.columns))
	}
	return decompose(context.Background(), s, k, rand.New(rand.NewPCG(seed, 0)))
}

// PPMI is the positive pointwise mutual information of the words of pairs, as a
// dense matrix in the order of the words.
func PPMI(groups []Group) ([]string, [][]float32) {
	words, _ := vocabulary(groups, 1000)
	m, err := encoder(words)
	if err != nil {
		panic(err)
	}
	s := cooccurrence(newCorpus(groups, m), len(words))
	s.ppmi()
	out := make([][]float32, len(words))
	for i := range out {
		out[i] = make([]float32, len(words))
		columns, values := s.row(i)
		for n, j := range columns {
			out[i][j] = values[n]
		}
	}
	return words, out
}

// Stepper gives a function that takes a step of learning from random texts.
func Stepper(words, dims, batch, length int) func() {
	random := rand.New(rand.NewPCG(1, 1))
	l := newLearner(make([]float32, words*dims), dims, batch)
	for i := range l.rows {
		l.rows[i] = float32(random.NormFloat64())
	}
	text := func() []uint32 {
		t := make([]uint32, length)
		for i := range t {
			t[i] = random.Uint32N(uint32(words))
		}
		return t
	}
	for i := range l.examples {
		l.examples[i] = example{a: text(), b: text(), keyA: random.Uint64(), keyB: random.Uint64()}
	}
	return func() { l.step(0.001) }
}
