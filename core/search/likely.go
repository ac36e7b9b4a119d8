package search

import "math"

// How likely a tool is right: a logistic function of three things, fitted to the
// ten best tools for each of 1,741 queries of four development sets and, a quarter as
// heavy, to what the same catalogs answered to each other's queries, for which
// nothing was right. docs/search.md says how well it holds on sets it was not
// fitted to. It was fitted with the built-in model: another, whose cosines are
// all high, says too much.
const (
	likelyBase  = -5.2
	likelyShare = 2.9  // how near it comes to the best tool for its need
	likelyOver  = -1.6 // log of its place, as a multiple of the number of needs
	likelyFit   = 1.7  // what the query and the best tools have in common

	judged      = 3   // hits that may show that something fits
	enoughWords = .5  // share of the query's words, by rarity, in one tool: a fit of 1
	enoughSense = .45 // cosine: a fit of 1
	maxFit      = 2   // a fit of more says no more
	namedFit    = 3   // of a tool that the query names
)

// unlikely is below what the best tool says where nothing fits.
const unlikely = .25

// judge says of each tool of an answer how likely it is right. A tool is never
// more likely than one before it.
func (s *search) judge(ranked []*candidate) {
	fit, last := s.fit(ranked), 1.0
	for i, c := range ranked {
		over := max(1, float64(i+1)/float64(max(1, len(s.needs))))
		x := likelyBase + likelyShare*c.share + likelyOver*math.Log(over) + likelyFit*fit
		if c.named {
			x = likelyBase + likelyShare + likelyFit*namedFit
		}
		c.likely = min(last, 1/(1+math.Exp(-x)))
		if c.score <= 0 {
			c.likely = 0
		}
		last = c.likely
	}
}

// fit is how much the query has in common with one of the best tools, by raw
// scores: those that are divided by the best always look good. A tool fits when it
// is near in meaning, holds much of what was asked for, or something of both.
func (s *search) fit(ranked []*candidate) float64 {
	most := 0.0
	for _, c := range ranked[:min(judged, len(ranked))] {
		fit := float64(c.meaning) / enoughSense
		if s.words != nil && c.words > 0 {
			fit += s.words.coverage(c.byTerm) / enoughWords
		}
		most = max(most, fit)
	}
	return min(most, maxFit)
}
