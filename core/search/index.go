package search

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/toolscout/toolscout/embeddings"
)

// index is the word index at one revision of the catalog: a few segments, the
// later ones small. It never changes. A refresh makes the next index beside it,
// which shares the segments that stay, and then puts it in place at once; so a
// search sees the state before a change or the state after it, and never waits.
//
// A changed tool is dead in its old segment and alive in a new one. Segments are
// merged as soon as one is not much larger than all later ones, so there are
// few of them, and each tool is copied a few times in all.
type index struct {
	revision int64
	parts    []part
	groups   []group
	byServer map[string][]uint32 // server to its groups
	live     int                 // tools
	length   int64               // of all of them together, in terms
	scopes   *scopes
}

// group is the tools of one server in one domain: what a search may see or not.
type group struct {
	server, domain string
	live           int
}

// document is one changed tool.
type document struct {
	id      uuid.UUID
	removed bool
	server  string
	domain  string
	tool    embeddings.Tool
}

// ratio bounds how many times larger than all later segments together a segment
// must be to stay apart.
const ratio = 4

// newIndex is the index before anything was read.
func newIndex() *index { return &index{byServer: make(map[string][]uint32), scopes: new(scopes)} }

// apply gives the index after some changes. An id may occur once.
func (x *index) apply(changes []document, revision int64, stems *stemmer) *index {
	next := &index{revision: revision, parts: append([]part(nil), x.parts...),
		groups: append([]group(nil), x.groups...), byServer: maps.Clone(x.byServer), live: x.live, length: x.length, scopes: new(scopes)}
	next.remove(changes)
	b := newBuilder(stems)
	for i := range changes {
		c := &changes[i]
		if !c.removed {
			b.add(c.id, next.group(c.server, c.domain), c.tool)
		}
	}
	if s := b.build(); len(s.ids) > 0 {
		for _, f := range s.facts {
			next.count(f, 1)
		}
		next.parts = append(next.parts, part{segment: s})
	}
	next.compact()
	return next
}

// remove makes the old versions of changed tools dead.
func (x *index) remove(changes []document) {
	for i := range x.parts {
		p := &x.parts[i]
		var places []uint32
		for j := range changes {
			place, ok := p.byID[changes[j].id]
			if ok && !p.isDead(place) {
				places = append(places, place)
				x.count(p.facts[place], -1)
			}
		}
		if len(places) > 0 {
			x.parts[i] = p.without(places)
		}
	}
}

func (x *index) count(f fact, n int) {
	x.live += n
	x.length += int64(n) * int64(f.length)
	x.groups[f.group].live += n
}

// group gives the number of a group, which it may have to make.
func (x *index) group(server, domain string) uint32 {
	for _, g := range x.byServer[server] {
		if x.groups[g].domain == domain {
			return g
		}
	}
	g := uint32(len(x.groups))
	x.groups = append(x.groups, group{server: server, domain: domain})
	x.byServer[server] = append(slices.Clip(x.byServer[server]), g)
	return g
}

// compact merges the last segments until each is much larger than all later ones,
// and any of which more than half is dead.
func (x *index) compact() {
	from, later := len(x.parts), 0
	for i := len(x.parts) - 1; i >= 0; i-- {
		live := x.parts[i].live()
		if i < len(x.parts)-1 && live < ratio*later || x.parts[i].gone > live {
			from = i
		}
		later += live
	}
	if from == len(x.parts) {
		return
	}
	merged := merge(x.parts[from:])
	x.parts = x.parts[:from:from]
	if len(merged.ids) > 0 {
		x.parts = append(x.parts, part{segment: merged})
	}
}

// find says where a tool is: in which part, and at which place there.
func (x *index) find(id uuid.UUID) (p int, place uint32, ok bool) {
	for p := range x.parts {
		if place, ok := x.parts[p].byID[id]; ok && !x.parts[p].isDead(place) {
			return p, place, true
		}
	}
	return 0, 0, false
}

// knows reports whether a term occurs in the index.
func (x *index) knows(term string) bool {
	for i := range x.parts {
		if len(x.parts[i].list(term)) > 0 {
			return true
		}
	}
	return false
}

// nearest finds the term with the fewest slips to another, at most so many, and of
// those the commonest; "" for none.
func (x *index) nearest(term string, slips int) string {
	best, bestSlips, bestCount := "", slips+1, 0
	for i := range x.parts {
		p := &x.parts[i]
		for t := range p.terms {
			if !near(term, t, slips) {
				continue
			}
			d, n := distance(term, t), len(p.list(t))
			if cmp.Or(cmp.Compare(d, bestSlips), cmp.Compare(bestCount, n), cmp.Compare(t, best)) < 0 {
				best, bestSlips, bestCount = t, d, n
			}
		}
	}
	return best
}

// domain gives the id of a tool's domain; "" when the tool is not in the index.
func (x *index) domain(id uuid.UUID) string {
	p, place, ok := x.find(id)
	if !ok {
		return ""
	}
	return x.groups[x.parts[p].facts[place].group].domain
}
