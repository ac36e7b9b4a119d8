package search

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// match is a tool with its score.
type match struct {
	id    uuid.UUID
	name  string
	part  int
	place uint32
	score float32
}

// compare orders matches: the better first, then by name and id, so that two
// searches give the same order.
func (m match) compare(n match) int {
	return cmp.Or(cmp.Compare(n.score, m.score), cmp.Compare(m.name, n.name), slices.Compare(m.id[:], n.id[:]))
}

// best keeps the n first matches in order, as a heap with the last of them on top.
type best struct {
	n    int
	list []match
}

// offer keeps a match if it is among the first.
func (b *best) offer(m match) {
	if len(b.list) < b.n {
		b.list = append(b.list, m)
		for i := len(b.list) - 1; i > 0; {
			up := (i - 1) / 2
			if b.list[i].compare(b.list[up]) <= 0 {
				break
			}
			b.list[i], b.list[up] = b.list[up], b.list[i]
			i = up
		}
		return
	}
	if b.n == 0 || m.compare(b.list[0]) >= 0 {
		return
	}
	b.list[0] = m
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < b.n && b.list[down+1].compare(b.list[down]) > 0 {
			down++
		}
		if down >= b.n || b.list[down].compare(b.list[i]) <= 0 {
			return
		}
		b.list[i], b.list[down] = b.list[down], b.list[i]
		i = down
	}
}

// bar is the score below which nothing is kept any more; 0 while there is room.
func (b *best) bar() float32 {
	if len(b.list) < b.n || b.n == 0 {
		return 0
	}
	return b.list[0].score
}

func (b *best) sorted() []match {
	slices.SortFunc(b.list, match.compare)
	return b.list
}

// match is a tool of a part with its score.
func (p *part) match(i int, place uint32, score float32) match {
	return match{p.ids[place], p.names[place], i, place, score}
}
