package postgres

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

// ToolFilter narrows down a list of tools. Servers is the allowed set: no tool of
// another server is ever given. Domain "" means all.
type ToolFilter struct {
	Servers []string
	Domain  string
}

// toolQuery reads tools that are there into core.Tool; conditions follow.
const toolQuery = `
	select t.id, t.server_id, t.name, t.origin_name, t.title, t.description, coalesce(t.domain, s.domain) as domain,
	       t.input_schema, t.output_schema, t.annotations, t.definition, t.schema_hash, t.signature, t.warnings
	from mcp_server_tools t join mcp_servers s on s.id = t.server_id
	where t.removed_at is null`

func (s *Store) tools(ctx context.Context, op, query string, args ...any) ([]core.Tool, error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, wrap(op, err)
	}
	tools, err := pgx.CollectRows(rows, pgx.RowToStructByName[core.Tool])
	return tools, wrap(op, err)
}

// Tool gives one tool. NotFound when there is none, or none any more.
func (s *Store) Tool(ctx context.Context, id string) (core.Tool, error) {
	if err := checkID("tool", id); err != nil {
		return core.Tool{}, err
	}
	tools, err := s.tools(ctx, "read tool", toolQuery+` and t.id = $1`, id)
	if err != nil {
		return core.Tool{}, err
	}
	if len(tools) == 0 {
		return core.Tool{}, notFound("tool")
	}
	return tools[0], nil
}

// ToolsNamed gives the tools that are exposed under exactly this name, of any
// server, by id.
func (s *Store) ToolsNamed(ctx context.Context, name string) ([]core.Tool, error) {
	return s.tools(ctx, "read tools by name", toolQuery+` and t.name = $1 order by t.id`, clean(name))
}

// ToolsByID gives those of these tools that there are. What cannot be an id is
// none.
func (s *Store) ToolsByID(ctx context.Context, toolIDs []string) (map[string]core.Tool, error) {
	tools, err := s.tools(ctx, "read tools", toolQuery+` and t.id = any($1)`, uuids(toolIDs))
	if err != nil {
		return nil, err
	}
	byID := make(map[string]core.Tool, len(tools))
	for _, t := range tools {
		byID[t.ID] = t
	}
	return byID, nil
}

// ServerTools gives all tools of a server by name. An unknown server has none.
func (s *Store) ServerTools(ctx context.Context, serverID string) ([]core.Tool, error) {
	return s.tools(ctx, "read tools of server", toolQuery+` and t.server_id = any($1) order by t.name, t.id`, uuids([]string{serverID}))
}

// ToolPage lists tools by name. It is planned for the values it gets: whether the
// order by name or the allowed servers narrow more depends on how many they are.
func (s *Store) ToolPage(ctx context.Context, f ToolFilter, p core.Page) (core.List[core.Tool], error) {
	after, err := readCursor(p.Cursor)
	if err != nil {
		return core.List[core.Tool]{}, err
	}
	tools, err := s.tools(ctx, "list tools", toolQuery+`
		and t.server_id = any(@servers)
		and (@domain = '' or coalesce(t.domain, s.domain) = @domain)
		and (@after_id = '' or (t.name, t.id) > (@after_name, nullif(@after_id, '')::uuid))
		order by t.name, t.id limit @limit`, pgx.QueryExecModeCacheDescribe, pgx.StrictNamedArgs{
		"servers": uuids(f.Servers), "domain": clean(f.Domain),
		"after_id": after.ID, "after_name": after.Key, "limit": limit(p) + 1})
	if err != nil {
		return core.List[core.Tool]{}, err
	}
	return page(tools, limit(p), func(t core.Tool) cursor { return cursor{Key: t.Name, ID: t.ID} }), nil
}

// ToolDiff is what is to change about the tools of a server. Upsert holds new and
// changed tools, known by their original names: one that comes back under its old
// name gets its old id. The Domain of a tool counts when it differs from its
// server's; empty is the server's. Remove holds ids.
type ToolDiff struct {
	Upsert []core.Tool
	Remove []string
	// Version is that of the server's configuration from which the difference was
	// made; 0 for any.
	Version int64
}

// ApplyTools changes the tools of a server and gives the catalog's revision
// afterwards. A removed tool is gone from every list and from search at once. An
// empty difference changes nothing. NotFound when there is no such server, Conflict
// when its configuration has another version than the difference was made from.
func (s *Store) ApplyTools(ctx context.Context, serverID string, diff ToolDiff) (int64, error) {
	if err := checkID("server", serverID); err != nil {
		return 0, err
	}
	var catalog int64
	err := s.tx(ctx, "apply tools", func(tx pgx.Tx) error {
		next, err := lockCatalog(ctx, tx)
		if err != nil {
			return err
		}
		var server core.Server
		err = tx.QueryRow(ctx, `select id, tenant_id, name, domain, version from mcp_servers where id = $1 for key share`, serverID).
			Scan(&server.ID, &server.TenantID, &server.Name, &server.Domain, &server.Version)
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("server")
		}
		if err != nil {
			return err
		}
		if diff.Version != 0 && diff.Version != server.Version {
			return core.Errorf(core.Conflict, "the server %q was changed meanwhile", server.Name)
		}
		if len(diff.Upsert) == 0 && len(diff.Remove) == 0 {
			catalog = next - 1
			return nil
		}
		if err := upsertTools(ctx, tx, next, server, diff.Upsert); err != nil {
			return err
		}
		if err := removeTools(ctx, tx, next, server.ID, diff.Remove); err != nil {
			return err
		}
		catalog = next
		if err := announce(ctx, tx, toolsChanged(server, diff)); err != nil {
			return err
		}
		return publishCatalog(ctx, tx, next)
	})
	return catalog, err
}

func upsertTools(ctx context.Context, tx pgx.Tx, next int64, server core.Server, tools []core.Tool) error {
	if len(tools) == 0 {
		return nil
	}
	var c toolArrays
	names, domains := map[string]bool{}, map[string]bool{}
	for _, t := range tools {
		if names[clean(t.OriginName)] {
			return core.Errorf(core.InvalidParams, "the server has two tools named %q", t.OriginName)
		}
		names[clean(t.OriginName)] = true
		if t.Domain == server.Domain {
			t.Domain = ""
		}
		domains[t.Domain] = true
		c.add(t, TextHash(t, server.Name))
	}
	delete(domains, "")
	for domain := range domains {
		if err := ensureDomain(ctx, tx, server.TenantID, clean(domain)); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `
		insert into mcp_server_tools (server_id, revision, id, name, origin_name, title, description, domain, input_schema,
			output_schema, annotations, definition, schema_hash, signature, warnings, text_hash)
		select $1, $2, u.id, u.name, u.origin_name, u.title, u.description, nullif(u.domain, ''), u.input_schema,
			u.output_schema, u.annotations, u.definition, u.schema_hash, u.signature,
			array(select json_array_elements_text(u.warnings)), u.text_hash
		from unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::json[], $10::json[],
			$11::json[], $12::json[], $13::text[], $14::text[], $15::json[], $16::bytea[])
			as u (id, name, origin_name, title, description, domain, input_schema, output_schema, annotations,
				definition, schema_hash, signature, warnings, text_hash)
		on conflict (server_id, origin_name) do update set
			name = excluded.name, title = excluded.title, description = excluded.description, domain = excluded.domain,
			input_schema = excluded.input_schema, output_schema = excluded.output_schema,
			annotations = excluded.annotations, definition = excluded.definition, schema_hash = excluded.schema_hash,
			signature = excluded.signature, warnings = excluded.warnings, text_hash = excluded.text_hash,
			seen_definition = null, seen_hash = null, seen_at = now(),
			revision = excluded.revision, updated_at = now(), removed_at = null`,
		append([]any{server.ID, next}, c.args()...)...)
	if err != nil {
		return err
	}
	// By the server on both sides, or all vectors there are would be read.
	_, err = tx.Exec(ctx, `
		update tool_embeddings e set domain = t.domain from mcp_server_tools t
		where t.id = e.tool_id and t.server_id = $1 and e.server_id = $1 and e.domain is distinct from t.domain`, server.ID)
	if err != nil {
		return err
	}
	return countTools(ctx, tx, server.ID)
}

func removeTools(ctx context.Context, tx pgx.Tx, next int64, serverID string, remove []string) error {
	if len(remove) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		update mcp_server_tools set removed_at = now(), updated_at = now(), revision = $1
		where server_id = $2 and id = any($3) and removed_at is null`, next, serverID, uuids(remove))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		delete from tool_embeddings e using mcp_server_tools t
		where t.id = e.tool_id and t.server_id = $1 and t.id = any($2)`, serverID, uuids(remove))
	if err != nil {
		return err
	}
	return countTools(ctx, tx, serverID)
}

func countTools(ctx context.Context, tx pgx.Tx, serverID string) error {
	_, err := tx.Exec(ctx, `
		update mcp_servers set tool_count =
			(select count(*) from mcp_server_tools where server_id = $1 and removed_at is null)
		where id = $1`, serverID)
	return err
}

// toolArrays are tools by column, as unnest takes them.
type toolArrays struct {
	ids, names, originNames, titles, descriptions, domains, hashes, signatures []string
	inputs, outputs, annotations, definitions, warnings                        []*string
	textHashes                                                                 [][]byte
}

func (c *toolArrays) add(t core.Tool, textHash []byte) {
	if t.ID == "" {
		t.ID = newID()
	}
	if len(t.Definition) == 0 {
		t.Definition = json.RawMessage("{}")
	}
	warnings, err := json.Marshal(cleanAll(t.Warnings))
	if err != nil {
		panic(err) // strings
	}
	c.ids = append(c.ids, t.ID)
	c.names = append(c.names, clean(t.Name))
	c.originNames = append(c.originNames, clean(t.OriginName))
	c.titles = append(c.titles, clean(t.Title))
	c.descriptions = append(c.descriptions, clean(t.Description))
	c.domains = append(c.domains, clean(t.Domain))
	c.hashes = append(c.hashes, clean(t.SchemaHash))
	c.signatures = append(c.signatures, clean(t.Signature))
	c.inputs = append(c.inputs, document(t.InputSchema))
	c.outputs = append(c.outputs, document(t.OutputSchema))
	c.annotations = append(c.annotations, document(t.Annotations))
	c.definitions = append(c.definitions, document(t.Definition))
	c.warnings = append(c.warnings, document(warnings))
	c.textHashes = append(c.textHashes, textHash)
}

func (c *toolArrays) args() []any {
	return []any{c.ids, c.names, c.originNames, c.titles, c.descriptions, c.domains, c.inputs, c.outputs,
		c.annotations, c.definitions, c.hashes, c.signatures, c.warnings, c.textHashes}
}
