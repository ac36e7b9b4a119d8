package gateway

import (
	"context"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
)

// Explanation is which hooks the calls of somebody go through.
type Explanation struct {
	User   Named        `json:"user"`
	Agent  string       `json:"agent,omitempty"`
	Tool   *NamedAccess `json:"tool,omitempty"`
	Server *Named       `json:"server,omitempty"`
	hookset.Explanation
}

// Named is something with its name.
type Named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// NamedAccess is a tool with what it is to somebody: on, off or invisible.
type NamedAccess struct {
	Named
	Access string `json:"access"`
}

// Effective explains the chains that calls of p go through, and, unless ref is
// empty, those of calls of a tool: ref is an id, or a name that p can see. What is
// configured is at least as new as what req has seen.
func (g *Gateway) Effective(ctx context.Context, req core.Request, p core.Principal, ref string) (Explanation, error) {
	p.Seen.Catalog, p.Seen.Hooks = max(p.Seen.Catalog, req.Principal.Seen.Catalog), max(p.Seen.Hooks, req.Principal.Seen.Hooks)
	x := Explanation{User: Named{p.UserID, p.UserName}, Agent: p.Agent,
		Explanation: hookset.Explanation{Outer: []hookset.Explained{}, Inner: []hookset.Explained{}, Skipped: []hookset.Explained{}}}
	var r resolved
	if ref != "" {
		view, err := g.config.Access.View(ctx, p)
		if err != nil {
			return Explanation{}, err
		}
		if r, err = g.resolve(ctx, task{request: core.Request{ID: req.ID, Principal: p}, view: view}, ref); err != nil {
			return Explanation{}, err
		}
		x.Tool = &NamedAccess{Named{r.tool.ID, r.tool.Name}, r.access.String()}
		x.Server = &Named{r.server.ID, r.server.Name}
	}
	if g.config.Hooks != nil {
		var err error
		outer := &hooks.Call{Level: hooks.Meta, Action: ExecuteTool, Principal: p}
		r.name(outer)
		inner := &hooks.Call{Level: hooks.Tool, Action: ExecuteTool, Principal: p, Tool: r.tool, Server: r.server}
		if x.Explanation, err = g.config.Hooks.Effective(ctx, outer, inner); err != nil {
			return Explanation{}, err
		}
	}
	x.Outer = append(g.builtIn(hooks.Meta), x.Outer...)
	if r.tool != nil {
		x.Inner = append(g.builtIn(hooks.Tool), x.Inner...)
	}
	return x, nil
}

// builtIn are the hooks that no configuration takes away.
func (g *Gateway) builtIn(level hooks.Level) []hookset.Explained {
	var list []hookset.Explained
	for _, e := range hooks.Compile(g.always, &hooks.Call{Level: level}) {
		ex := hookset.Explain(e)
		ex.Origin = hooks.Origin{Kind: hooks.BuiltIn}
		list = append(list, ex)
	}
	return list
}
