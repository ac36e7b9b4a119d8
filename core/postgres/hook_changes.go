package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// MaxOwnHooks is how many hooks a user may have of their own.
const MaxOwnHooks = 50

// ActionDisableHook is the action of the audit entry that a hook leaves when its
// own failure disables it.
const ActionDisableHook = "hook.disable"

// CreateHook stores a hook. Conflict when the name is taken in its scope, and when
// a user has as many of their own as they may; InvalidParams for what cannot be.
func (s *Store) CreateHook(ctx context.Context, by core.AuditEntry, d hooks.Definition) (hooks.Definition, error) {
	var created hooks.Definition
	err := s.changeHooks(ctx, "create hook", func(tx pgx.Tx) error {
		if err := checkScope(ctx, tx, d); err != nil {
			return err
		}
		if err := checkOwnHooks(ctx, tx, d); err != nil {
			return err
		}
		args := hookArgs(d)
		args["id"], args["tenant"], args["owned"] = newID(), tenant(d.TenantID), d.Owned
		rows, err := tx.Query(ctx, `
			insert into mcp_hooks (id, tenant_id, owned, user_id, server_id, name, type, level, events, pattern, servers, agents,
				mode, on_error, priority, timeout_ms, enabled, config)
			values (@id, @tenant, @owned, nullif(@user, '')::uuid, nullif(@server, '')::uuid, @name, @type, @level, @events, @pattern,
				@servers, @agents, @mode, @on_error, @priority, @timeout, @enabled, @config)
			returning `+hookColumns, args)
		if err != nil {
			return err
		}
		if created, err = oneHook(rows); err != nil {
			return err
		}
		return recordHook(ctx, tx, by, created)
	})
	return created, err
}

// UpdateHook replaces the hook with this id, whoever made it staying the same. Its
// version grows, and gives a hook that was disabled another chance. Version, unless
// 0, must be the current one: Conflict otherwise.
func (s *Store) UpdateHook(ctx context.Context, by core.AuditEntry, d hooks.Definition) (hooks.Definition, error) {
	if err := checkID("hook", d.ID); err != nil {
		return hooks.Definition{}, err
	}
	var updated hooks.Definition
	err := s.changeHooks(ctx, "update hook", func(tx pgx.Tx) error {
		stored, err := lockHook(ctx, tx, d.TenantID, d.ID)
		if err != nil {
			return err
		}
		if d.Version != 0 && d.Version != stored.Version {
			return core.Errorf(core.Conflict, "the hook %q was changed meanwhile", stored.Name).
				WithHint("read it again and repeat the change")
		}
		if err := checkScope(ctx, tx, d); err != nil {
			return err
		}
		args := hookArgs(d)
		args["id"] = stored.ID
		rows, err := tx.Query(ctx, `
			update mcp_hooks set user_id = nullif(@user, '')::uuid, server_id = nullif(@server, '')::uuid, name = @name,
				type = @type, level = @level, events = @events, pattern = @pattern, servers = @servers, agents = @agents,
				mode = @mode, on_error = @on_error, priority = @priority, timeout_ms = @timeout, enabled = @enabled,
				config = @config, version = version + 1, disabled_at = null, disabled_reason = '', updated_at = now()
			where id = @id returning `+hookColumns, args)
		if err != nil {
			return err
		}
		if updated, err = oneHook(rows); err != nil {
			return err
		}
		return recordHook(ctx, tx, by, updated)
	})
	return updated, err
}

// DeleteHook deletes a hook. NotFound when there is none.
func (s *Store) DeleteHook(ctx context.Context, by core.AuditEntry, tenantID, id string) error {
	if err := checkID("hook", id); err != nil {
		return err
	}
	return s.changeHooks(ctx, "delete hook", func(tx pgx.Tx) error {
		stored, err := lockHook(ctx, tx, tenantID, id)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from mcp_hooks where id = $1`, id); err != nil {
			return err
		}
		return recordHook(ctx, tx, by, stored)
	})
}

// DisableHook marks a hook as disabled by its own failure, and leaves one audit
// row of it however many instances find out at once: one of them is told that it
// was the first. It does nothing for a hook that is gone, was edited since version,
// or is disabled already.
func (s *Store) DisableHook(ctx context.Context, id string, version int64, reason string) (first bool, err error) {
	if err := checkID("hook", id); err != nil {
		return false, err
	}
	err = s.changeHooks(ctx, "disable hook", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			update mcp_hooks set disabled_at = now(), disabled_reason = $3
			where id = $1 and version = $2 and disabled_at is null returning `+hookColumns, id, version, clean(reason))
		if err != nil {
			return err
		}
		disabled, err := oneHook(rows)
		if errors.Is(err, core.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		by := core.AuditEntry{TenantID: disabled.TenantID, Level: core.LevelConfig, Action: ActionDisableHook, ServerID: disabled.ServerID,
			Details: detail("hookId", disabled.ID, "hook", disabled.Name, "userId", disabled.UserID, "reason", disabled.DisabledReason)}
		first = true
		return record(ctx, tx, by)
	})
	return first && err == nil, err
}

// changeHooks runs a change of hooks. The number comes first: its row is the lock
// that everybody takes before any other (lockCatalog), so that numbers become
// visible in order.
func (s *Store) changeHooks(ctx context.Context, op string, change func(pgx.Tx) error) error {
	return s.tx(ctx, op, func(tx pgx.Tx) error {
		if err := publishHooks(ctx, tx); err != nil {
			return err
		}
		return change(tx)
	})
}

// publishHooks gives the hooks their next number, which counts from the commit on.
func publishHooks(ctx context.Context, tx pgx.Tx) error {
	var next int64
	if err := tx.QueryRow(ctx, `update revision set hooks = hooks + 1 returning hooks`).Scan(&next); err != nil {
		return fmt.Errorf("publish hooks: %w", err)
	}
	return notify(ctx, tx, fmt.Sprintf("hooks %d", next))
}

// dropHooks deletes the hooks that match a condition. The schema would do it as
// well, but tell nobody.
func dropHooks(ctx context.Context, tx pgx.Tx, condition, id string) error {
	dropped, err := tx.Exec(ctx, `delete from mcp_hooks where `+condition, id)
	if err != nil {
		return fmt.Errorf("drop hooks: %w", err)
	}
	if dropped.RowsAffected() == 0 {
		return nil
	}
	return publishHooks(ctx, tx)
}

func lockHook(ctx context.Context, tx pgx.Tx, tenantID, id string) (hooks.Definition, error) {
	rows, err := tx.Query(ctx, `select `+hookColumns+` from mcp_hooks where tenant_id = $1 and id = $2 for update`, tenant(tenantID), id)
	if err != nil {
		return hooks.Definition{}, err
	}
	return oneHook(rows)
}

// checkScope refuses a user or server that is not in the hook's tenant.
func checkScope(ctx context.Context, tx pgx.Tx, d hooks.Definition) error {
	for _, of := range []struct{ what, id, query string }{
		{"user", d.UserID, `select exists (select from users where tenant_id = $1 and id = $2)`},
		{"server", d.ServerID, `select exists (select from mcp_servers where tenant_id = $1 and id = $2)`},
	} {
		exists := of.id == ""
		if !exists && isID(of.id) {
			if err := tx.QueryRow(ctx, of.query, tenant(d.TenantID), of.id).Scan(&exists); err != nil {
				return fmt.Errorf("look up the %s of a hook: %w", of.what, err)
			}
		}
		if !exists {
			e := core.Errorf(core.InvalidParams, "there is no such %s", of.what)
			e.Faults = []core.Fault{{Pointer: "/" + of.what + "Id", Message: e.Message}}
			return e
		}
	}
	return nil
}

// checkOwnHooks is a Conflict when a user has no place for another hook of their
// own. Changes of hooks happen one after the other, so that the count is true.
func checkOwnHooks(ctx context.Context, tx pgx.Tx, d hooks.Definition) error {
	if !d.Owned || !isID(d.UserID) {
		return nil
	}
	var n int
	if err := tx.QueryRow(ctx, `select count(*) from mcp_hooks where user_id = $1 and owned`, d.UserID).Scan(&n); err != nil {
		return fmt.Errorf("count hooks: %w", err)
	}
	if n < MaxOwnHooks {
		return nil
	}
	return core.Errorf(core.Conflict, "you have %d hooks, and there is place for %d", n, MaxOwnHooks).WithHint("delete one first")
}

func hookArgs(d hooks.Definition) pgx.StrictNamedArgs {
	if d.Level == "" {
		d.Level = hooks.Both
	}
	events := make([]string, len(d.Events))
	for i, e := range d.Events {
		events[i] = clean(string(e))
	}
	config := document(d.Config)
	if config == nil {
		empty := "{}"
		config = &empty
	}
	// Whole milliseconds, and never 0 for what was more.
	timeout := (d.Timeout + time.Millisecond - 1).Milliseconds()
	return pgx.StrictNamedArgs{
		"user": clean(d.UserID), "server": clean(d.ServerID), "name": clean(d.Name), "type": clean(d.Type), "level": d.Level,
		"events": events, "pattern": clean(d.Pattern), "servers": cleanAll(d.Servers), "agents": cleanAll(d.Agents),
		"mode": or(d.Mode, hooks.Enforce), "on_error": or(d.OnError, hooks.Fail), "priority": d.Priority, "timeout": timeout,
		"enabled": d.Enabled, "config": *config,
	}
}

// recordHook audits a change of a hook, with its id beside what whoever called says.
func recordHook(ctx context.Context, tx pgx.Tx, by core.AuditEntry, d hooks.Definition) error {
	by.ID = ""
	if by.ServerID == "" {
		by.ServerID = d.ServerID
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(by.Details, &members) != nil || len(members) == 0 {
		by.Details = detail("hookId", d.ID, "hook", d.Name, "type", d.Type, "userId", d.UserID)
		return record(ctx, tx, by)
	}
	members["hookId"] = json.RawMessage(`"` + d.ID + `"`)
	var err error
	if by.Details, err = core.EncodeJSON(members); err != nil {
		return fmt.Errorf("record change: %w", err)
	}
	return record(ctx, tx, by)
}
