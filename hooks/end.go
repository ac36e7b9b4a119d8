package hooks

import (
	"context"
	"slices"
)

// AtEnd has f run when the call is over: all chains have been left, and what the
// call's Result and Err are then is what the caller gets. f may still warn and set
// Meta. It is how a hook leaves something behind, such as a copy of the result, only
// if nobody further out withheld or changed what it did.
//
// What a hook asks for counts as its edits do: not after it failed, and not in
// observe or background mode. f bounds its own time. What was asked for last, further
// out, is done first.
func (c *Call) AtEnd(f func(ctx context.Context, c *Call)) { c.ends = append(c.ends, f) }

// End runs what AtEnd asked for. Whoever runs the outermost chain calls it.
func (c *Call) End(ctx context.Context) {
	ends := c.ends
	c.ends = nil
	for _, f := range slices.Backward(ends) {
		f(ctx, c)
	}
}

// Adopt takes over from the call in the chain further in, once that has been left,
// what outlives the chain: whether it was sent and what hooks said and did.
func (c *Call) Adopt(inner *Call) {
	c.Sent, c.IsError = inner.Sent, inner.IsError
	c.Warnings = append(c.Warnings, inner.Warnings...)
	c.Effects = append(c.Effects, inner.Effects...)
	c.ends = append(c.ends, inner.ends...)
	for name, value := range inner.Meta {
		c.SetMeta(name, value)
	}
}
