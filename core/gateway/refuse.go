package gateway

import (
	"context"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// Refuse sends a call through the outer chain that failed before Call could be
// asked: one whose arguments could not be read, say. So it leaves its row in the
// audit as well. It returns err, or what the chain makes of it.
func (g *Gateway) Refuse(ctx context.Context, req core.Request, c Call, err error) error {
	configured := g.configured(ctx, req.Principal)
	defer configured.Release()
	call := g.outer(req, &c)
	defer call.End(context.WithoutCancel(ctx))
	defer g.announce(ctx, call, true)()
	return g.through(ctx, configured, call, func(context.Context, *hooks.Call) error { return err })
}
