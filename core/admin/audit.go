package admin

import (
	"context"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
)

// Audit lists what happened, the latest first. The filter's tenant is the caller's.
func (a *Admin) Audit(ctx context.Context, req core.Request, f postgres.AuditFilter, page core.Page) (list core.List[core.AuditEntry], err error) {
	err = a.read(ctx, req, "audit.list", func() error {
		f.TenantID = req.Principal.TenantID
		a.settle(ctx)
		list, err = a.store.Audit(ctx, f, page)
		return err
	})
	return list, err
}

// Usage lists the calls of real tools, the latest first. The filter's tenant is
// the caller's.
func (a *Admin) Usage(ctx context.Context, req core.Request, f postgres.AuditFilter, page core.Page) (list core.List[core.UsageEntry], err error) {
	err = a.read(ctx, req, "usage.list", func() error {
		f.TenantID = req.Principal.TenantID
		a.settle(ctx)
		list, err = a.store.Usage(ctx, f, page)
		return err
	})
	return list, err
}

// settle gives rows that are on their way a moment to arrive, so that a reader
// finds what happened just before. One that takes longer is found the next time.
func (a *Admin) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = a.audit.Flush(ctx)
}
