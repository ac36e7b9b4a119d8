package search

import "math"

// Tools of one server that fit together speak for each other: a query about a
// reading list needs the server of books, whichever of its tools.
const (
	contextTools  = 3   // of a server that speak for it
	contextWeight = .25 // of the server in the score of its tools
)

// context moves each candidate's score toward that of its server, which is the mean
// of its best tools, the second counting half and the third a third.
func (s *search) context(list []*candidate) {
	inOrder(list)
	type evidence struct {
		sum, of float64
		tools   int
	}
	servers := make(map[string]*evidence)
	for _, c := range list {
		e := servers[c.server]
		if e == nil {
			e = &evidence{}
			servers[c.server] = e
		}
		if e.tools++; e.tools <= contextTools {
			e.sum += c.score / float64(e.tools)
			e.of += 1 / float64(e.tools)
		}
	}
	for server, e := range servers {
		// The tools that nothing spoke for count too.
		for n := e.tools + 1; n <= min(contextTools, s.size(server)); n++ {
			e.of += 1 / float64(n)
		}
	}
	for _, c := range list {
		e := servers[c.server]
		c.score = (1-contextWeight)*c.score + contextWeight*e.sum/e.of
	}
	inOrder(list)
}

// size is how many tools of a server can be found, as far as is known.
func (s *search) size(server string) int {
	n := 0
	if s.words != nil {
		for _, g := range s.words.index.byServer[server] {
			if s.words.seen[g] {
				n += s.words.index.groups[g].live
			}
		}
	}
	return n
}

// coverWeight is how much the needs of a query count one by one, against the query
// as a whole.
const coverWeight = .8

// cover orders candidates for a query with several needs, so that each need gets
// its best tool before any gets its second: the next is always the one that adds
// most to what the chosen ones cover (xQuAD: Santos, Macdonald and Ounis, 2010,
// "Exploiting Query Reformulations for Web Search Result Diversification"). A need
// weighs the more, the better its best tool fits the whole query: a sentence that
// only says hello has none. List is in order. What is not among the first top_k is
// left over.
func (s *search) cover(list []*candidate) (covered, left []*candidate) {
	fits := s.byNeed(list)
	weight, open := make([]float64, len(fits)), make([]float64, len(fits)) // open: what is uncovered
	total := 0.0
	for k, fit := range fits {
		if best := argmax(fit); best >= 0 {
			weight[k] = math.Pow(max(0, list[best].score), 2)
		}
		open[k] = 1
		total += weight[k]
	}
	if total == 0 {
		return list, nil
	}
	whole := make([]float64, len(list))
	for i, c := range list {
		whole[i] = (1 - coverWeight) * c.score
	}
	covered = make([]*candidate, 0, len(list))
	taken := make([]bool, len(list))
	for len(covered) < min(s.query.TopK, len(list)) {
		best, most := -1, math.Inf(-1)
		for i := range list {
			if taken[i] {
				continue
			}
			value := whole[i]
			for k := range fits {
				value += coverWeight * weight[k] / total * open[k] * fits[k][i]
			}
			if value > most {
				best, most = i, value
			}
		}
		taken[best] = true
		c := list[best]
		c.score, c.share = most, 0
		covered = append(covered, c)
		for k := range fits {
			c.share = max(c.share, open[k]*fits[k][best])
			open[k] *= 1 - min(.999, fits[k][best])
		}
	}
	for i, c := range list {
		if !taken[i] {
			left = append(left, c)
		}
	}
	return covered, left
}

// byNeed is how well each candidate meets each need on its own: the mean of both
// halves, as for a whole query.
func (s *search) byNeed(list []*candidate) [][]float64 {
	words := s.wordsByNeed(list)
	fits := make([][]float64, len(s.needs))
	for k := range fits {
		fits[k] = make([]float64, len(list))
		var bestCosine, bestWords float32
		for i, c := range list {
			bestWords = max(bestWords, words[k][i])
			if k < len(c.clauses) {
				bestCosine = max(bestCosine, c.clauses[k])
			}
		}
		for i, c := range list {
			var cosine float32
			if k < len(c.clauses) {
				cosine = c.clauses[k]
			}
			fits[k][i] = s.fuse(share(cosine, bestCosine), share(words[k][i], bestWords), bestCosine > 0 && c.known, bestWords > 0)
		}
	}
	return fits
}

// wordsByNeed is the BM25 score of each candidate for each need.
func (s *search) wordsByNeed(list []*candidate) [][]float32 {
	scores := make([][]float32, len(s.needs))
	for k := range scores {
		scores[k] = make([]float32, len(list))
	}
	if s.words == nil {
		return scores
	}
	places := make(map[string]int, len(s.words.terms))
	for i, t := range s.words.terms {
		places[t.term] = i
	}
	in := make([][]int, len(s.needs)) // terms of the query in each need
	for k, need := range s.needs {
		for _, q := range s.engine.terms(need) {
			if at, ok := places[q.term]; ok {
				in[k] = append(in[k], at)
			}
		}
	}
	for i, c := range list {
		if c.words == 0 {
			continue
		}
		for k := range in {
			for _, t := range in[k] {
				scores[k][i] += c.byTerm[t]
			}
		}
	}
	return scores
}

// argmax is the place of the largest number, the first of several; -1 for none
// above zero.
func argmax(list []float64) int {
	best, most := -1, 0.0
	for i, x := range list {
		if x > most {
			best, most = i, x
		}
	}
	return best
}

// maxTwins is how many tools with the same name and description an answer begins
// with: several servers may offer the same, and the caller may have to choose by
// the server, but other tools must not be crowded out.
const maxTwins = 2

// variety takes further twins out of a list in order.
func variety(list []*candidate) (first, later []*candidate) {
	seen := make(map[uint32]int)
	for _, c := range list {
		seen[c.fact.twins]++
		if c.fact.twins != 0 && seen[c.fact.twins] > maxTwins {
			later = append(later, c)
		} else {
			first = append(first, c)
		}
	}
	return first, later
}
