package gateway

import (
	"context"

	"github.com/toolscout/toolscout/core/events"
	"github.com/toolscout/toolscout/hooks"
)

// What the tests of package gateway_test look at from outside.
var (
	Splice       = splice
	Summary      = summary
	SentenceOf   = sentenceOf
	MetaToolsFor = metaTools
)

// ReadsIsError reports what a CallToolResult says of itself.
func ReadsIsError(raw []byte) bool {
	says, err := saysError(raw)
	return err == nil && says
}

// Bus is what the gateway was made with.
func (g *Gateway) Bus() *events.Bus { return g.config.Events }

// Announced announces a call that begins and ends.
func (g *Gateway) Announced(c *hooks.Call) { g.announce(context.Background(), c, true)() }
