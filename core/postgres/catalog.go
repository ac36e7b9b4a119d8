package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Rows are locked in one order by everybody, so that nobody waits in a circle:
// the catalog, users, servers, then whatever hangs on those.

// lockCatalog begins a change of servers or tools: it makes others wait until
// this transaction ends, and gives the number that this change will have.
func lockCatalog(ctx context.Context, tx pgx.Tx) (next int64, err error) {
	err = tx.QueryRow(ctx, `select catalog + 1 from revision for update`).Scan(&next)
	if err != nil {
		return 0, fmt.Errorf("lock catalog: %w", err)
	}
	return next, nil
}

// publishCatalog ends a change: the number counts from the commit on.
func publishCatalog(ctx context.Context, tx pgx.Tx, next int64) error {
	if _, err := tx.Exec(ctx, `update revision set catalog = $1`, next); err != nil {
		return fmt.Errorf("publish catalog: %w", err)
	}
	return notify(ctx, tx, fmt.Sprintf("catalog %d", next))
}

// notify tells every instance that listens, once the transaction has committed.
// Nothing depends on its arrival: it only makes refreshes earlier.
func notify(ctx context.Context, tx pgx.Tx, payload string) error {
	if _, err := tx.Exec(ctx, `select pg_notify('toolscout', $1)`, payload); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

// buryTools leaves a mark for every tool of the servers that match a condition
// and are about to be deleted, so that followers learn of it. Marks of a day ago
// have been read by everybody who is going to.
func buryTools(ctx context.Context, tx pgx.Tx, next int64, condition string, args ...any) error {
	_, err := tx.Exec(ctx, `
		insert into mcp_server_tools_gone (id, revision)
		select t.id, $1 from mcp_server_tools t
		where t.server_id in (select id from mcp_servers where `+condition+`)`, append([]any{next}, args...)...)
	if err != nil {
		return fmt.Errorf("bury tools: %w", err)
	}
	if _, err := tx.Exec(ctx, `delete from mcp_server_tools_gone where gone_at < now() - interval '1 day'`); err != nil {
		return fmt.Errorf("bury tools: %w", err)
	}
	return nil
}
