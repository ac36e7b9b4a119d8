// Package access is the hook that decides whether a caller may do what it asks.
// It runs on both chains right inside the audit, fails closed and cannot be
// switched off: on the meta level it wants to know who calls, on the tool level
// it applies the one access rule (core.AccessTo) to the real server.
//
// Configured hooks of the type access_control stand inside it, and deny more.
package access

import (
	"context"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// Rule says what a principal is to a server, from data at least as new as the
// principal's. An error closes.
type Rule func(ctx context.Context, p core.Principal, serverID string) (core.Access, error)

// New makes the entry of the hook.
func New(rule Rule) hooks.Entry {
	return hooks.Entry{Name: "access_control", Type: "access_control", Priority: hooks.Guard, OnError: hooks.Fail,
		Events: []hooks.Event{hooks.MetaBefore, hooks.ToolBefore}, Inline: true, Hook: guard{rule}}
}

type guard struct{ rule Rule }

// Before lets through what the rule calls on.
func (g guard) Before(ctx context.Context, c *hooks.Call) error {
	if c.Principal.UserID == "" || c.Principal.TenantID == "" {
		return hooks.Reject(core.Unauthenticated, "nobody is logged in")
	}
	if c.Level != hooks.Tool {
		return nil
	}
	if c.Server == nil || c.Tool == nil || c.Tool.ServerID != c.Server.ID {
		return hooks.Reject(core.Internal, "internal error")
	}
	a, err := g.rule(ctx, c.Principal, c.Server.ID)
	if err != nil {
		return err
	}
	if refusal := Check(a, c.Tool, c.Server); refusal != nil {
		return &hooks.Rejection{Err: refusal}
	}
	return nil
}

// After has nothing to do.
func (guard) After(context.Context, *hooks.Call) error { return nil }

// Check turns an access into the refusal that follows from it, nil for On.
func Check(a core.Access, t *core.Tool, s *core.Server) *core.Error {
	switch a {
	case core.On:
		return nil
	case core.Off:
		return SwitchedOff(t, s)
	default:
		return NoTool(t.ID)
	}
}

// NoTool is the refusal of a tool that does not exist and of one that the caller
// may not see: nothing tells the two apart.
func NoTool(ref string) *core.Error {
	const longest = 200
	if len(ref) > longest {
		ref = ref[:longest]
	}
	return core.Errorf(core.NotFound, "there is no tool %q", ref).
		WithHint("find tools with discover_tools")
}

// SwitchedOff is the refusal of a tool whose server the user switched off.
func SwitchedOff(t *core.Tool, s *core.Server) *core.Error {
	e := ServerOff(s)
	e.ToolID = t.ID
	return e
}

// ServerOff is the refusal of a server that the user switched off.
func ServerOff(s *core.Server) *core.Error {
	return core.Errorf(core.Denied, "the server %q is switched off for you", s.Name).
		WithHint(`switch it on with PUT /v1/servers/%s/preference {"enabled": true}`, s.ID)
}
