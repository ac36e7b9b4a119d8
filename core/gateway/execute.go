package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/schema"
	"github.com/toolscout/toolscout/core/upstream"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/audit"
)

// execute runs a real tool inside the inner chain. Access is decided there, by the
// hook, so that every attempt goes the same way.
func (g *Gateway) execute(ctx context.Context, t task) (json.RawMessage, error) {
	args, err := read[struct {
		ToolID string          `json:"tool_id"`
		Params json.RawMessage `json:"params"`
	}](t.outer.Args)
	if err != nil {
		return nil, err
	}
	r, err := g.resolve(ctx, t, args.ToolID)
	if err != nil {
		return nil, err
	}
	audit.Note(t.outer, r.tool, r.server)
	r.name(t.outer)
	inner := &hooks.Call{RequestID: t.request.ID, Level: hooks.Tool, Via: t.Via, Action: t.Action,
		Principal: t.request.Principal, Tool: r.tool, Server: r.server,
		Original: orEmpty(args.Params), Args: orEmpty(args.Params)}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.server.Timeout, g.config.Timeout))
	defer cancel()
	var answer json.RawMessage
	ended := g.announce(ctx, inner, r.access != core.Invisible)
	err = g.through(ctx, t.configured, inner, func(ctx context.Context, inner *hooks.Call) error {
		err := g.forward(ctx, t, inner)
		answer = inner.Result
		return err
	})
	ended()
	audit.HeedInner(t.outer, inner)
	t.outer.Adopt(inner)
	if err != nil {
		return nil, r.failure(err, args.ToolID, inner)
	}
	*t.executed = executed{tool: r.tool.Name, server: r.server.Name, duration: inner.Duration, answer: answer}
	return inner.Result, nil
}

// failure is an error of the inner chain as the caller sees it.
func (r resolved) failure(err error, ref string, inner *hooks.Call) error {
	if r.access == core.Invisible && !inner.Sent {
		return r.refuse(ref) // whatever went wrong: only what exists can fail
	}
	var told *core.Error
	if !errors.As(err, &told) || told.ToolID != "" || r.access == core.Invisible {
		return err
	}
	named := *told
	named.ToolID = r.tool.ID
	return &named
}

// forward is the inside of the inner chain: check what the hooks left, and send it.
func (g *Gateway) forward(ctx context.Context, t task, inner *hooks.Call) error {
	in, faults := schema.DecodeObject(inner.Args)
	if len(faults) == 0 {
		var unchecked string
		if faults, unchecked = g.schemas.Of(inner.Tool.SchemaHash, inner.Tool.InputSchema).Check(in); unchecked != "" {
			inner.Warn("the arguments were not checked against the tool's input schema: " + unchecked)
		}
	}
	if len(faults) > 0 {
		return invalid(inner.Tool.Name, faults, inner.Tool.InputSchema)
	}
	res, err := g.config.Pool.Call(ctx, upstream.Call{Server: inner.Server, Tool: inner.Tool.OriginName, Args: inner.Args,
		Caller:      upstream.Caller{UserID: inner.Principal.UserID, SessionID: t.SessionID},
		InputSchema: inner.Tool.InputSchema, Progress: t.Progress})
	inner.Sent = res.Sent
	if err != nil {
		g.relist(inner.Server.ID, err)
		return err
	}
	says, err := saysError(res.Raw)
	if err != nil {
		return core.Errorf(core.UpstreamError, "%s answered with something that is not a result; the call has run", inner.Server.Name).Because(err)
	}
	inner.Result, inner.IsError = res.Raw, says
	return nil
}

// The JSON-RPC codes with which servers refuse a tool that they do not have.
const (
	methodNotFound = -32601
	invalidParams  = -32602
)

// relist has the catalog brought up to date when a server may have lost a tool.
func (g *Gateway) relist(serverID string, err error) {
	var rpc *upstream.RPCError
	if g.config.Relist != nil && errors.As(err, &rpc) && (rpc.Code == methodNotFound || rpc.Code == invalidParams) {
		g.config.Relist(serverID)
	}
}

// executed is what a result's _meta says of how it came about.
type executed struct {
	tool, server string
	duration     time.Duration
	// answer is the server's own, which needs no second look.
	answer json.RawMessage
}

// stamp adds our members to the _meta of a CallToolResult, whatever hooks made of it.
func (e executed) stamp(result json.RawMessage, call *hooks.Call) (json.RawMessage, error) {
	if !same(result, e.answer) && !json.Valid(result) {
		return nil, core.Errorf(core.Internal, "hooks left a result that is not JSON")
	}
	meta := struct {
		Server     string   `json:"toolscout/server,omitempty"`
		Tool       string   `json:"toolscout/tool,omitempty"`
		RequestID  string   `json:"toolscout/requestId"`
		DurationMs float64  `json:"toolscout/durationMs"`
		Warnings   []string `json:"toolscout/warnings,omitempty"`
	}{e.server, e.tool, call.RequestID, float64(e.duration.Microseconds()) / 1000, call.Warnings}
	raw, err := core.EncodeJSON(meta)
	if err != nil {
		return nil, err
	}
	members := inside(raw)
	if len(call.Meta) > 0 {
		more, err := core.EncodeJSON(prefixed(call.Meta))
		if err != nil {
			return nil, err
		}
		members = append(append(members, ','), inside(more)...)
	}
	stamped, err := splice(result, members)
	if err != nil {
		return nil, core.Errorf(core.Internal, "hooks left a result that is not an object").Because(err)
	}
	return stamped, nil
}

// inside is the inside of an object.
func inside(raw []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimPrefix(raw, []byte("{")), []byte("}"))
}

// prefixed are members with the prefix of ours.
func prefixed(meta map[string]any) map[string]any {
	out := make(map[string]any, len(meta))
	for name, value := range meta {
		out[ours+name] = value
	}
	return out
}

// same reports whether two results are one, not just alike.
func same(a, b []byte) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }
