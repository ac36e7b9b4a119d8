package search

import (
	"context"
	"fmt"
	"math"

	"github.com/google/uuid"
)

const (
	// usageWeight is what use is worth at most, against 1 for the best score: enough
	// between tools that fit about as well, and for twins on several servers, too little
	// for one that fits worse. Twice as much cost tools that nobody had used yet .004 of
	// NDCG@10 (docs/search.md).
	usageWeight = .03
	// muchUse is the use, as Store.ToolUses counts it, that counts in full where no
	// candidate has more: three people who ran it on a few days each.
	muchUse = 3
)

// uses are how much each tool is used.
type uses map[uuid.UUID]float64

// RefreshUsage reads how much each tool is used: searches place a tool that is used a
// little higher from then on. Until it is called use counts nothing.
func (e *Engine) RefreshUsage(ctx context.Context) error {
	list, err := e.config.Store.ToolUses(ctx)
	if err != nil {
		return fmt.Errorf("read how much tools are used: %w", err)
	}
	u := make(uses, len(list))
	for _, t := range list {
		// The audit holds whatever was asked for, so an id need not be one.
		if id, err := uuid.Parse(t.ToolID); err == nil {
			u[id] = t.Uses
		}
	}
	e.uses.Store(&u)
	return nil
}

// used adds to each score what use is worth, as the logarithm of it against that of
// the candidate which is used most: what the caller may not see makes no difference.
func (s *search) used(list []*candidate) {
	u := s.engine.uses.Load()
	if u == nil {
		return
	}
	most := float64(muchUse)
	for _, c := range list {
		most = max(most, (*u)[c.id])
	}
	for _, c := range list {
		c.score += usageWeight * math.Log1p((*u)[c.id]) / math.Log1p(most)
	}
}
