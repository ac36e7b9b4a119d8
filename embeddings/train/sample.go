package train

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/toolscout/toolscout/embeddings/builtin"
)

// How batches are made. The shares are those that did best when the method was worked
// out, on public sets of tools that none of the pairs is from.
const (
	flatten      = 0.7  // exponent of a group's size: large ones say less a pair
	runLength    = 8    // neighbours that are taken together, as hard negatives
	runShare     = 0.5  // of the batches are made of runs
	templates    = 0.25 // of the queries begin as people begin
	second       = 0.15 // of the queries state a second need
	dropout      = 0.1  // of the words are left out
	maxSecondary = 24   // words of a need that is put behind another
)

// openings are what a request is wrapped in.
var openings = []string{"can you", "could you please", "please", "i want to", "i need to", "i would like to",
	"help me", "how do i", "how can i", "is there a way to", "let us", "show me how to", "what is the", "find me"}

// joints are put between two needs.
var joints = []string{"and", "and then", "then", "also"}

// example is a pair of a batch.
type example struct {
	a, b       []uint32
	keyA, keyB uint64 // tell texts apart, whatever was dropped from them
}

// sampler draws batches.
type sampler struct {
	corpus     *corpus
	random     *rand.Rand
	cumulative []float64
	openings   [][]uint32
	joints     [][]uint32
}

func newSampler(c *corpus, m *builtin.Model, random *rand.Rand) *sampler {
	s := &sampler{corpus: c, random: random}
	var sum float64
	for _, g := range c.groups {
		sum += g.weight * math.Pow(float64(g.size()), flatten)
		s.cumulative = append(s.cumulative, sum)
	}
	for _, text := range openings {
		s.openings = append(s.openings, m.AppendRows(nil, text))
	}
	for _, text := range joints {
		s.joints = append(s.joints, m.AppendRows(nil, text))
	}
	return s
}

// batch replaces the examples of a batch by new ones.
func (s *sampler) batch(list []example) {
	length := 1
	if s.random.Float64() < runShare {
		length = runLength
	}
	for at := 0; at < len(list); {
		g := s.group()
		n := min(length, len(list)-at, g.size())
		start := s.random.IntN(g.size() - n + 1)
		for i := range n {
			s.draw(&list[at], g, start+i)
			at++
		}
	}
}

func (s *sampler) group() *group {
	x := s.random.Float64() * s.cumulative[len(s.cumulative)-1]
	i := sort.SearchFloat64s(s.cumulative, x)
	return &s.corpus.groups[min(i, len(s.corpus.groups)-1)]
}

// draw makes an example of pair i.
func (s *sampler) draw(e *example, g *group, i int) {
	a, b := g.a.at(i), g.b.at(i)
	e.keyA, e.keyB = key(a), key(b)
	e.a = e.a[:0]
	if s.random.Float64() < templates {
		e.a = append(e.a, s.openings[s.random.IntN(len(s.openings))]...)
	}
	e.a = s.drop(e.a, a)
	if s.random.Float64() < second {
		other := s.group()
		need := other.a.at(s.random.IntN(other.size()))
		e.a = append(e.a, s.joints[s.random.IntN(len(s.joints))]...)
		e.a = s.drop(e.a, need[:min(len(need), maxSecondary)])
	}
	e.b = s.drop(e.b[:0], b)
}

// drop appends a text without some of its words. One word is always left.
func (s *sampler) drop(to, text []uint32) []uint32 {
	before := len(to)
	for _, row := range text {
		if s.random.Float64() >= dropout {
			to = append(to, row)
		}
	}
	if len(to) == before {
		to = append(to, text[s.random.IntN(len(text))])
	}
	return to
}

// key is a hash of a text (FNV-1a, over whole words).
func key(text []uint32) uint64 {
	h := uint64(14695981039346656037)
	for _, row := range text {
		h = (h ^ uint64(row)) * 1099511628211
	}
	return h
}
