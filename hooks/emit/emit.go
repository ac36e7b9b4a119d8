// Package emit is the hook that tells others of calls: after each it publishes an
// event on a channel that the team names.
package emit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/audit"
)

// Publisher takes an event.
type Publisher func(context.Context, core.Event) error

// Config holds what the hook needs of the bus.
type Config struct {
	// Publish queues an event; PublishSync returns when it is stored.
	Publish, PublishSync Publisher
}

// part is how much of arguments or result an event tells.
type part string

const (
	none   part = "none"
	shape  part = "shape"
	values part = "values"
)

// settings are the configuration of one hook.
type settings struct {
	Channel   string `json:"channel"`
	Arguments part   `json:"arguments"`
	Result    part   `json:"result"`
	Wait      bool   `json:"wait"`
}

const schema = `{
  "type": "object",
  "additionalProperties": false,
  "required": ["channel"],
  "properties": {
    "channel": {"type": "string", "pattern": "^[a-z][a-z0-9_.:-]{0,99}$", "description": "the type of the events, a name of your own such as billing:used"},
    "arguments": {"enum": ["none", "shape", "values"], "default": "shape", "description": "how the arguments are told: not at all, by types and lengths, or as they are, without what looks like a secret by its name"},
    "result": {"enum": ["none", "shape", "values"], "default": "none", "description": "how the result is told, in the same words"},
    "wait": {"type": "boolean", "default": false, "description": "the answer waits until the event is stored"}
  }
}`

// Type is the type event_emit.
func Type(c Config) hooks.Type {
	return hooks.Type{
		Name:        "event_emit",
		Description: "Publishes an event after each call: tool, outcome, timing and, if wanted, arguments and result.",
		Events:      []hooks.Event{hooks.MetaAfter, hooks.ToolAfter},
		Level:       hooks.Tool,
		OnError:     hooks.Ignore,
		Priority:    300,
		Inline:      true,
		Schema:      json.RawMessage(schema),
		New: func(in hooks.Instance) (hooks.Hook, error) {
			s := settings{Arguments: shape, Result: none}
			if err := json.Unmarshal(in.Config, &s); err != nil {
				return nil, core.Errorf(core.InvalidParams, "the configuration of event_emit: %v", err)
			}
			if err := core.CheckEventType(s.Channel); err != nil {
				e := *core.Public(err)
				e.Faults = []core.Fault{{Pointer: "/channel", Message: e.Message}}
				return nil, &e
			}
			publish := c.Publish
			if s.Wait {
				publish = c.PublishSync
			}
			return &emitter{settings: s, publish: publish}, nil
		},
	}
}

type emitter struct {
	settings
	publish Publisher
}

// Before has nothing to do.
func (*emitter) Before(context.Context, *hooks.Call) error { return nil }

// data is what an event says of a call.
type data struct {
	RequestID  string          `json:"requestId"`
	Level      hooks.Level     `json:"level"`
	Action     string          `json:"action"`
	Tool       string          `json:"tool,omitempty"`
	ToolID     string          `json:"toolId,omitempty"`
	Server     string          `json:"server,omitempty"`
	User       string          `json:"user"`
	Agent      string          `json:"agent,omitempty"`
	Outcome    core.Outcome    `json:"outcome"`
	ErrorKind  core.Kind       `json:"errorKind,omitempty"`
	DurationMs float64         `json:"durationMs"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
}

// After publishes. In observe mode it leaves a note instead.
func (e *emitter) After(ctx context.Context, c *hooks.Call) error {
	if c.Observing() {
		c.Note("event", e.Channel)
		return nil
	}
	event, err := e.event(c)
	if err != nil {
		return err
	}
	return e.publish(ctx, event)
}

func (e *emitter) event(c *hooks.Call) (core.Event, error) {
	d := data{RequestID: c.RequestID, Level: c.Level, Action: c.Action, User: c.Principal.UserName, Agent: c.Principal.Agent,
		Outcome: core.OutcomeOf(c.Err), DurationMs: float64(c.Duration.Microseconds()) / 1000,
		Arguments: e.Arguments.of(c.Args), Result: e.settings.Result.of(c.Result)}
	event := core.Event{Time: time.Now(), Type: e.Channel, Subject: c.Name(), TenantID: c.Principal.TenantID, UserID: c.Principal.UserID}
	if c.Tool != nil {
		d.Tool, d.ToolID = c.Tool.Name, c.Tool.ID
	}
	if c.Server != nil {
		d.Server, event.ServerID = c.Server.Name, c.Server.ID
	}
	switch {
	case c.Err != nil:
		d.ErrorKind = core.Public(c.Err).Kind
	case c.IsError:
		d.Outcome = core.OutcomeFailed
	}
	var err error
	if event.Data, err = core.EncodeJSON(d); err != nil {
		return event, fmt.Errorf("tell of a call on %q: %w", e.Channel, err)
	}
	return event, nil
}

// of tells JSON the way p says. Both ways are bounded: what is too long is told by
// its length.
func (p part) of(text json.RawMessage) json.RawMessage {
	switch p {
	case shape:
		return audit.Shape(text)
	case values:
		return audit.Values(text)
	}
	return nil
}
