package evaluate

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/toolscout/toolscout/embeddings"
)

// Floor is the least that a search can cost: the vectors of all tools in one array,
// compared one after the other, and textbook BM25 over postings, with nothing around
// them. It is not safe for concurrent use, and its answers are no better than that.
type Floor struct {
	embedder embeddings.Embedder
	vectors  []float32
	size     int // of one vector
	postings map[string][]posting
	norms    []float32 // of each tool: k1 (1 - b + b length / mean length)
	sums     []float32
}

type posting struct {
	tool int32
	tf   float32
}

const (
	bm25K1 = 1.2
	bm25B  = .75
	deepen = 10 // how many tools it gives
)

// NewFloor indexes tools.
func NewFloor(ctx context.Context, e embeddings.Embedder, tools []Tool) (*Floor, error) {
	described := make([]embeddings.Tool, len(tools))
	for i, t := range tools {
		described[i] = embeddings.Describe(stored(t), t.Server)
	}
	vectors, err := embeddings.EmbedTools(ctx, e, described)
	if err != nil {
		return nil, err
	}
	f := &Floor{embedder: e, size: e.Dimensions(), postings: map[string][]posting{},
		norms: make([]float32, len(tools)), sums: make([]float32, len(tools))}
	total := 0
	for i, t := range described {
		f.vectors = append(f.vectors, vectors[i]...)
		words := wordsOf(t.Text())
		total += len(words)
		f.norms[i] = float32(len(words))
		counts := map[string]float32{}
		for _, w := range words {
			counts[w]++
		}
		for w, n := range counts {
			f.postings[w] = append(f.postings[w], posting{int32(i), n})
		}
	}
	mean := float32(total) / float32(max(1, len(tools)))
	for i, length := range f.norms {
		f.norms[i] = bm25K1 * (1 - bm25B + bm25B*length/mean)
	}
	return f, nil
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// Search gives the places of the nearest tools by vector, and of the best by words.
func (f *Floor) Search(ctx context.Context, query string) (near, worded []int, err error) {
	vectors, err := f.embedder.Embed(ctx, []string{query})
	if err != nil {
		return nil, nil, err
	}
	q := vectors[0]
	for i := range f.sums {
		f.sums[i] = dot(q, f.vectors[i*f.size:(i+1)*f.size])
	}
	near = f.top()
	clear(f.sums)
	for _, w := range wordsOf(query) {
		list := f.postings[w]
		idf := float32(math.Log(1 + (float64(len(f.norms)-len(list))+.5)/(float64(len(list))+.5)))
		for _, p := range list {
			f.sums[p.tool] += idf * p.tf * (bm25K1 + 1) / (p.tf + f.norms[p.tool])
		}
	}
	return near, f.top(), nil
}

// dot goes four by four, which the compiler does not do by itself.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// top gives the places of the highest sums, the highest first.
func (f *Floor) top() []int {
	best := make([]int, 0, deepen+1)
	for i, s := range f.sums {
		if len(best) == deepen && s <= f.sums[best[deepen-1]] {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, s, func(j int, s float32) int { return cmp.Compare(s, f.sums[j]) })
		if best = slices.Insert(best, at, i); len(best) > deepen {
			best = best[:deepen]
		}
	}
	return best
}
