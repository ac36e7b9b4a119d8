package pgtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"
	pgxvector "github.com/pgvector/pgvector-go/pgx"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
)

// Server is a server to be loaded, with its tools and a vector for each.
type Server struct {
	Name    string
	Tools   []core.Tool
	Vectors [][]float32
}

// Load puts servers into an empty database by COPY, which is how a benchmark gets
// hundreds of thousands of tools in seconds, and gives their ids.
func Load(ctx context.Context, url string, modelID int64, servers []Server) ([]string, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["search_path"] = "toolscout, public"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := pgxvector.RegisterTypes(ctx, conn); err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, `insert into domains (tenant_id, id, name) values ($1, $2, $2) on conflict do nothing`,
		core.DefaultTenant, postgres.DefaultDomain)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(servers))
	var rows, tools, vectors [][]any
	for i, s := range servers {
		ids[i] = uuid.Must(uuid.NewV7()).String()
		rows = append(rows, []any{ids[i], core.DefaultTenant, s.Name, postgres.DefaultDomain, "http", "http://127.0.0.1/mcp",
			"visible", "shared", "active", "api", map[string]string{"state": "healthy"}, len(s.Tools)})
		for k, t := range s.Tools {
			id, hash := uuid.Must(uuid.NewV7()).String(), postgres.TextHash(t, s.Name)
			tools = append(tools, []any{id, ids[i], t.Name, t.OriginName, t.Description, string(t.InputSchema),
				json.RawMessage("{}"), t.SchemaHash, t.Signature, hash, i + 1})
			vectors = append(vectors, []any{id, modelID, ids[i], hash, pgvector.NewHalfVector(s.Vectors[k])})
		}
	}
	for _, c := range []struct {
		table   string
		columns []string
		rows    [][]any
	}{
		{"mcp_servers", []string{"id", "tenant_id", "name", "domain", "transport", "url", "visibility", "isolation", "status",
			"origin", "health", "tool_count"}, rows},
		{"mcp_server_tools", []string{"id", "server_id", "name", "origin_name", "description", "input_schema", "definition",
			"schema_hash", "signature", "text_hash", "revision"}, tools},
		{"tool_embeddings", []string{"tool_id", "model_id", "server_id", "text_hash", "emb"}, vectors},
	} {
		for part := range slices.Chunk(c.rows, 50_000) {
			if _, err := conn.CopyFrom(ctx, pgx.Identifier{c.table}, c.columns, pgx.CopyFromRows(part)); err != nil {
				return nil, fmt.Errorf("load %s: %w", c.table, err)
			}
		}
	}
	if _, err := conn.Exec(ctx, `update revision set catalog = $1`, len(servers)); err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, `analyze mcp_servers, mcp_server_tools, tool_embeddings`)
	return ids, err
}
