package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

// Domains gives a tenant's domains by name, with descriptions and without counts.
func (s *Store) Domains(ctx context.Context, tenantID string) ([]core.Domain, error) {
	rows, err := s.pool.Query(ctx, `
		select id, name, description, 0 as tool_count from domains where tenant_id = $1 order by name, id`, tenant(tenantID))
	if err != nil {
		return nil, wrap("list domains", err)
	}
	domains, err := pgx.CollectRows(rows, pgx.RowToStructByName[core.Domain])
	return domains, wrap("list domains", err)
}

// PutDomain names and describes a domain, new or not, and gives it as it then is.
// Without a name it keeps the one it has, and a new one gets the one its id
// suggests.
func (s *Store) PutDomain(ctx context.Context, by core.AuditEntry, tenantID string, d core.Domain) (core.Domain, error) {
	var stored core.Domain
	err := s.tx(ctx, "put domain", func(tx pgx.Tx) error {
		next, err := lockCatalog(ctx, tx)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			insert into domains as d (tenant_id, id, name, description) values (@tenant, @id, coalesce(nullif(@name, ''), @suggested), @description)
			on conflict (tenant_id, id) do update
			set name = coalesce(nullif(@name, ''), d.name), description = excluded.description, updated_at = now()
			returning id, name, description, 0 as tool_count`, pgx.StrictNamedArgs{
			"tenant": tenant(tenantID), "id": clean(d.ID), "name": clean(d.Name), "suggested": domainName(clean(d.ID)),
			"description": clean(d.Description)})
		if err != nil {
			return err
		}
		if stored, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.Domain]); err != nil {
			return err
		}
		if len(by.Details) == 0 {
			by.Details = detail("domainId", stored.ID)
		}
		if err := record(ctx, tx, by); err != nil {
			return err
		}
		return publishCatalog(ctx, tx, next)
	})
	return stored, err
}

// DomainCounts gives how many tools of these servers are in each domain; domains
// without any are left out. Servers keep their number of tools, so that only tools
// with a domain of their own, which are few, are looked at one by one.
func (s *Store) DomainCounts(ctx context.Context, servers []string) (map[string]int, error) {
	rows, err := s.pool.Query(ctx, `
		select domain, sum(n)::int from (
			select s.domain, s.tool_count as n from mcp_servers s where s.id = any($1)
			union all
			select s.domain, -1 from mcp_server_tools t join mcp_servers s on s.id = t.server_id
			where t.server_id = any($1) and t.domain is not null and t.removed_at is null
			union all
			select t.domain, 1 from mcp_server_tools t
			where t.server_id = any($1) and t.domain is not null and t.removed_at is null
		) counts group by domain having sum(n) > 0`, uuids(servers))
	if err != nil {
		return nil, wrap("count domains", err)
	}
	counts := map[string]int{}
	var domain string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&domain, &n}, func() error {
		counts[domain] = n
		return nil
	})
	return counts, wrap("count domains", err)
}

// ensureDomain makes a domain that is named for the first time.
func ensureDomain(ctx context.Context, tx pgx.Tx, tenantID, id string) error {
	_, err := tx.Exec(ctx, `insert into domains (tenant_id, id, name) values ($1, $2, $3) on conflict (tenant_id, id) do nothing`,
		tenantID, id, domainName(id))
	if err != nil {
		return fmt.Errorf("make domain: %w", err)
	}
	return nil
}

// domainName makes "Version control" of "version-control".
func domainName(id string) string {
	words := strings.Join(strings.FieldsFunc(id, func(r rune) bool { return r == '-' || r == '_' }), " ")
	if words == "" {
		return "General"
	}
	return strings.ToUpper(words[:1]) + words[1:]
}
