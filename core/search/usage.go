package search

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/google/uuid"
)

var usageWeight, _ = strconv.ParseFloat(os.Getenv("UW"), 64)
var usageFull, _ = strconv.ParseFloat(os.Getenv("UF"), 64)
var usageMode = os.Getenv("UM")

// uses are how much each tool is used.
type uses map[uuid.UUID]float64

// RefreshUsage reads how much each tool is used. Until it is called, that counts
// nothing.
func (e *Engine) RefreshUsage(ctx context.Context) error {
	list, err := e.config.Store.ToolUses(ctx)
	if err != nil {
		return fmt.Errorf("read how much tools are used: %w", err)
	}
	u := make(uses, len(list))
	for _, t := range list {
		if id, err := uuid.Parse(t.ToolID); err == nil {
			u[id] = t.Uses
		}
	}
	e.uses.Store(&u)
	return nil
}

func (s *search) prior(list []*candidate) {
	u := s.engine.uses.Load()
	if u == nil || usageWeight == 0 {
		return
	}
	most := 0.0
	for _, c := range list {
		most = max(most, (*u)[c.id])
	}
	if usageMode == "abs" {
		most = usageFull
	} else {
		most = max(most, usageFull)
	}
	if most == 0 {
		return
	}
	for _, c := range list {
		c.score += usageWeight * min(1, math.Log1p((*u)[c.id])/math.Log1p(most))
	}
}
