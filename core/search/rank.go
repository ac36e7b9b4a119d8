package search

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/toolscout/toolscout/core"
)

// search is one search on its way.
type search struct {
	engine *Engine
	query  Query
	limit  int     // candidates of each half
	words  *scores // nil when the word index is missing
	needs  []string
	named  map[string]bool // as squash gives them
	asked  actions
	uses   *uses // nil where use counts nothing

	model   core.Model
	vectors [][]float32 // the query's and its clauses'; nil when they say nothing

	found map[uuid.UUID]*candidate
}

// candidate is a tool that one of the halves proposed.
type candidate struct {
	id      uuid.UUID
	name    string
	server  string
	fact    fact      // zero when the word index does not know it
	cosine  float32   // to the whole query
	clauses []float32 // cosines to the clauses
	meaning float32   // the mean of cosine and that to the nearest clause
	words   float32   // BM25
	byTerm  []float32 // what each term of the query adds to words
	known   bool      // the cosines were looked up
	named   bool      // the query gives its name
	score   float64   // orders the answer
	twin    float64   // orders it among its twins
	share   float64   // how near it comes to the best for the same need: 0 to 1
	likely  float64   // what the answer says of it
}

// answer orders the candidates and judges them.
func (s *search) answer() Answer {
	if len(s.found) == 0 {
		return Answer{Suggestion: suggestNoKnownWord}
	}
	ranked := s.ranked()
	s.judge(ranked)
	if len(ranked) > s.query.TopK {
		ranked = ranked[:s.query.TopK]
	}
	answer := Answer{Hits: make([]Hit, len(ranked)), Suggestion: s.suggestion(ranked)}
	for i, c := range ranked {
		answer.Hits[i] = Hit{ToolID: c.id.String(), ServerID: c.server, Score: c.likely}
	}
	return answer
}

// ranked gives the candidates best first, and what comes after them where they are
// fewer than what is asked for.
func (s *search) ranked() []*candidate {
	list := make([]*candidate, 0, len(s.found))
	for _, c := range s.found {
		if c.cosine >= float32(s.query.MinSimilarity) || s.query.MinSimilarity == 0 {
			list = append(list, c)
		}
	}
	s.score(list)
	if s.uses != nil {
		s.used(list)
	}
	s.context(list)
	for _, c := range list {
		c.share = max(0, c.score/max(list[0].score, tiny))
	}
	if s.uses != nil {
		s.weighTwins(list)
		placeTwins(list)
	}
	list, later := variety(list)
	if len(s.needs) > 0 {
		covered, left := s.cover(list)
		if s.uses != nil {
			placeTwins(covered)
		}
		list, later = covered, append(left, later...)
	}
	list = s.namedFirst(append(list, later...)) // also one that the needs had no place for
	if s.query.MinSimilarity == 0 && s.words != nil && len(list) < s.query.TopK {
		list = append(list, s.fill(s.query.TopK-len(list))...)
	}
	return list
}

// score gives each candidate the mean of both halves' scores, each divided by the
// best there is: that ranked better than either half and than the fusion of ranks
// on every development set. A little is added where a tool does what is asked for, and
// some taken off where it should not be used any more.
func (s *search) score(list []*candidate) {
	var meaning, words float32
	for _, c := range s.found {
		meaning, words = max(meaning, c.meaning), max(words, c.words)
	}
	for _, c := range list {
		// A tool that has no vector yet is judged by its words alone.
		c.score = s.fuse(share(c.meaning, meaning), share(c.words, words), meaning > 0 && c.known, words > 0) +
			s.asked.bonus(c.fact.actions)
		if c.fact.deprecated {
			c.score -= deprecatedCost
		}
	}
}

// inOrder sorts candidates, the best first. Ties go by name and id.
func inOrder(list []*candidate) {
	slices.SortFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.name, b.name), slices.Compare(a.id[:], b.id[:]))
	})
}

// fill gives n more tools, which have neither a word of the query nor a vector.
func (s *search) fill(n int) []*candidate {
	var list []*candidate
	taken := func(id uuid.UUID) bool { return s.found[id] != nil }
	for _, m := range s.words.fill(n, taken) {
		list = append(list, s.candidate(m))
	}
	return list
}

// tiny is above zero, for dividing by what may not be.
const tiny = 1e-9

func share(x, best float32) float64 {
	if best <= 0 || x <= 0 {
		return 0
	}
	return float64(x) / float64(best)
}

// fuse is the weighted mean of both halves, or the one that says anything.
func (s *search) fuse(meaning, words float64, hasMeaning, hasWords bool) float64 {
	switch {
	case hasMeaning && hasWords:
		w := s.weight()
		return w*meaning + (1-w)*words
	case hasMeaning:
		return meaning
	default:
		return words
	}
}
