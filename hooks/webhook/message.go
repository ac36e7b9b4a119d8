package webhook

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/audit"
)

// half is one of the two moments of a call.
type half string

const (
	before half = "before"
	after  half = "after"
)

// message is what is posted: of a call all but subject and data, of an event
// outside calls those and little else.
type message struct {
	Type string    `json:"type"`
	ID   string    `json:"id"`
	Time time.Time `json:"time"`

	RequestID  string          `json:"requestId,omitempty"`
	Level      hooks.Level     `json:"level,omitempty"`
	Action     string          `json:"action,omitempty"`
	Tool       string          `json:"tool,omitempty"`
	ToolID     string          `json:"toolId,omitempty"`
	Server     string          `json:"server,omitempty"`
	ServerID   string          `json:"serverId,omitempty"`
	User       string          `json:"user,omitempty"`
	UserID     string          `json:"userId,omitempty"`
	Agent      string          `json:"agent,omitempty"`
	Args       json.RawMessage `json:"args,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	IsError    *bool           `json:"isError,omitempty"`
	DurationMs *float64        `json:"durationMs,omitempty"`
	Error      *failure        `json:"error,omitempty"`

	Subject string          `json:"subject,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// failure is how a call failed.
type failure struct {
	Kind    core.Kind `json:"kind"`
	Message string    `json:"message"`
}

// call is the message of a call, with its id.
func (h *hook) call(c *hooks.Call, half half) (id string, body []byte, err error) {
	m := message{Type: string(c.Level) + ":" + string(half), ID: "msg_" + uuid.NewString(), Time: time.Now().UTC(),
		RequestID: c.RequestID, Level: c.Level, Action: c.Action, User: c.Principal.UserName, UserID: c.Principal.UserID,
		Agent: c.Principal.Agent, Args: h.config.Send.Args.of(c.Args)}
	if c.Tool != nil {
		m.Tool, m.ToolID = c.Tool.Name, c.Tool.ID
	}
	if c.Server != nil {
		m.Server, m.ServerID = c.Server.Name, c.Server.ID
	}
	if half == after {
		took := float64(c.Duration.Microseconds()) / 1000
		m.Result, m.IsError, m.DurationMs = h.config.Send.Result.of(c.Result), &c.IsError, &took
		if c.Err != nil {
			public := core.Public(c.Err)
			m.Error = &failure{public.Kind, public.Message}
		}
	}
	body, err = h.encode(m)
	return m.ID, body, err
}

// event is the message of an event outside calls. Every instance that tells of a
// stored event gives the same id, by which a receiver knows it again.
func (h *hook) event(e core.Event) (id string, body []byte, err error) {
	m := message{Type: e.Type, ID: fmt.Sprintf("evt_%d", e.ID), Time: e.Time.UTC(), Subject: e.Subject,
		UserID: e.UserID, ServerID: e.ServerID, Data: e.Data}
	if e.ID == 0 {
		m.ID = "evt_" + uuid.NewString()
	}
	body, err = h.encode(m)
	return m.ID, body, err
}

// encode refuses what is too large rather than leave something out: a receiver that
// guards must not be made blind by padding.
func (h *hook) encode(m message) ([]byte, error) {
	body, err := core.EncodeJSON(m)
	if err != nil {
		return nil, fmt.Errorf("encode a message for the webhook: %w", err)
	}
	if len(body) > h.config.MaxBodyBytes {
		return nil, core.Errorf(core.HookRejected, "the call is too large for its webhook: %d bytes, at most %d",
			len(body), h.config.MaxBodyBytes)
	}
	return body, nil
}

// of is JSON as far as it may go along.
func (d detail) of(raw json.RawMessage) json.RawMessage {
	switch {
	case len(raw) == 0 || d == none:
		return nil
	case d == values:
		return raw
	default:
		return audit.Shape(raw)
	}
}
