package events

// Dropped is how many events were given up: announcements without a place, and what
// the database refused.
func (b *Bus) Dropped() int64 { return b.dropped.Load() }
