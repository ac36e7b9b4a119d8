package search

import (
	"cmp"
	"hash/fnv"
	"slices"

	"github.com/google/uuid"

	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/embeddings/words"
)

// segment is a word index over some tools. It never changes once it is built.
//
// A posting is one number: the tool's place in the segment times 256, plus how
// often the term occurs in it (255 at most). That keeps 100,000 tools of 70 terms
// in 28 MB.
type segment struct {
	ids      []uuid.UUID
	names    []string
	facts    []fact
	byID     map[uuid.UUID]uint32
	terms    map[string]uint32
	starts   []uint32 // of a term's postings; one more than there are terms
	postings []uint32 // in the order of the tools

	// What follows is worked out by seal.
	groups  []uint32 // that occur, in order
	from    []uint32 // of a group's members; one more than there are groups
	members []uint32 // places by group
	average float32  // length of a tool, as richness has it
	most    []float32
	peaks   []float32
}

// fact is what scoring reads of a tool. The first two numbers lie together because
// they are read together, millions of times a second.
type fact struct {
	group   uint32 // of tools with the same server and domain
	length  uint32 // of its text, in words
	twins   uint32 // the same for tools with the same name and description
	actions actions

	deprecated bool
}

const (
	countBits = 8
	maxCount  = 1<<countBits - 1
)

// blockSize is how many postings share a peak.
const blockSize = 128

// seal works out what searches go by: the tools of each group, and how rich the
// richest posting of each term is, and of each block of postings.
func (s *segment) seal() {
	s.members = make([]uint32, len(s.ids))
	total := 0
	for place, f := range s.facts {
		s.members[place] = uint32(place)
		total += int(f.length)
	}
	slices.SortStableFunc(s.members, func(a, b uint32) int { return cmp.Compare(s.facts[a].group, s.facts[b].group) })
	for i, place := range s.members {
		if g := s.facts[place].group; i == 0 || g != s.groups[len(s.groups)-1] {
			s.groups, s.from = append(s.groups, g), append(s.from, uint32(i))
		}
	}
	s.from = append(s.from, uint32(len(s.members)))
	s.average = float32(max(1, float64(total)/float64(max(1, len(s.ids)))))
	s.most = make([]float32, len(s.terms))
	s.peaks = make([]float32, (len(s.postings)+blockSize-1)/blockSize)
	for t := range s.most {
		for i := s.starts[t]; i < s.starts[t+1]; i++ {
			r := s.richness(s.postings[i])
			s.most[t], s.peaks[i/blockSize] = max(s.most[t], r), max(s.peaks[i/blockSize], r)
		}
	}
}

// richness is how much of a term a tool has for its length, r in BM25's r / (1 + r).
// Where tools have become longer on average than they were when the segment was built,
// none is richer than this times the growth.
func (s *segment) richness(posting uint32) float32 {
	length := float32(s.facts[posting>>countBits].length)
	return float32(posting&maxCount) / (k1*(1-b) + k1*b/s.average*length)
}

// list is the postings of a term.
func (s *segment) list(term string) []uint32 {
	t, ok := s.terms[term]
	if !ok {
		return nil
	}
	return s.postings[s.starts[t]:s.starts[t+1]]
}

// builder collects tools for a segment.
type builder struct {
	stems   *stemmer
	actions map[string]actions
	segment *segment
	found   []occurrence
	of      []uint32 // terms of the tool at hand
	length  uint32   // of its text
}

type occurrence struct{ term, posting uint32 }

func newBuilder(stems *stemmer) *builder {
	return &builder{stems: stems, actions: actionsOf(), segment: &segment{byID: make(map[uuid.UUID]uint32), terms: make(map[string]uint32)}}
}

// add indexes one tool.
func (b *builder) add(id uuid.UUID, group uint32, tool embeddings.Tool) {
	s := b.segment
	b.of, b.length = b.of[:0], 0
	text := func(text string) { b.stems.terms(text, b.term) }
	text(tool.Name)
	text(tool.Title)
	text(tool.Description)
	for _, p := range tool.Parameters {
		text(p.Name)
		text(p.Description)
	}
	text(tool.Server)

	place := uint32(len(s.ids))
	s.ids = append(s.ids, id)
	s.names = append(s.names, tool.Name)
	does := b.stems.first(tool.Name, b.actions)
	if does == 0 {
		does = b.stems.opening(tool.Description, b.actions)
	}
	s.facts = append(s.facts, fact{group, b.length, twins(tool), does, deprecated(tool.Description)})
	s.byID[id] = place
	slices.Sort(b.of)
	for i := 0; i < len(b.of); {
		j := i + 1
		for j < len(b.of) && b.of[j] == b.of[i] {
			j++
		}
		b.found = append(b.found, occurrence{b.of[i], place<<countBits | uint32(min(j-i, maxCount))})
		i = j
	}
}

// twins is a number that tools with the same name and description share.
func twins(tool embeddings.Tool) uint32 {
	h := fnv.New32a()
	for word := range words.Of(tool.Name + "\n" + tool.Description) {
		h.Write(word)
		h.Write([]byte{0})
	}
	return h.Sum32()
}

func (b *builder) term(term string, length uint32) {
	t, ok := b.segment.terms[term]
	if !ok {
		t = uint32(len(b.segment.terms))
		b.segment.terms[term] = t
	}
	b.of = append(b.of, t)
	b.length += length
}

// build gives the segment. The builder must not be used again.
func (b *builder) build() *segment {
	s := b.segment
	s.starts = make([]uint32, len(s.terms)+1)
	for _, o := range b.found {
		s.starts[o.term+1]++
	}
	next := s.sum()
	s.postings = make([]uint32, len(b.found))
	for _, o := range b.found {
		s.postings[next[o.term]] = o.posting
		next[o.term]++
	}
	s.seal()
	return s
}

// sum turns the counts in starts into places, and gives a copy to fill in by.
func (s *segment) sum() []uint32 {
	for i := 1; i < len(s.starts); i++ {
		s.starts[i] += s.starts[i-1]
	}
	return slices.Clone(s.starts)
}

// merge makes one segment of several parts, without what is dead.
func merge(parts []part) *segment {
	size := 0
	for i := range parts {
		size += parts[i].live()
	}
	s := &segment{ids: make([]uuid.UUID, 0, size), names: make([]string, 0, size), facts: make([]fact, 0, size),
		byID: make(map[uuid.UUID]uint32, size), terms: make(map[string]uint32, len(parts[0].terms))}
	places := make([][]uint32, len(parts)) // old place to new
	for i := range parts {
		places[i] = s.take(&parts[i])
	}
	s.starts = make([]uint32, 1, len(parts[0].terms)+1)
	for i := range parts {
		p := &parts[i]
		for term := range p.terms {
			n := p.frequency(term)
			if n == 0 {
				continue
			}
			t, ok := s.terms[term]
			if !ok {
				t = uint32(len(s.terms))
				s.terms[term] = t
				s.starts = append(s.starts, 0)
			}
			s.starts[t+1] += uint32(n)
		}
	}
	next := s.sum()
	s.postings = make([]uint32, s.starts[len(s.terms)])
	for i := range parts {
		s.copyPostings(&parts[i], places[i], next)
	}
	s.seal()
	return s
}

// take appends the live tools of a part, and says where each has gone.
func (s *segment) take(p *part) []uint32 {
	places := make([]uint32, len(p.ids))
	for old := range uint32(len(p.ids)) {
		if p.isDead(old) {
			continue
		}
		places[old] = uint32(len(s.ids))
		s.byID[p.ids[old]] = places[old]
		s.ids = append(s.ids, p.ids[old])
		s.names = append(s.names, p.names[old])
		s.facts = append(s.facts, p.facts[old])
	}
	return places
}

func (s *segment) copyPostings(p *part, places, next []uint32) {
	for term, old := range p.terms {
		t, ok := s.terms[term]
		if !ok {
			continue
		}
		for _, posting := range p.postings[p.starts[old]:p.starts[old+1]] {
			place := posting >> countBits
			if p.isDead(place) {
				continue
			}
			s.postings[next[t]] = places[place]<<countBits | posting&maxCount
			next[t]++
		}
	}
}
