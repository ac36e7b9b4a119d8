package script

import "go.starlark.net/starlark"

// The interpreter's hash of an int, and of a text shorter than twelve bytes, is known
// to everybody: whoever chooses the keys, such as a server that sends a result, can
// have them all meet in one bucket of the table, where each is compared with all that
// came before. Sixty thousand of them take a minute, in one step.

const (
	// few keys are no crowd, whatever they hash to.
	few = 64
	// full is how many keys there are to a bucket before a table grows, and usual how
	// many may meet in one by chance.
	full  = 6
	usual = 4 * full
	// costMeeting is what it costs a key to meet another one, in bytes looked at.
	costMeeting = 64
)

// crowd is the keys that come into one table.
type crowd struct {
	known   map[any]bool
	hashes  []uint32
	buckets []int64 // how many there are in each
}

// join charges for what another key meets.
func (c *crowd) join(a *account, key starlark.Value) error {
	hash, err := key.Hash()
	if err != nil {
		return nil // the table refuses it
	}
	var name any = key
	if t, ok := key.(starlark.Tuple); ok {
		name = t.String() // tuples are slices
	}
	if c.known[name] {
		return nil
	}
	if c.known == nil {
		c.known = map[any]bool{}
	}
	c.known[name] = true
	c.hashes = append(c.hashes, hash)
	if len(c.hashes) < few {
		return nil
	}
	if len(c.hashes) > full*len(c.buckets) {
		return c.grow(a)
	}
	return a.work(c.put(hash))
}

// grow puts all keys into twice as many buckets.
func (c *crowd) grow(a *account) error {
	c.buckets = make([]int64, max(few, 2*len(c.buckets)))
	sum := int64(0)
	for _, hash := range c.hashes {
		sum += c.put(hash)
	}
	return a.work(sum)
}

// put gives what it costs to put a key into its bucket beyond what is usual.
func (c *crowd) put(hash uint32) int64 {
	there := &c.buckets[hash&uint32(len(c.buckets)-1)]
	*there++
	return costMeeting * max(0, *there-usual)
}

// crowded charges for keys that come into a table at once: the elements of lists, or
// what stands first in those that are pairs.
func (r *run) crowded(lists []starlark.Value) error {
	if len(lists) == 1 && starlark.Len(lists[0]) < few && starlark.Len(lists[0]) >= 0 {
		return nil
	}
	var elements, firsts crowd
	for _, list := range lists {
		iterable, ok := list.(starlark.Iterable)
		if !ok {
			continue
		}
		for v := range starlark.Elements(iterable) {
			if err := elements.join(&r.account, v); err != nil {
				return err
			}
			pair, ok := v.(starlark.Indexable)
			if !ok || pair.Len() != 2 {
				continue
			}
			if err := firsts.join(&r.account, pair.Index(0)); err != nil {
				return err
			}
		}
	}
	return nil
}
