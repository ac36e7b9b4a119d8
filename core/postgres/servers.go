package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

// ActionReconcile is the action of audit entries for what the configuration file
// declares. Only under it may a server of the file be changed.
const ActionReconcile = "reconcile"

// DefaultDomain is the domain of servers that name none.
const DefaultDomain = "general"

// ServerFilter narrows down a list of servers. Query is looked for in name and
// description; an empty field does not narrow.
type ServerFilter struct {
	TenantID string
	Query    string
	Status   core.Status
}

// serverColumns name the fields of core.Server, so that a row is read into it.
const serverColumns = `id, tenant_id, name, description, domain, transport, url, command, args, env, headers, prefix,
	allowed_tools, blocked_tools, required_roles, agent_allowlist, tags, visibility,
	coalesce(owner_id::text, '') as owner_id, isolation, timeout_ms * 1000000 as timeout, status, origin, era, tool_count,
	health, created_at, updated_at, version`

// CreateServer registers a server. What is left empty gets its default: active,
// visible, shared, from the API, in the domain general. Conflict when the name is
// taken, InvalidParams for what cannot be.
func (s *Store) CreateServer(ctx context.Context, by core.AuditEntry, server core.Server) (core.Server, error) {
	var created core.Server
	err := s.tx(ctx, "create server", func(tx pgx.Tx) error {
		next, err := lockCatalog(ctx, tx)
		if err != nil {
			return err
		}
		if created, err = insertServer(ctx, tx, normalise(server)); err != nil {
			return err
		}
		if err := record(ctx, tx, about(by, created)); err != nil {
			return err
		}
		return publishCatalog(ctx, tx, next)
	})
	return created, err
}

// UpdateServer replaces the configuration of the server with this id; what was
// observed stays. Its version grows when anything changes, and Version, unless 0,
// must be the current one: Conflict otherwise, and for a server of the file.
func (s *Store) UpdateServer(ctx context.Context, by core.AuditEntry, server core.Server) (core.Server, error) {
	if err := checkID("server", server.ID); err != nil {
		return core.Server{}, err
	}
	var updated core.Server
	err := s.tx(ctx, "update server", func(tx pgx.Tx) error {
		next, err := lockCatalog(ctx, tx)
		if err != nil {
			return err
		}
		stored, err := lockServer(ctx, tx, server.TenantID, server.ID)
		if err != nil {
			return err
		}
		if err := checkEditable(by, stored); err != nil {
			return err
		}
		if server.Version != 0 && server.Version != stored.Version {
			return core.Errorf(core.Conflict, "the server %q was changed meanwhile", stored.Name).
				WithHint("read it again and repeat the change")
		}
		server.Origin = stored.Origin
		changed := false
		if updated, changed, err = replaceServer(ctx, tx, next, stored, normalise(server)); err != nil {
			return err
		}
		if err := record(ctx, tx, about(by, updated)); err != nil || !changed {
			return err
		}
		return publishCatalog(ctx, tx, next)
	})
	return updated, err
}

// DeleteServer deletes a server with its tools, its hooks and everybody's
// preferences for it. Conflict for a server of the file, NotFound when there is none.
func (s *Store) DeleteServer(ctx context.Context, by core.AuditEntry, tenantID, id string) error {
	if err := checkID("server", id); err != nil {
		return err
	}
	return s.tx(ctx, "delete server", func(tx pgx.Tx) error {
		next, err := lockCatalog(ctx, tx)
		if err != nil {
			return err
		}
		stored, err := lockServer(ctx, tx, tenantID, id)
		if err != nil {
			return err
		}
		if err := checkEditable(by, stored); err != nil {
			return err
		}
		if err := buryTools(ctx, tx, next, `id = $2`, id); err != nil {
			return err
		}
		if err := dropHooks(ctx, tx, `server_id = $1`, id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from mcp_servers where id = $1`, id); err != nil {
			return err
		}
		if err := record(ctx, tx, about(by, stored)); err != nil {
			return err
		}
		return publishCatalog(ctx, tx, next)
	})
}

// Server gives one server. NotFound when there is none in the tenant.
func (s *Store) Server(ctx context.Context, tenantID, id string) (core.Server, error) {
	if err := checkID("server", id); err != nil {
		return core.Server{}, err
	}
	rows, err := s.pool.Query(ctx, `select `+serverColumns+` from mcp_servers where tenant_id = $1 and id = $2`, tenant(tenantID), id)
	if err != nil {
		return core.Server{}, wrap("read server", err)
	}
	server, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.Server])
	if errors.Is(err, pgx.ErrNoRows) {
		return core.Server{}, notFound("server")
	}
	return server, wrap("read server", err)
}

// FindServer gives one server by id or name. NotFound when there is none in the
// tenant.
func (s *Store) FindServer(ctx context.Context, tenantID, idOrName string) (core.Server, error) {
	rows, err := s.pool.Query(ctx, `
		select `+serverColumns+` from mcp_servers where tenant_id = $1 and (id::text = lower($2) or name = $2)
		order by (id::text = lower($2)) desc limit 1`, tenant(tenantID), clean(idOrName))
	if err != nil {
		return core.Server{}, wrap("find server", err)
	}
	server, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.Server])
	if errors.Is(err, pgx.ErrNoRows) {
		return core.Server{}, notFound("server")
	}
	return server, wrap("find server", err)
}

// Servers lists a tenant's servers by name.
func (s *Store) Servers(ctx context.Context, f ServerFilter, p core.Page) (core.List[core.Server], error) {
	after, err := readCursor(p.Cursor)
	if err != nil {
		return core.List[core.Server]{}, err
	}
	rows, err := s.pool.Query(ctx, `
		select `+serverColumns+` from mcp_servers
		where tenant_id = @tenant
		  and (@status = '' or status = @status)
		  and (@query = '' or position(lower(@query) in lower(name || ' ' || description)) > 0)
		  and (@after_id = '' or (name, id) > (@after_name, nullif(@after_id, '')::uuid))
		order by name, id limit @limit`, pgx.StrictNamedArgs{
		"tenant": tenant(f.TenantID), "status": string(f.Status), "query": clean(f.Query),
		"after_id": after.ID, "after_name": after.Key, "limit": limit(p) + 1})
	if err != nil {
		return core.List[core.Server]{}, wrap("list servers", err)
	}
	servers, err := pgx.CollectRows(rows, pgx.RowToStructByName[core.Server])
	if err != nil {
		return core.List[core.Server]{}, wrap("list servers", err)
	}
	return page(servers, limit(p), func(s core.Server) cursor { return cursor{Key: s.Name, ID: s.ID} }), nil
}

// AllServers gives every server of every tenant by name, and a revision of the
// catalog that they are at least as new as.
func (s *Store) AllServers(ctx context.Context) ([]core.Server, int64, error) {
	var catalog int64
	var servers []core.Server
	var batch pgx.Batch
	// The number first: each statement sees what is committed when it starts.
	batch.Queue(`select catalog from revision`).QueryRow(func(row pgx.Row) error { return row.Scan(&catalog) })
	batch.Queue(`select ` + serverColumns + ` from mcp_servers order by name, id`).Query(func(rows pgx.Rows) (err error) {
		servers, err = pgx.CollectRows(rows, pgx.RowToStructByName[core.Server])
		return err
	})
	if err := s.pool.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, 0, wrap("list all servers", err)
	}
	return servers, catalog, nil
}

// SetHealth writes down what was observed of a server, and announces when it has
// come to work or has failed. NotFound when it is gone.
func (s *Store) SetHealth(ctx context.Context, serverID string, h core.Health) error {
	if err := checkID("server", serverID); err != nil {
		return err
	}
	h.Stage, h.Message = clean(h.Stage), clean(h.Message)
	server := core.Server{ID: serverID}
	var before core.Health
	return wrap("record health", pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			update mcp_servers s set health = $2 from (select id, health from mcp_servers where id = $1 for update) old
			where s.id = old.id returning s.tenant_id, s.name, old.health`, serverID, h).Scan(&server.TenantID, &server.Name, &before)
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("server")
		}
		if err != nil {
			return err
		}
		return announce(ctx, tx, healthChanged(server, before, h)...)
	}))
}

// SetEra writes down which protocol generation a server speaks. NotFound when it
// is gone.
func (s *Store) SetEra(ctx context.Context, serverID, era string) error {
	return s.observe(ctx, "record era", `update mcp_servers set era = $2 where id = $1`, serverID, era)
}

func (s *Store) observe(ctx context.Context, op, query, serverID string, value any) error {
	if err := checkID("server", serverID); err != nil {
		return err
	}
	tag, err := s.pool.Exec(ctx, query, serverID, value)
	if err != nil {
		return wrap(op, err)
	}
	if tag.RowsAffected() == 0 {
		return notFound("server")
	}
	return nil
}

func lockServer(ctx context.Context, tx pgx.Tx, tenantID, id string) (core.Server, error) {
	rows, err := tx.Query(ctx, `select `+serverColumns+` from mcp_servers where tenant_id = $1 and id = $2 for update`,
		tenant(tenantID), id)
	if err != nil {
		return core.Server{}, err
	}
	server, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.Server])
	if errors.Is(err, pgx.ErrNoRows) {
		return core.Server{}, notFound("server")
	}
	return server, err
}

func checkEditable(by core.AuditEntry, stored core.Server) error {
	if stored.Origin != core.FromFile || by.Action == ActionReconcile {
		return nil
	}
	return core.Errorf(core.Conflict, "the server %q is declared in the configuration file", stored.Name).
		WithHint("change it there and reload")
}

// about is by with the server that it is about.
func about(by core.AuditEntry, s core.Server) core.AuditEntry {
	by.ID, by.ServerID, by.ServerName = "", s.ID, s.Name
	return by
}
