package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

// ToolText is what an index needs of a tool.
type ToolText struct {
	core.Tool
	ServerName        string
	ServerDescription string
	// TextHash tells which text a vector was made of: see the function TextHash.
	TextHash []byte
	// Revision is the catalog's at the tool's last change.
	Revision int64
	// Removed: the tool is gone, and only ID and Revision are set.
	Removed bool
}

// toolTextColumns leave out what no index reads and what is large.
const toolTextColumns = `t.id, t.server_id, t.name, t.origin_name, t.title, t.description,
	coalesce(t.domain, s.domain) as domain, t.input_schema, null::json as output_schema, null::json as annotations,
	null::json as definition, t.schema_hash, t.signature, t.warnings, s.name as server_name,
	s.description as server_description, t.text_hash, t.revision, false as removed`

// ToolChanges gives the tools that changed after the catalog's revision since, in
// no particular order, and the revision up to which that is everything: pass it as
// since the next time, as long as it is below what is needed. A revision is given
// whole, so there may be more than limit of them. From 0 on, tools that are gone
// are left out. upTo is below since only when the database itself went back, as
// after a restore: start again from 0.
func (s *Store) ToolChanges(ctx context.Context, since int64, limit int) (changes []ToolText, upTo int64, err error) {
	// One statement sees one state of the database: where the counter says N,
	// every change up to N is there.
	err = s.pool.QueryRow(ctx, `
		with changed as (
			(select revision from mcp_server_tools where revision > $1 order by revision limit $2)
			union all
			(select revision from mcp_server_tools_gone where revision > $1 order by revision limit $2)
			order by revision limit $2)
		select case when count(*) < $2 then (select catalog from revision) else max(revision) end from changed`,
		since, max(limit, 1)).Scan(&upTo)
	if err != nil {
		return nil, 0, wrap("read tool changes", err)
	}
	if upTo <= since {
		return nil, upTo, nil
	}
	// What changes again in between is missed here and found beyond upTo.
	rows, err := s.pool.Query(ctx, `
		select `+toolTextColumns+`
		from mcp_server_tools t join mcp_servers s on s.id = t.server_id
		where t.revision > $1 and t.revision <= $2 and t.removed_at is null`, since, upTo)
	if err != nil {
		return nil, 0, wrap("read tool changes", err)
	}
	if changes, err = pgx.CollectRows(rows, pgx.RowToStructByName[ToolText]); err != nil {
		return nil, 0, wrap("read tool changes", err)
	}
	if since == 0 {
		return changes, upTo, nil
	}
	gone, err := s.removals(ctx, since, upTo)
	return append(changes, gone...), upTo, err
}

// Changed reports whether any tool of these servers was changed or removed after
// the catalog's revision since. Servers that are deleted have none.
func (s *Store) Changed(ctx context.Context, since int64, servers []string) (changed bool, err error) {
	err = s.pool.QueryRow(ctx, `
		select exists (
			select from unnest($2::uuid[]) as s,
			lateral (select from mcp_server_tools where server_id = s and revision > $1 limit 1) as t)`,
		pgx.QueryExecModeCacheDescribe, since, uuids(servers)).Scan(&changed)
	return changed, wrap("look for changed tools", err)
}

func (s *Store) removals(ctx context.Context, since, upTo int64) ([]ToolText, error) {
	rows, err := s.pool.Query(ctx, `
		select id, revision from mcp_server_tools where revision > $1 and revision <= $2 and removed_at is not null
		union all
		select id, revision from mcp_server_tools_gone where revision > $1 and revision <= $2`, since, upTo)
	if err != nil {
		return nil, wrap("read removed tools", err)
	}
	var gone []ToolText
	t := ToolText{Removed: true}
	_, err = pgx.ForEachRow(rows, []any{&t.ID, &t.Revision}, func() error {
		gone = append(gone, t)
		return nil
	})
	return gone, wrap("read removed tools", err)
}

// stampTools marks the tools of a server as changed, after the server's own name,
// description or domain did, and with them what their vectors are made of.
func stampTools(ctx context.Context, tx pgx.Tx, next int64, server core.Server) error {
	rows, err := tx.Query(ctx, `
		select id, name, title, description, input_schema from mcp_server_tools where server_id = $1 and removed_at is null`, server.ID)
	if err != nil {
		return fmt.Errorf("stamp tools: %w", err)
	}
	var toolIDs []string
	var hashes [][]byte
	var t core.Tool
	_, err = pgx.ForEachRow(rows, []any{&t.ID, &t.Name, &t.Title, &t.Description, &t.InputSchema}, func() error {
		toolIDs = append(toolIDs, t.ID)
		hashes = append(hashes, TextHash(t, server.Name))
		return nil
	})
	if err != nil {
		return fmt.Errorf("stamp tools: %w", err)
	}
	_, err = tx.Exec(ctx, `
		update mcp_server_tools t set revision = $1, text_hash = u.text_hash
		from unnest($2::uuid[], $3::bytea[]) as u (id, text_hash) where t.id = u.id`, next, toolIDs, hashes)
	if err != nil {
		return fmt.Errorf("stamp tools: %w", err)
	}
	return nil
}
