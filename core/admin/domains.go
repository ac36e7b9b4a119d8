package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// Domains lists every domain with the number of tools it has on active servers.
func (a *Admin) Domains(ctx context.Context, req core.Request) (domains []core.Domain, err error) {
	err = a.read(ctx, req, "domain.list", func() error {
		domains, err = a.domains(ctx, req.Principal.TenantID)
		return err
	})
	return domains, err
}

func (a *Admin) domains(ctx context.Context, tenantID string) ([]core.Domain, error) {
	servers, _, err := a.store.AllServers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the servers: %w", err)
	}
	var active []string
	for _, s := range servers {
		if s.Status == core.Active && s.TenantID == tenantID {
			active = append(active, s.ID)
		}
	}
	counts, err := a.store.DomainCounts(ctx, active)
	if err != nil {
		return nil, fmt.Errorf("count the tools: %w", err)
	}
	domains, err := a.store.Domains(ctx, tenantID)
	if err != nil {
		return nil, fmt.Errorf("list the domains: %w", err)
	}
	for i := range domains {
		domains[i].ToolCount = counts[domains[i].ID]
	}
	slices.SortFunc(domains, func(x, y core.Domain) int { return strings.Compare(x.ID, y.ID) })
	return domains, nil
}

// PutDomain describes a domain, which is made if there is none of the id. Without
// a name it keeps its own.
func (a *Admin) PutDomain(ctx context.Context, req core.Request, d core.Domain) (core.Domain, error) {
	err := a.change(ctx, req, "domain.put", func(by *core.AuditEntry) (err error) {
		by.Details = details("domain", shorten(d.ID))
		if err := invalid(validateDomain(d)); err != nil {
			return err
		}
		d, err = a.store.PutDomain(ctx, timed(by), req.Principal.TenantID, d)
		return err
	})
	return d, err
}

func validateDomain(d core.Domain) []core.Fault {
	var f faults
	if !slug.MatchString(d.ID) {
		f.add("/id", "want a slug: lower-case letters, digits, dashes and underscores, at most 63")
	}
	if d.Name != "" && !personName.MatchString(d.Name) {
		f.add("/name", "want at most 100 characters, without control characters")
	}
	f.text("/description", d.Description, 2000)
	return f
}
