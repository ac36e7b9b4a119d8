package train

import "math"

const (
	window    = 8    // words to either side that count as near
	smoothing = 0.75 // exponent that smooths how common a near word is
	block     = 1024 // rows that are counted at a time, to fit in memory
)

// sparse is a square matrix by rows: those of row i are from ends[i-1] to ends[i].
type sparse struct {
	n       int
	ends    []int
	columns []uint32
	values  []float32
}

func (s *sparse) row(i int) ([]uint32, []float32) {
	start := 0
	if i > 0 {
		start = s.ends[i-1]
	}
	return s.columns[start:s.ends[i]], s.values[start:s.ends[i]]
}

// cooccurrence counts how often each two of n words are near each other in the
// texts of a pair, one after the other. A word that is d words away counts 1/d.
func cooccurrence(c *corpus, n int) *sparse {
	blocks := make([]sparse, (n+block-1)/block)
	parallel(len(blocks), func(from, to int) {
		dense := make([]float32, block*n)
		for i := from; i < to; i++ {
			clear(dense)
			c.countInto(dense, i*block, min((i+1)*block, n), n)
			blocks[i] = compress(dense, min(block, n-i*block), n)
		}
	})
	all := &sparse{n: n}
	for _, b := range blocks {
		start := len(all.columns)
		for _, end := range b.ends {
			all.ends = append(all.ends, start+end)
		}
		all.columns = append(all.columns, b.columns...)
		all.values = append(all.values, b.values...)
	}
	return all
}

// countInto counts the words near those numbered from to to.
func (c *corpus) countInto(dense []float32, from, to, n int) {
	var text []uint32
	for g := range c.groups {
		for i := range c.groups[g].size() {
			text = append(append(text[:0], c.groups[g].a.at(i)...), c.groups[g].b.at(i)...)
			for at, word := range text {
				if int(word) < from || int(word) >= to {
					continue
				}
				row := dense[(int(word)-from)*n:][:n]
				for d := 1; d <= window; d++ {
					if at >= d {
						row[text[at-d]] += 1 / float32(d)
					}
					if at+d < len(text) {
						row[text[at+d]] += 1 / float32(d)
					}
				}
			}
		}
	}
}

func compress(dense []float32, rows, n int) sparse {
	var s sparse
	for i := range rows {
		for j, x := range dense[i*n : (i+1)*n] {
			if x != 0 {
				s.columns = append(s.columns, uint32(j))
				s.values = append(s.values, x)
			}
		}
		s.ends = append(s.ends, len(s.columns))
	}
	return s
}

// ppmi turns counts into positive pointwise mutual information with smoothed
// contexts (Levy, Goldberg and Dagan, 2015, "Improving Distributional Similarity
// with Lessons Learned from Word Embeddings", 3.1 and 3.2).
func (s *sparse) ppmi() {
	sums, smooth := make([]float64, s.n), make([]float64, s.n)
	var totalSmooth float64
	for i := range s.n {
		_, values := s.row(i)
		for _, x := range values {
			sums[i] += float64(x)
		}
		smooth[i] = math.Pow(sums[i], smoothing)
		totalSmooth += smooth[i]
	}
	for i := range s.n {
		columns, values := s.row(i)
		for k, j := range columns {
			share := float64(values[k]) / sums[i]
			values[k] = float32(max(0, math.Log(share*totalSmooth/smooth[j])))
		}
	}
}
