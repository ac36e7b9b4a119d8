package postgres

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"
)

// ApplyExtras makes a server's resources and prompts those that are given, each as
// the server sent it. What is so already is not written again. NotFound when there
// is no such server.
func (s *Store) ApplyExtras(ctx context.Context, serverID string, resources, prompts []json.RawMessage) error {
	if err := checkID("server", serverID); err != nil {
		return err
	}
	return s.tx(ctx, "apply resources and prompts", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `select 1 from mcp_servers where id = $1 for no key update`, serverID)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return notFound("server")
		}
		if err := replaceDocuments(ctx, tx, "mcp_server_resources", serverID, resources); err != nil {
			return err
		}
		return replaceDocuments(ctx, tx, "mcp_server_prompts", serverID, prompts)
	})
}

func replaceDocuments(ctx context.Context, tx pgx.Tx, table, serverID string, documents []json.RawMessage) error {
	rows, err := tx.Query(ctx, `select definition::text from `+table+` where server_id = $1 order by position`, serverID)
	if err != nil {
		return err
	}
	stored, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	wanted := make([]string, 0, len(documents))
	for _, d := range documents {
		if text := document(d); text != nil {
			wanted = append(wanted, *text)
		}
	}
	if slices.Equal(stored, wanted) {
		return nil
	}
	if _, err := tx.Exec(ctx, `delete from `+table+` where server_id = $1`, serverID); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		insert into `+table+` (server_id, position, definition)
		select $1, u.position, u.definition from unnest($2::json[]) with ordinality as u (definition, position)`,
		serverID, wanted)
	return err
}
