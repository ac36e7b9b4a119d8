package hookset

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/hooks"
)

// noteTimeout bounds what is written about a hook that nobody waits for.
const noteTimeout = 30 * time.Second

// disabled says everywhere that a hook is not used any more. A call is waiting, so
// it happens beside it.
func (s *Set) disabled(e *hooks.Entry, cause *core.Error) {
	in := s.current.Load().byKey[e.ID]
	s.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), noteTimeout)
		defer cancel()
		first, err := s.recordDisabled(ctx, e, cause.Message)
		if err != nil {
			s.log.Error("record that a hook is disabled", "hook", e.Name, "hook_id", e.ID, "err", err)
		} else if !first {
			return // another instance has told
		}
		event := core.Event{Time: time.Now(), Type: core.EventHookDisabled, Subject: e.Name, TenantID: core.DefaultTenant,
			Data: data(map[string]any{"id": e.ID, "type": e.Type, "reason": cause.Message})}
		if in != nil && in.definition.TenantID != "" {
			event.TenantID = in.definition.TenantID
		}
		if in != nil && in.definition.Owned {
			event.UserID = in.definition.UserID
		}
		s.announce(ctx, event)
	})
}

// recordDisabled marks a row, for all instances, or leaves an audit row of a hook
// that has no row. It reports whether this is the first to be heard of it.
func (s *Set) recordDisabled(ctx context.Context, e *hooks.Entry, reason string) (first bool, err error) {
	switch {
	case s.config.Store == nil:
		return true, nil
	case e.Origin.Kind == hooks.FromDatabase:
		return s.config.Store.DisableHook(ctx, e.ID, e.Version, reason)
	}
	return true, s.config.Store.AppendAudit(ctx, []core.AuditEntry{{Time: time.Now(), TenantID: core.DefaultTenant, Level: core.LevelConfig,
		Action: postgres.ActionDisableHook, Outcome: core.OutcomeOK, Details: data(map[string]any{"hookId": e.ID, "hook": e.Name, "reason": reason})}}, nil)
}

// announce publishes an event about hooks. It is in the log as well, so that
// nothing more than that is to be done when it cannot be published.
func (s *Set) announce(ctx context.Context, e core.Event) {
	if err := s.config.Publish(ctx, e); err != nil {
		s.log.Error("publish an event", "type", e.Type, "subject", e.Subject, "err", err)
	}
}

// data encodes what always can be.
func data(members map[string]any) json.RawMessage {
	raw, err := core.EncodeJSON(members)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return raw
}
