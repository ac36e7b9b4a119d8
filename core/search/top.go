package search

import (
	"math/bits"
	"sort"

	"github.com/google/uuid"
)

// The n best tools are found without scoring all (MaxScore: Turtle and Flood, 1995,
// "Query evaluation: strategies and optimizations"; with block maxima: Ding and Suel,
// 2011, "Faster top-k document retrieval using block-max indexes"). Of each term it is
// known what it can add at most. As soon as n tools are found, a tool that has only
// terms which together cannot reach the worst of them need not be looked at. So the
// rare terms lead, and the common ones are only looked up in the tools that have one.
// The result is the same as if every tool had been scored, to the last bit: a score is
// summed up in the order of the terms either way.

// top gives the n best tools with a score, best first.
func (s *scores) top(n int) []match {
	if n <= 0 || s.visible == 0 {
		return nil
	}
	found := &best{n: n, list: make([]match, 0, min(n, s.visible))}
	for i := range s.index.parts {
		// To find one of the few in a list of postings costs as much as to read some
		// of its postings.
		if s.places != nil && 4*s.visible*len(s.terms) < s.total {
			s.topOf(i, found)
		} else {
			s.topAmong(i, found)
		}
	}
	return found.sorted()
}

// topOf scores the few tools that are visible.
func (s *scores) topOf(i int, found *best) {
	p, places := &s.index.parts[i], s.places[i]
	sums := make([]float32, len(places))
	for _, t := range s.terms {
		postings := p.list(t.term)
		for at, k := 0, 0; k < len(places) && at < len(postings); k++ {
			if at = seek(postings, at, places[k]); at < len(postings) && postings[at]>>countBits == places[k] {
				sums[k] += s.worth(t.gain, postings[at], p.facts[places[k]].length)
			}
		}
	}
	for k, sum := range sums {
		if sum > 0 && sum >= found.bar() {
			found.offer(p.match(i, places[k], sum))
		}
	}
}

// window is how many places of a part are looked at together.
const window = 2048

// sure makes a bound that is safe from rounding.
const sure = 1 - 1e-4

// cursor goes along the postings of a term.
type cursor struct {
	postings []uint32
	start    int // of the postings in their segment
	at       int
	gain     float32
	spread   float32 // of the lengths since the segment was built
	most     float32 // that the term can add
	rest     float32 // that this and all later terms can add
}

// bound is what postings whose richness is at most this can add.
func (c *cursor) bound(richness float32) float32 {
	r := richness * c.spread
	return c.gain * r / (1 + r)
}

// walk is the way through one part.
type walk struct {
	*scores
	part    int
	p       *part
	cursors []cursor
	leading int // cursors that tools are taken from; in the others they are looked up
	found   *best
	sums    [window]float32
	touched [window / 64]uint64
}

// topAmong goes through the postings of a part.
func (s *scores) topAmong(i int, found *best) {
	w := walk{scores: s, part: i, p: &s.index.parts[i], cursors: s.cursors(i), found: found}
	w.leading = len(w.cursors)
	for {
		bar := found.bar() * sure
		for w.leading > 0 && w.cursors[w.leading-1].rest < bar {
			w.leading--
		}
		next, ok := w.next()
		if !ok {
			return
		}
		w.collect(next, bar)
		w.choose(next)
	}
}

// cursors are those of the terms that occur in a part, the rarest first.
func (s *scores) cursors(i int) []cursor {
	p := &s.index.parts[i]
	average := k1 * b / s.long
	list := make([]cursor, 0, len(s.terms))
	for _, t := range s.terms {
		k, ok := p.terms[t.term]
		if !ok {
			continue
		}
		c := cursor{start: int(p.starts[k]), postings: p.postings[p.starts[k]:p.starts[k+1]], gain: t.gain,
			spread: max(1, average/p.average)}
		c.most = c.bound(p.most[k])
		list = append(list, c)
	}
	rest := float32(0)
	for k := len(list) - 1; k >= 0; k-- {
		rest += list[k].most
		list[k].rest = rest
	}
	return list
}

// next is the first place that a leading term has.
func (w *walk) next() (place uint32, ok bool) {
	for k := range w.cursors[:w.leading] {
		c := &w.cursors[k]
		if c.at < len(c.postings) {
			if at := c.postings[c.at] >> countBits; !ok || at < place {
				place, ok = at, true
			}
		}
	}
	return place, ok
}

// collect sums up what the leading terms add to the tools of a window.
func (w *walk) collect(from uint32, bar float32) {
	for k := range w.cursors[:w.leading] {
		c := &w.cursors[k]
		// What a posting must be worth, if all other terms did what they can.
		need := bar - (w.cursors[0].rest - c.most)
		for c.at < len(c.postings) && c.postings[c.at]>>countBits < from+window {
			block := (c.start + c.at) / blockSize
			end := min((block+1)*blockSize-c.start, len(c.postings))
			if need > 0 && c.bound(w.p.peaks[block]) < need {
				c.at = end
				continue
			}
			for ; c.at < end; c.at++ {
				posting := c.postings[c.at]
				place := posting>>countBits - from
				if place >= window {
					break
				}
				f := &w.p.facts[place+from]
				if w.seen[f.group] {
					w.sums[place] += w.worth(c.gain, posting, f.length)
					w.touched[place/64] |= 1 << (place % 64)
				}
			}
		}
	}
}

// choose offers the tools of a window that can be among the best, and clears it.
func (w *walk) choose(from uint32) {
	for word, set := range w.touched {
		for ; set != 0; set &= set - 1 {
			place := uint32(word*64 + bits.TrailingZeros64(set))
			sum := w.sums[place]
			w.sums[place] = 0
			if w.complete(&sum, from+place) && !w.p.isDead(from+place) {
				w.found.offer(w.p.match(w.part, from+place, sum))
			}
		}
		w.touched[word] = 0
	}
}

// complete adds what the other terms add, and reports whether the tool can still be
// among the best.
func (w *walk) complete(sum *float32, place uint32) bool {
	bar := w.found.bar()
	for k := w.leading; k < len(w.cursors); k++ {
		c := &w.cursors[k]
		if *sum+c.rest < bar*sure {
			return false
		}
		c.at = seek(c.postings, c.at, place)
		if c.at < len(c.postings) && c.postings[c.at]>>countBits == place {
			*sum += w.worth(c.gain, c.postings[c.at], w.p.facts[place].length)
		}
	}
	return *sum >= bar
}

// seek finds the first posting from at on that is of a place or a later one. It goes
// in growing steps, since what is looked for is often near.
func seek(postings []uint32, at int, place uint32) int {
	wanted := place << countBits
	step := 1
	for at+step < len(postings) && postings[at+step] < wanted {
		at += step
		step *= 2
	}
	to := min(at+step+1, len(postings))
	return at + sort.Search(to-at, func(i int) bool { return postings[at+i] >= wanted })
}

// fill gives the first n tools by name that are not taken yet: something to show
// where little fits.
func (s *scores) fill(n int, taken func(uuid.UUID) bool) []match {
	found := &best{n: n}
	for i := range s.index.parts {
		p := &s.index.parts[i]
		for k, g := range p.groups {
			if !s.seen[g] {
				continue
			}
			for _, place := range p.members[p.from[k]:p.from[k+1]] {
				if !p.isDead(place) && !taken(p.ids[place]) {
					found.offer(p.match(i, place, 0))
				}
			}
		}
	}
	return found.sorted()
}
