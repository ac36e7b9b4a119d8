package postgres

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

// What is written of a server, whoever configured it: the API, or the file.

func insertServer(ctx context.Context, tx pgx.Tx, s core.Server) (core.Server, error) {
	if err := checkOwner(s); err != nil {
		return core.Server{}, err
	}
	if err := ensureDomain(ctx, tx, s.TenantID, s.Domain); err != nil {
		return core.Server{}, err
	}
	args := serverArgs(s)
	args["id"], args["tenant"], args["origin"] = newID(), s.TenantID, s.Origin
	args["health"] = core.Health{State: initialState(s.Status), Since: time.Now()}
	rows, err := tx.Query(ctx, `
		insert into mcp_servers (id, tenant_id, origin, health, name, description, domain, transport, url, command, args, env,
			headers, prefix, allowed_tools, blocked_tools, required_roles, agent_allowlist, tags, visibility, owner_id,
			isolation, timeout_ms, status)
		values (@id, @tenant, @origin, @health, @name, @description, @domain, @transport, @url, @command, @args, @env,
			@headers, @prefix, @allowed, @blocked, @roles, @agents, @tags, @visibility, nullif(@owner, '')::uuid,
			@isolation, @timeout, @status)
		returning `+serverColumns, args)
	if err != nil {
		return core.Server{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.Server])
}

// replaceServer writes another configuration over the stored one, which must be
// locked, and stamps its tools where followers see a difference. It reports
// whether anything changed.
func replaceServer(ctx context.Context, tx pgx.Tx, next int64, stored, s core.Server) (core.Server, bool, error) {
	if sameConfiguration(stored, s) {
		return stored, false, nil
	}
	if err := checkOwner(s); err != nil {
		return core.Server{}, false, err
	}
	if err := ensureDomain(ctx, tx, stored.TenantID, s.Domain); err != nil {
		return core.Server{}, false, err
	}
	args := serverArgs(s)
	args["id"], args["origin"] = stored.ID, s.Origin
	// Another target may speak another generation of the protocol. What npx and its
	// like run is in the arguments.
	args["retarget"] = stored.Transport != s.Transport || stored.URL != s.URL || stored.Command != s.Command ||
		!slices.Equal(stored.Args, s.Args)
	args["switched"], args["health"] = stored.Status != s.Status, core.Health{State: initialState(s.Status), Since: time.Now()}
	rows, err := tx.Query(ctx, `
		update mcp_servers set name = @name, description = @description, domain = @domain, transport = @transport,
			url = @url, command = @command, args = @args, env = @env, headers = @headers, prefix = @prefix,
			allowed_tools = @allowed, blocked_tools = @blocked, required_roles = @roles, agent_allowlist = @agents,
			tags = @tags, visibility = @visibility, owner_id = nullif(@owner, '')::uuid, isolation = @isolation,
			timeout_ms = @timeout, status = @status, origin = @origin, era = case when @retarget then '' else era end,
			health = case when @switched then @health::jsonb else health end, version = version + 1, updated_at = now()
		where id = @id returning `+serverColumns, args)
	if err != nil {
		return core.Server{}, false, err
	}
	updated, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.Server])
	if err != nil {
		return core.Server{}, false, err
	}
	if stored.Name != s.Name || stored.Description != s.Description || stored.Domain != s.Domain {
		err = stampTools(ctx, tx, next, updated)
	}
	return updated, true, err
}

func initialState(status core.Status) core.HealthState {
	if status == core.Inactive {
		return core.Stopped
	}
	return core.Connecting
}

// normalise fills in defaults and makes every field one that the database stores
// and gives back the same.
func normalise(s core.Server) core.Server {
	s.TenantID, s.OwnerID = tenant(s.TenantID), clean(s.OwnerID)
	s.Status = or(s.Status, core.Active)
	s.Visibility = or(s.Visibility, core.Visible)
	s.Isolation = or(s.Isolation, core.Shared)
	s.Origin = or(s.Origin, core.FromAPI)
	s.Domain = or(clean(s.Domain), DefaultDomain)
	s.Name, s.Description, s.URL, s.Command = clean(s.Name), clean(s.Description), clean(s.URL), clean(s.Command)
	s.Prefix = clean(s.Prefix)
	s.Args, s.Tags = cleanAll(s.Args), cleanAll(s.Tags)
	s.AllowedTools, s.BlockedTools = cleanAll(s.AllowedTools), cleanAll(s.BlockedTools)
	s.RequiredRoles, s.AgentAllowlist = cleanAll(s.RequiredRoles), cleanAll(s.AgentAllowlist)
	s.Env, s.Headers = cleanMap(s.Env), cleanMap(s.Headers)
	// Whole milliseconds, and never 0 for what was more.
	s.Timeout = (s.Timeout + time.Millisecond - 1).Truncate(time.Millisecond)
	return s
}

func or[T ~string](value, otherwise T) T {
	if value == "" {
		return otherwise
	}
	return value
}

// sameConfiguration compares what an admin can set, of two normalised servers.
func sameConfiguration(a, b core.Server) bool {
	return a.Name == b.Name && a.Description == b.Description && a.Domain == b.Domain &&
		a.Transport == b.Transport && a.URL == b.URL && a.Command == b.Command && slices.Equal(a.Args, b.Args) &&
		maps.Equal(a.Env, b.Env) && maps.Equal(a.Headers, b.Headers) && a.Prefix == b.Prefix &&
		slices.Equal(a.AllowedTools, b.AllowedTools) && slices.Equal(a.BlockedTools, b.BlockedTools) &&
		slices.Equal(a.RequiredRoles, b.RequiredRoles) && slices.Equal(a.AgentAllowlist, b.AgentAllowlist) &&
		slices.Equal(a.Tags, b.Tags) && a.Visibility == b.Visibility && strings.EqualFold(a.OwnerID, b.OwnerID) &&
		a.Isolation == b.Isolation && a.Timeout == b.Timeout && a.Status == b.Status && a.Origin == b.Origin
}

func serverArgs(s core.Server) pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{
		"name": s.Name, "description": s.Description, "domain": s.Domain, "transport": s.Transport, "url": s.URL,
		"command": s.Command, "args": s.Args, "env": s.Env, "headers": s.Headers, "prefix": s.Prefix,
		"allowed": s.AllowedTools, "blocked": s.BlockedTools, "roles": s.RequiredRoles, "agents": s.AgentAllowlist,
		"tags": s.Tags, "visibility": s.Visibility, "owner": s.OwnerID, "isolation": s.Isolation,
		"timeout": s.Timeout.Milliseconds(), "status": s.Status,
	}
}

func checkOwner(s core.Server) error {
	if s.OwnerID == "" || isID(s.OwnerID) {
		return nil
	}
	return core.Errorf(core.InvalidParams, "the owner is not a user")
}
