package train

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/embeddings/builtin"
	"github.com/toolscout/toolscout/embeddings/words"
)

// How many words of a text count: what a text is about is said at its beginning.
const (
	maxWordsA = 48
	maxWordsB = 96
)

// vocabulary lists the n commonest words of the pairs, commonest first, and how
// often each occurs. Only words of ASCII letters and digits are taken: that is what
// the pairs are about.
func vocabulary(groups []Group, n int) ([]string, []int) {
	counts := make(map[string]int)
	count := func(text string, most int) {
		for word := range words.Of(text) {
			if most--; most < 0 {
				return
			}
			if word[0] < 0x80 && isASCII(word) {
				counts[string(word)]++
			}
		}
	}
	for _, g := range groups {
		for _, p := range g.Pairs {
			count(p.A, maxWordsA)
			count(p.B, maxWordsB)
		}
	}
	list := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	list = list[:min(n, len(list))]
	often := make([]int, len(list))
	for i, word := range list {
		often[i] = counts[word]
	}
	return list, often
}

func isASCII(word []byte) bool {
	for _, c := range word {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// texts are texts as the numbers of their rows, one after the other.
type texts struct {
	rows []uint32
	ends []int
}

func (t *texts) add(rows []uint32) {
	t.rows = append(t.rows, rows...)
	t.ends = append(t.ends, len(t.rows))
}

func (t *texts) at(i int) []uint32 {
	start := 0
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.rows[start:t.ends[i]]
}

// corpus are the pairs as rows. Pairs with a side that has no known word are left
// out.
type corpus struct {
	groups []group
	pairs  int
}

type group struct {
	weight float64
	a, b   texts
}

func (g *group) size() int { return len(g.a.ends) }

func newCorpus(groups []Group, m *builtin.Model) *corpus {
	c := &corpus{}
	var a, b []uint32
	for _, g := range groups {
		out := group{weight: cmp.Or(g.Weight, 1)}
		for _, p := range g.Pairs {
			a, b = m.AppendRows(a[:0], p.A), m.AppendRows(b[:0], p.B)
			if len(a) == 0 || len(b) == 0 {
				continue
			}
			out.a.add(a[:min(len(a), maxWordsA)])
			out.b.add(b[:min(len(b), maxWordsB)])
		}
		if out.size() > 0 {
			c.groups = append(c.groups, out)
			c.pairs += out.size()
		}
	}
	return c
}
