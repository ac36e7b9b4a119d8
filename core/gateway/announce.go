package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/audit"
)

// announced is what an event says of a call: no value of any argument or result.
type announced struct {
	RequestID string          `json:"requestId"`
	Action    string          `json:"action"`
	Agent     string          `json:"agent,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	ToolID    string          `json:"toolId,omitempty"`
	Server    string          `json:"server,omitempty"`
	ServerID  string          `json:"serverId,omitempty"`
	Args      json.RawMessage `json:"args,omitempty"` // by shape

	Outcome    core.Outcome `json:"outcome,omitempty"`
	ErrorKind  core.Kind    `json:"errorKind,omitempty"`
	DurationMs *float64     `json:"durationMs,omitempty"`
	IsError    bool         `json:"isError,omitempty"`
	// RejectedBy are the hooks that refused the call.
	RejectedBy []string `json:"rejectedBy,omitempty"`
}

// announce says that a call begins, before any hook sees it, and gives what says
// that it has ended. Nothing is done while nobody listens, and a call never waits
// for it. What the caller must not know of is not visible: such an event is
// nobody's, so that admins alone see it.
func (g *Gateway) announce(ctx context.Context, c *hooks.Call, visible bool) (ended func()) {
	listening := c.Principal.Seen.Listening && g.config.Events != nil
	began, before, after := time.Now(), core.EventMetaBefore, core.EventMetaAfter
	if c.Level == hooks.Tool {
		before, after = core.EventToolBefore, core.EventToolAfter
	}
	if listening {
		g.publish(before, c, visible, announcement(c))
	}
	return func() {
		handled := g.handlesRejection(c)
		if !listening && !handled {
			return
		}
		d := announcement(c)
		took := time.Since(began)
		if c.Level == hooks.Tool {
			took = c.Duration
		}
		d.end(c, took)
		rejected := c.Level == hooks.Tool && len(d.RejectedBy) > 0
		if rejected && listening {
			g.publish(core.EventToolRejected, c, visible, d)
		}
		if listening {
			g.publish(after, c, visible, d)
		}
		if rejected && handled {
			g.hand(ctx, c, visible, d)
		}
	}
}

// handlesRejection reports whether hooks wait for what a call may have become, a
// rejected one of a tool: the one event of calls at which no chain runs.
func (g *Gateway) handlesRejection(c *hooks.Call) bool {
	return c.Level == hooks.Tool && c.Err != nil && g.config.Hooks != nil && g.config.Hooks.Handles(core.EventToolRejected)
}

// hand gives a rejection to the hooks that wait for it.
func (g *Gateway) hand(ctx context.Context, c *hooks.Call, visible bool, d announced) {
	e, err := event(core.EventToolRejected, c, visible, d)
	if err != nil {
		g.config.Logger.Error("rejection not handed to hooks", "request_id", c.RequestID, "error", err)
		return
	}
	g.config.Hooks.Handle(context.WithoutCancel(ctx), e)
}

func announcement(c *hooks.Call) announced {
	d := announced{RequestID: c.RequestID, Action: clip(c.Action, 100), Agent: c.Principal.Agent, Args: audit.Shape(c.Args)}
	if c.Tool != nil {
		d.Tool, d.ToolID = c.Tool.Name, c.Tool.ID
	}
	if c.Server != nil {
		d.Server, d.ServerID = c.Server.Name, c.Server.ID
	}
	return d
}

func (d *announced) end(c *hooks.Call, took time.Duration) {
	ms := float64(took.Microseconds()) / 1000
	d.Outcome, d.DurationMs, d.IsError = core.OutcomeOf(c.Err), &ms, c.IsError
	switch {
	case c.Err != nil:
		d.ErrorKind = core.Public(c.Err).Kind
	case c.IsError:
		d.Outcome = core.OutcomeFailed
	}
	for _, e := range c.Effects {
		if e.Did == "reject" && e.Mode != hooks.Observe && !slices.Contains(d.RejectedBy, e.Hook) {
			d.RejectedBy = append(d.RejectedBy, e.Hook)
		}
	}
}

func (g *Gateway) publish(typ string, c *hooks.Call, visible bool, d announced) {
	e, err := event(typ, c, visible, d)
	if err != nil {
		g.config.Logger.Error("call not announced", "request_id", c.RequestID, "error", err)
		return
	}
	g.config.Events.Announce(e)
}

func event(typ string, c *hooks.Call, visible bool, d announced) (core.Event, error) {
	data, err := core.EncodeJSON(d)
	if err != nil {
		return core.Event{}, err
	}
	e := core.Event{Type: typ, Subject: clip(c.Name(), 500), TenantID: c.Principal.TenantID, Data: data}
	if visible {
		e.UserID = c.Principal.UserID
		e.ServerID = d.ServerID
	}
	return e, nil
}
