package search

import (
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
}

// fact is what scoring reads of a tool. The first two numbers lie together because
// they are read together, millions of times a second.
type fact struct {
	group   uint32 // of tools with the same server and domain
	length  uint32 // of its text, in words
	twins   uint32 // the same for tools with the same name and description
	actions actions
}

const (
	countBits = 8
	maxCount  = 1<<countBits - 1
)

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
	s.facts = append(s.facts, fact{group, b.length, twins(tool), does})
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
	return s
}

// sum turns the counts in starts into places, and gives a copy to fill in by.
func (s *segment) sum() []uint32 {
	for i := 1; i < len(s.starts); i++ {
		s.starts[i] += s.starts[i-1]
	}
	return slices.Clone(s.starts)
}

// part is a segment of which some tools were removed or changed since.
type part struct {
	*segment
	dead []uint64 // bits; shorter than the segment where none is set
	gone int      // how many are set
}

func (p *part) isDead(place uint32) bool {
	w := int(place / 64)
	return w < len(p.dead) && p.dead[w]&(1<<(place%64)) != 0
}

// live is how many tools are left.
func (p *part) live() int { return len(p.ids) - p.gone }

// without gives the part with one more tool dead. The bits are copied: a reader
// may be looking at them.
func (p part) without(places []uint32) part {
	bits := make([]uint64, (len(p.ids)+63)/64)
	copy(bits, p.dead)
	for _, place := range places {
		bits[place/64] |= 1 << (place % 64)
	}
	p.dead, p.gone = bits, p.gone+len(places)
	return p
}

// frequency is in how many live tools of the part a term occurs.
func (p *part) frequency(term string) int {
	list := p.list(term)
	if p.gone == 0 {
		return len(list)
	}
	n := 0
	for _, posting := range list {
		if !p.isDead(posting >> countBits) {
			n++
		}
	}
	return n
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
