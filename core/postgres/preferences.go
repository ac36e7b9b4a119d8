package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

// SetPreference replaces how a server is switched for a user: grant and switch.
// NotFound when one of the two is not in the tenant of by.
func (s *Store) SetPreference(ctx context.Context, by core.AuditEntry, userID, serverID string, p core.Preference) error {
	return s.prefer(ctx, by, userID, serverID, `
		insert into user_mcp_preferences (user_id, server_id, granted, enabled) values ($1, $2, $3, $4)
		on conflict (user_id, server_id) do update
		set granted = excluded.granted, enabled = excluded.enabled, updated_at = now()`, p.Granted, p.Enabled)
}

// SetEnabled sets the switch alone, as users do for themselves: a grant that an
// admin gives or takes at the same moment is not undone.
func (s *Store) SetEnabled(ctx context.Context, by core.AuditEntry, userID, serverID string, enabled bool) error {
	return s.prefer(ctx, by, userID, serverID, `
		insert into user_mcp_preferences (user_id, server_id, enabled) values ($1, $2, $3)
		on conflict (user_id, server_id) do update set enabled = excluded.enabled, updated_at = now()`, enabled)
}

func (s *Store) prefer(ctx context.Context, by core.AuditEntry, userID, serverID, query string, values ...any) error {
	if err := checkID("user", userID); err != nil {
		return err
	}
	if err := checkID("server", serverID); err != nil {
		return err
	}
	return s.tx(ctx, "set preference", func(tx pgx.Tx) error {
		var userName string
		err := tx.QueryRow(ctx, `update users set revision = revision + 1 where tenant_id = $1 and id = $2 returning name`,
			tenant(by.TenantID), userID).Scan(&userName)
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("user")
		}
		if err != nil {
			return err
		}
		server := core.Server{ID: serverID}
		err = tx.QueryRow(ctx, `select name from mcp_servers where tenant_id = $1 and id = $2 for key share`,
			tenant(by.TenantID), serverID).Scan(&server.Name)
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("server")
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, query, append([]any{userID, serverID}, values...)...); err != nil {
			return err
		}
		by = about(by, server)
		if len(by.Details) == 0 {
			by.Details = detail("userId", userID, "userName", userName)
		}
		if err := record(ctx, tx, by); err != nil {
			return err
		}
		return notify(ctx, tx, "user "+userID)
	})
}

// Preferences gives what a user has switched, by server, and a revision of the
// user that it is at least as new as. NotFound when there is no such user.
func (s *Store) Preferences(ctx context.Context, userID string) (map[string]core.Preference, int64, error) {
	if err := checkID("user", userID); err != nil {
		return nil, 0, err
	}
	var revision int64
	preferences := map[string]core.Preference{}
	var batch pgx.Batch
	// The number first: each statement sees what is committed when it starts.
	batch.Queue(`select revision from users where id = $1`, userID).QueryRow(func(row pgx.Row) error {
		return row.Scan(&revision)
	})
	batch.Queue(`select server_id, granted, enabled from user_mcp_preferences where user_id = $1`, userID).Query(
		func(rows pgx.Rows) error {
			var id string
			var p core.Preference
			_, err := pgx.ForEachRow(rows, []any{&id, &p.Granted, &p.Enabled}, func() error {
				preferences[id] = p
				return nil
			})
			return err
		})
	err := s.pool.SendBatch(ctx, &batch).Close()
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, 0, notFound("user")
	}
	if err != nil {
		return nil, 0, wrap("read preferences", err)
	}
	return preferences, revision, nil
}
