package search

import (
	"cmp"
	"math"
	"slices"
)

// The parameters of BM25 (Robertson and Zaragoza, 2009, "The Probabilistic
// Relevance Framework: BM25 and Beyond", 3.5), at their usual values.
const (
	k1 = 1.2
	b  = 0.75
)

// scores are the BM25 scores of the tools for one query, worked out where they are
// asked for. They are 0 for a tool that holds none of its terms or must not be seen.
type scores struct {
	*scope
	index *index
	terms []weighted // the rarest first; scores are summed up in this order
	total int        // postings of all of them
	short float32    // the formula is gain · count / (count + short + long · length)
	long  float32
}

// weighted is a term of the query and how much it counts.
type weighted struct {
	term string
	idf  float64
	gain float32
}

// queryTerm is a term of a query and its weight, 1 for most.
type queryTerm struct {
	term   string
	weight float64
}

// score prepares the scores of the tools in scope by the terms of a query.
func (x *index) score(query []queryTerm, servers []string, domain string) *scores {
	s := &scores{scope: x.scope(servers, domain), index: x}
	if s.visible == 0 {
		return s
	}
	average := max(1, float64(x.length)/float64(x.live))
	s.short, s.long = float32(k1*(1-b)), float32(k1*b/average)
	s.terms = make([]weighted, len(query))
	for i, q := range query {
		frequency := 0
		for p := range x.parts {
			frequency += x.parts[p].frequency(q.term)
		}
		s.total += frequency
		idf := math.Log(1+(float64(x.live-frequency)+.5)/(float64(frequency)+.5)) * q.weight
		s.terms[i] = weighted{q.term, idf, float32(idf * (k1 + 1))}
	}
	slices.SortStableFunc(s.terms, func(a, b weighted) int { return cmp.Compare(b.idf, a.idf) })
	return s
}

// worth is what a posting adds to the score of its tool.
func (s *scores) worth(gain float32, posting, length uint32) float32 {
	count := float32(posting & maxCount)
	return gain * count / (count + s.short + s.long*float32(length))
}

// byTerm is what each term of the query adds to the score of one tool, in the order
// of s.terms, and what they come to.
func (s *scores) byTerm(p int, place uint32) (list []float32, sum float32) {
	list = make([]float32, len(s.terms))
	part := &s.index.parts[p]
	f := part.facts[place]
	if !s.seen[f.group] {
		return list, 0
	}
	for i, t := range s.terms {
		postings := part.list(t.term)
		at := seek(postings, 0, place)
		if at < len(postings) && postings[at]>>countBits == place {
			list[i] = s.worth(t.gain, postings[at], f.length)
			sum += list[i]
		}
	}
	return list, sum
}

// coverage is how much of the query, weighed by how rare its terms are, occurs in
// one tool: 0 to 1.
func (s *scores) coverage(byTerm []float32) float64 {
	var covered, all float64
	for i, t := range s.terms {
		all += t.idf
		if i < len(byTerm) && byTerm[i] > 0 {
			covered += t.idf
		}
	}
	if all == 0 {
		return 0
	}
	return covered / all
}
