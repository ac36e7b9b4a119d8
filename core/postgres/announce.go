package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

// What is announced in the transaction that makes it true.

// announce stores events within a transaction. It is the last that happens there
// but for notices and what needs no further lock (lockEvents).
func announce(ctx context.Context, tx pgx.Tx, events ...core.Event) error {
	if len(events) == 0 {
		return nil
	}
	stored := make([]Event, len(events))
	for i, e := range events {
		stored[i] = NewEvent(e)
	}
	var last int64
	if err := tx.SendBatch(ctx, eventBatch(stored, &last)).Close(); err != nil {
		return fmt.Errorf("announce: %w", err)
	}
	return nil
}

// configChanged are audit rows of changes as events. They are about no server,
// since only admins and whoever made the change may know of it.
func configChanged(entries []core.AuditEntry) []core.Event {
	events := make([]core.Event, len(entries))
	for i, e := range entries {
		events[i] = core.Event{Type: core.EventConfigChanged, Subject: or(e.ServerName, e.Action), TenantID: e.TenantID,
			UserID: e.ActorID, Time: e.Time, Data: eventData(struct {
				RequestID string `json:"requestId,omitempty"`
				AuditID   string `json:"auditId"`
				Action    string `json:"action"`
				Actor     string `json:"actor,omitempty"`
				Agent     string `json:"agent,omitempty"`
				ServerID  string `json:"serverId,omitempty"`
				Server    string `json:"server,omitempty"`
			}{e.RequestID, e.ID, e.Action, e.Actor, e.Agent, e.ServerID, e.ServerName})}
	}
	return events
}

func toolsChanged(server core.Server, diff ToolDiff) core.Event {
	return core.Event{Type: core.EventToolsChanged, Subject: server.Name, TenantID: server.TenantID, ServerID: server.ID,
		Data: eventData(struct {
			ServerID string `json:"serverId"`
			Server   string `json:"server"`
			Changed  int    `json:"changed"` // new ones among them
			Removed  int    `json:"removed"`
		}{server.ID, server.Name, len(diff.Upsert), len(diff.Remove)})}
}

// healthChanged is the event of a server that has come into another state, if that
// is one to tell of. After a restart, and on another instance, it comes into the
// same state again: that begins later.
func healthChanged(server core.Server, before, h core.Health) []core.Event {
	if before.State == h.State && !h.Since.After(before.Since) {
		return nil
	}
	e := core.Event{Subject: server.Name, TenantID: server.TenantID, ServerID: server.ID}
	switch h.State {
	case core.Healthy:
		e.Type = core.EventServerUp
	case core.Unstable, core.Down, core.Misconfigured:
		e.Type = core.EventServerFailed
	default:
		return nil
	}
	e.Data = eventData(struct {
		ServerID string           `json:"serverId"`
		Server   string           `json:"server"`
		State    core.HealthState `json:"state"`
		Stage    string           `json:"stage,omitempty"`
		Message  string           `json:"message,omitempty"`
	}{server.ID, server.Name, h.State, h.Stage, h.Message})
	return []core.Event{e}
}

// eventData is what an event says, made of texts and numbers.
func eventData(v any) json.RawMessage {
	raw, err := core.EncodeJSON(v)
	if err != nil {
		panic(err)
	}
	return raw
}
