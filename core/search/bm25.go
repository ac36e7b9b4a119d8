package search

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// The parameters of BM25 (Robertson and Zaragoza, 2009, "The Probabilistic
// Relevance Framework: BM25 and Beyond", 3.5), at their usual values.
const (
	k1 = 1.2
	b  = 0.75
)

// scores are the BM25 scores of all tools for one query. They are 0 for a tool
// that holds none of its terms or must not be seen.
type scores struct {
	scope
	index  *index
	terms  []weighted
	byPart [][]float32
}

// weighted is a term of the query and how much it counts.
type weighted struct {
	term string
	idf  float64
}

// pool keeps the arrays of scores from one search to the next.
type pool struct{ arrays sync.Pool }

func (p *pool) array(n int) []float32 {
	if a, ok := p.arrays.Get().(*[]float32); ok && cap(*a) >= n {
		clear((*a)[:n])
		return (*a)[:n]
	}
	return make([]float32, n)
}

// release gives the arrays back; the scores must not be used again.
func (s *scores) release(p *pool) {
	for i := range s.byPart {
		p.arrays.Put(&s.byPart[i])
	}
	s.byPart = nil
}

// scope is what a caller may see.
type scope struct {
	allowed []bool // groups, by their server alone
	seen    []bool // groups, by the domain that was asked for too
	visible int    // tools of the groups that are seen
}

// scope is that of some servers, and of one domain unless it is "".
func (x *index) scope(servers []string, domain string) scope {
	s := scope{allowed: make([]bool, len(x.groups))}
	for _, server := range servers {
		for _, g := range x.byServer[server] {
			s.allowed[g] = true
		}
	}
	s.seen = slices.Clone(s.allowed)
	for g := range s.seen {
		s.seen[g] = s.seen[g] && (domain == "" || x.groups[g].domain == domain)
		if s.seen[g] {
			s.visible += x.groups[g].live
		}
	}
	return s
}

// hidden lists the servers with tools that are not allowed.
func (s *scores) hidden() []string {
	var servers []string
	for g, group := range s.index.groups {
		if group.live > 0 && !s.allowed[g] {
			servers = append(servers, group.server)
		}
	}
	slices.Sort(servers)
	return slices.Compact(servers)
}

// queryTerm is a term of a query and its weight, 1 for most.
type queryTerm struct {
	term   string
	weight float64
}

// score scores every tool in scope by the terms of a query.
func (x *index) score(query []queryTerm, servers []string, domain string, p *pool) *scores {
	s := &scores{scope: x.scope(servers, domain), index: x, byPart: make([][]float32, len(x.parts))}
	for i := range x.parts {
		s.byPart[i] = p.array(len(x.parts[i].ids))
	}
	if s.visible == 0 {
		return s
	}
	for _, q := range query {
		term, frequency := q.term, 0
		for i := range x.parts {
			frequency += x.parts[i].frequency(term)
		}
		idf := math.Log(1+(float64(x.live-frequency)+.5)/(float64(frequency)+.5)) * q.weight
		s.terms = append(s.terms, weighted{term, idf})
		if frequency > 0 {
			for i := range x.parts {
				s.addTerm(&x.parts[i], s.byPart[i], term, idf)
			}
		}
	}
	return s
}

func (s *scores) addTerm(p *part, to []float32, term string, idf float64) {
	gain, short, long := s.factors(idf)
	for _, posting := range p.list(term) {
		place := posting >> countBits
		f := p.facts[place]
		if !s.seen[f.group] || p.isDead(place) {
			continue
		}
		count := float32(posting & maxCount)
		to[place] += gain * count / (count + short + long*float32(f.length))
	}
}

// factors are those of a term in the formula of BM25: the score of a tool is
// gain · count / (count + short + long · length).
func (s *scores) factors(idf float64) (gain, short, long float32) {
	average := max(1, float64(s.index.length)/float64(s.index.live))
	return float32(idf * (k1 + 1)), float32(k1 * (1 - b)), float32(k1 * b / average)
}

// byTerm is what each term of the query adds to the score of one tool, in the order
// of s.terms.
func (s *scores) byTerm(id uuid.UUID) []float32 {
	list := make([]float32, len(s.terms))
	p, place, ok := s.index.find(id)
	if !ok {
		return list
	}
	part := &s.index.parts[p]
	for i, t := range s.terms {
		postings := part.list(t.term)
		at, _ := slices.BinarySearch(postings, place<<countBits)
		if at < len(postings) && postings[at]>>countBits == place {
			gain, short, long := s.factors(t.idf)
			count := float32(postings[at] & maxCount)
			list[i] = gain * count / (count + short + long*float32(part.facts[place].length))
		}
	}
	return list
}

// coverage is how much of the query, weighed by how rare its terms are, occurs in
// one tool: 0 to 1.
func (s *scores) coverage(byTerm []float32) float64 {
	var covered, all float64
	for i, t := range s.terms {
		all += t.idf
		if byTerm[i] > 0 {
			covered += t.idf
		}
	}
	if all == 0 {
		return 0
	}
	return covered / all
}

// match is a tool with its score.
type match struct {
	id    uuid.UUID
	name  string
	score float32
}

// compare orders matches: the better first, then by name and id, so that two
// searches give the same order.
func (m match) compare(n match) int {
	return cmp.Or(cmp.Compare(n.score, m.score), cmp.Compare(m.name, n.name), slices.Compare(m.id[:], n.id[:]))
}

// worst is a heap of matches with the last in order on top.
type worst []match

func (w worst) Len() int           { return len(w) }
func (w worst) Less(i, j int) bool { return w[i].compare(w[j]) > 0 }
func (w worst) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *worst) Push(x any)        { *w = append(*w, x.(match)) }
func (w *worst) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}

// top gives the n best tools with a score, best first.
func (s *scores) top(n int) []match {
	return s.best(n, func(_ uuid.UUID, score float32) bool { return score > 0 })
}

// fill gives the first n tools by name among those without a score that are not
// taken yet: something to show where little fits.
func (s *scores) fill(n int, taken func(uuid.UUID) bool) []match {
	return s.best(n, func(id uuid.UUID, score float32) bool { return score == 0 && !taken(id) })
}

func (s *scores) best(n int, wanted func(uuid.UUID, float32) bool) []match {
	var kept worst
	if n <= 0 {
		return kept
	}
	for i := range s.index.parts {
		p := &s.index.parts[i]
		for place, score := range s.byPart[i] {
			if len(kept) == n && score < kept[0].score || !wanted(p.ids[place], score) ||
				!s.seen[p.facts[place].group] || p.isDead(uint32(place)) {
				continue
			}
			m := match{p.ids[place], p.names[place], score}
			if len(kept) < n {
				heap.Push(&kept, m)
				continue
			}
			if m.compare(kept[0]) < 0 {
				kept[0] = m
				heap.Fix(&kept, 0)
			}
		}
	}
	slices.SortFunc(kept, match.compare)
	return kept
}
