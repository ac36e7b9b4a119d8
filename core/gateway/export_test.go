package gateway

import (
	"encoding/json"

	"github.com/toolscout/toolscout/core"
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

// Check holds arguments against a schema: the faults, and why it could not.
func Check(schema, args string) ([]core.Fault, string) {
	in, faults := decode(json.RawMessage(args))
	if len(faults) > 0 {
		return faults, ""
	}
	return compileSchema(json.RawMessage(schema)).check(in)
}

// Checker compiles a schema once.
func Checker(schema string) func(args json.RawMessage) []core.Fault {
	s := compileSchema(json.RawMessage(schema))
	return func(args json.RawMessage) []core.Fault {
		in, faults := decode(args)
		if len(faults) == 0 {
			faults, _ = s.check(in)
		}
		return faults
	}
}

// Bus is what the gateway was made with.
func (g *Gateway) Bus() *events.Bus { return g.config.Events }

// Announced announces a call that begins and ends.
func (g *Gateway) Announced(c *hooks.Call) { g.announce(c, true)() }
