package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// HookFilter narrows down a list of hooks. A nil user or server does not narrow,
// an empty one means the hooks without any.
type HookFilter struct {
	TenantID string
	UserID   *string
	ServerID *string
	Type     string
}

// hookColumns are what scanHook reads.
const hookColumns = `id, tenant_id, coalesce(user_id::text, ''), coalesce(server_id::text, ''), name, type, level, events,
	pattern, servers, agents, mode, on_error, priority, timeout_ms, enabled, config, version, owned, disabled_at,
	disabled_reason, created_at, updated_at`

func scanHook(row pgx.CollectableRow) (hooks.Definition, error) {
	d := hooks.Definition{Origin: hooks.Origin{Kind: hooks.FromDatabase}}
	var timeout int64
	var disabled *time.Time
	err := row.Scan(&d.ID, &d.TenantID, &d.UserID, &d.ServerID, &d.Name, &d.Type, &d.Level, &d.Events,
		&d.Pattern, &d.Servers, &d.Agents, &d.Mode, &d.OnError, &d.Priority, &timeout, &d.Enabled, &d.Config, &d.Version, &d.Owned, &disabled,
		&d.DisabledReason, &d.CreatedAt, &d.UpdatedAt)
	if err != nil {
		return d, err
	}
	if d.Level == hooks.Both {
		d.Level = ""
	}
	d.Timeout = time.Duration(timeout) * time.Millisecond
	if disabled != nil {
		d.DisabledAt = *disabled
	}
	return d, nil
}

// Hooks gives every hook of every tenant, in no order, and a revision that they are
// at least as new as.
func (s *Store) Hooks(ctx context.Context) ([]hooks.Definition, int64, error) {
	var revision int64
	var all []hooks.Definition
	var batch pgx.Batch
	// The number first: each statement sees what is committed when it starts.
	batch.Queue(`select hooks from revision`).QueryRow(func(row pgx.Row) error { return row.Scan(&revision) })
	batch.Queue(`select ` + hookColumns + ` from mcp_hooks`).Query(func(rows pgx.Rows) (err error) {
		all, err = pgx.CollectRows(rows, scanHook)
		return err
	})
	if err := s.pool.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, 0, wrap("read hooks", err)
	}
	return all, revision, nil
}

// HookPage lists a tenant's hooks by name.
func (s *Store) HookPage(ctx context.Context, f HookFilter, p core.Page) (core.List[hooks.Definition], error) {
	after, err := readCursor(p.Cursor)
	if err != nil {
		return core.List[hooks.Definition]{}, err
	}
	rows, err := s.pool.Query(ctx, `
		select `+hookColumns+` from mcp_hooks
		where tenant_id = @tenant
		  and (@user::text is null or coalesce(user_id::text, '') = lower(@user))
		  and (@server::text is null or coalesce(server_id::text, '') = lower(@server))
		  and (@type = '' or type = @type)
		  and (@after_id = '' or (name, id) > (@after_name, nullif(@after_id, '')::uuid))
		order by name, id limit @limit`, pgx.StrictNamedArgs{
		"tenant": tenant(f.TenantID), "user": cleanOptional(f.UserID), "server": cleanOptional(f.ServerID), "type": clean(f.Type),
		"after_id": after.ID, "after_name": after.Key, "limit": limit(p) + 1})
	if err != nil {
		return core.List[hooks.Definition]{}, wrap("list hooks", err)
	}
	list, err := pgx.CollectRows(rows, scanHook)
	if err != nil {
		return core.List[hooks.Definition]{}, wrap("list hooks", err)
	}
	return page(list, limit(p), func(d hooks.Definition) cursor { return cursor{Key: d.Name, ID: d.ID} }), nil
}

func cleanOptional(s *string) *string {
	if s == nil {
		return nil
	}
	text := clean(*s)
	return &text
}

// Hook gives one hook. NotFound when there is none in the tenant.
func (s *Store) Hook(ctx context.Context, tenantID, id string) (hooks.Definition, error) {
	if err := checkID("hook", id); err != nil {
		return hooks.Definition{}, err
	}
	rows, err := s.pool.Query(ctx, `select `+hookColumns+` from mcp_hooks where tenant_id = $1 and id = $2`, tenant(tenantID), id)
	if err != nil {
		return hooks.Definition{}, wrap("read hook", err)
	}
	d, err := oneHook(rows)
	return d, wrap("read hook", err)
}

func oneHook(rows pgx.Rows) (hooks.Definition, error) {
	d, err := pgx.CollectExactlyOneRow(rows, scanHook)
	if errors.Is(err, pgx.ErrNoRows) {
		return hooks.Definition{}, notFound("hook")
	}
	return d, err
}
