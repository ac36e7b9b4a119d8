package gateway

import (
	"context"
	"errors"

	"github.com/toolscout/toolscout/core"
	hookaccess "github.com/toolscout/toolscout/hooks/access"
)

// resolved is a tool that was asked for, with what the caller is to it.
type resolved struct {
	tool   *core.Tool
	server *core.Server
	access core.Access
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
