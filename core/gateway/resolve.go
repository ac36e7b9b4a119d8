package gateway

import (
	"context"
	"errors"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	hookaccess "github.com/toolscout/toolscout/hooks/access"
)

// resolved is a tool that was asked for, with what the caller is to it.
type resolved struct {
	tool   *core.Tool
	server *core.Server
	access core.Access
}

// name tells the hooks of the outer chain which tool a call is about, if the caller
// can see it.
func (r resolved) name(outer *hooks.Call) {
	if r.access != core.Invisible {
		outer.Tool, outer.Server = r.tool, r.server
	}
}

// foresee names the tool that a call is going to be about before its outer chain is
// put together, where hooks of servers wait there. What hooks do to tool_id does not
// change the chain. Only what is not known now could be known later: that is an error.
func (g *Gateway) foresee(ctx context.Context, act action, t task) error {
	if !act.ofTool || !t.configured.OfServers() {
		return nil
	}
	args, err := read[struct {
		ToolID string `json:"tool_id"`
	}](t.outer.Args)
	if err != nil || args.ToolID == "" {
		return nil // which the action says, in the chain
	}
	ctx, cancel := context.WithTimeout(ctx, g.config.Timeout)
	defer cancel()
	if t.view, err = g.config.Access.View(ctx, t.request.Principal); err != nil {
		return err
	}
	r, err := g.resolve(ctx, t, args.ToolID)
	if errors.Is(err, core.NotFound) || errors.Is(err, core.Conflict) {
		return nil
	}
	r.name(t.outer)
	return err
}

// resolve finds a tool by its id, whatever the caller is to it, or by an exposed
// name among those the caller can see: NotFound, or Conflict with the candidates.
func (g *Gateway) resolve(ctx context.Context, t task, ref string) (resolved, error) {
	tools, err := g.tools.find(ctx, ref, max(t.view.Catalog(), t.request.Principal.Seen.Catalog))
	if err != nil {
		return resolved{}, err
	}
	if len(tools) == 1 && tools[0].ID == ref {
		return g.resolveServer(ctx, t, tools[0], ref)
	}
	var seen, on []*core.Tool
	for _, tool := range tools {
		switch t.view.Access(tool.ServerID) {
		case core.On:
			on = append(on, tool)
			seen = append(seen, tool)
		case core.Off:
			seen = append(seen, tool)
		}
	}
	// A name that several servers have is that of the one which is switched on.
	if len(on) == 1 {
		seen = on
	}
	switch len(seen) {
	case 0:
		return resolved{}, hookaccess.NoTool(ref)
	case 1:
		return g.resolveServer(ctx, t, seen[0], ref)
	}
	e := core.Errorf(core.Conflict, "%d of your tools are called %q", len(seen), ref).WithHint("use one of the ids")
	for _, tool := range seen {
		e.Candidates = append(e.Candidates, tool.ID)
	}
	return resolved{}, e
}

func (g *Gateway) resolveServer(ctx context.Context, t task, tool *core.Tool, ref string) (resolved, error) {
	server, err := g.config.Access.Server(ctx, tool.ServerID, t.request.Principal.Seen.Catalog)
	if errors.Is(err, core.NotFound) {
		return resolved{}, hookaccess.NoTool(ref)
	}
	if err != nil {
		return resolved{}, err
	}
	return resolved{tool, server, t.view.Access(server.ID)}, nil
}

// refuse is what follows from the access to a tool that was asked for by ref, nil
// when it is on. What cannot be seen is told in the same words as what is not there.
func (r resolved) refuse(ref string) *core.Error {
	if r.access == core.Invisible {
		return hookaccess.NoTool(ref)
	}
	return hookaccess.Check(r.access, r.tool, r.server)
}
