package search

import "math/bits"

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

// without gives the part with some more tools dead. The bits are copied: a reader
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
	n := len(list)
	if 8*p.gone < n { // quicker to look for the dead than to ask of each
		at := 0
		for word, set := range p.dead {
			for ; set != 0 && at < len(list); set &= set - 1 {
				place := uint32(word*64 + bits.TrailingZeros64(set))
				if at = seek(list, at, place); at < len(list) && list[at]>>countBits == place {
					n--
				}
			}
		}
		return n
	}
	for _, posting := range list {
		if p.isDead(posting >> countBits) {
			n--
		}
	}
	return n
}
