package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

// ReconcileServers makes the servers of the file those that are declared, in the
// tenant of by: new ones are registered, changed ones updated, and those that left
// the file become inactive, with their ids and preferences. All of it happens or
// nothing; an error names the server. Conflict for a name that the API has
// registered. It gives the ids of the servers that changed.
func (s *Store) ReconcileServers(ctx context.Context, by core.AuditEntry, declared []core.Server) ([]string, error) {
	wanted, err := declaredServers(by, declared)
	if err != nil {
		return nil, fmt.Errorf("reconcile servers: %w", err)
	}
	by.Action = ActionReconcile
	var changed []string
	err = s.tx(ctx, "reconcile servers", func(tx pgx.Tx) error {
		next, err := lockCatalog(ctx, tx)
		if err != nil {
			return err
		}
		r := reconciliation{tx: tx, next: next, by: by}
		if err := r.run(ctx, wanted); err != nil {
			return err
		}
		changed = r.changed
		if len(changed) == 0 {
			return nil
		}
		if err := record(ctx, tx, r.entries...); err != nil {
			return err
		}
		return publishCatalog(ctx, tx, next)
	})
	return changed, err
}

// declaredServers are the declarations as they are stored, by name.
func declaredServers(by core.AuditEntry, declared []core.Server) ([]core.Server, error) {
	wanted := make([]core.Server, len(declared))
	for i, d := range declared {
		d.TenantID, d.Origin = tenant(by.TenantID), core.FromFile
		wanted[i] = normalise(d)
	}
	slices.SortFunc(wanted, func(a, b core.Server) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(wanted); i++ {
		if wanted[i].Name == wanted[i-1].Name {
			return nil, core.Errorf(core.InvalidParams, "the server %q is declared twice", wanted[i].Name)
		}
	}
	return wanted, nil
}

// reconciliation is one run of ReconcileServers inside its transaction.
type reconciliation struct {
	tx      pgx.Tx
	next    int64
	by      core.AuditEntry
	changed []string
	entries []core.AuditEntry
}

func (r *reconciliation) run(ctx context.Context, wanted []core.Server) error {
	rows, err := r.tx.Query(ctx, `select `+serverColumns+` from mcp_servers where tenant_id = $1 order by id for update`,
		tenant(r.by.TenantID))
	if err != nil {
		return err
	}
	stored, err := pgx.CollectRows(rows, pgx.RowToStructByName[core.Server])
	if err != nil {
		return err
	}
	byName := make(map[string]core.Server, len(stored))
	for _, server := range stored {
		byName[server.Name] = server
	}
	for _, w := range wanted {
		old, exists := byName[w.Name]
		delete(byName, w.Name)
		if err := r.apply(ctx, w, old, exists); err != nil {
			return named(w.Name, err)
		}
	}
	for _, server := range stored {
		_, left := byName[server.Name]
		if !left || server.Origin != core.FromFile || server.Status == core.Inactive {
			continue
		}
		gone := server
		gone.Status = core.Inactive
		if err := r.replace(ctx, server, gone, "left the file"); err != nil {
			return named(server.Name, err)
		}
	}
	return nil
}

func (r *reconciliation) apply(ctx context.Context, w, old core.Server, exists bool) error {
	if !exists {
		created, err := insertServer(ctx, r.tx, w)
		if err != nil {
			return err
		}
		r.note(created, "declared")
		return nil
	}
	if old.Origin != core.FromFile {
		return core.Errorf(core.Conflict, "it was registered through the API").
			WithHint("delete it there, or declare it under another name")
	}
	return r.replace(ctx, old, w, "changed in the file")
}

func (r *reconciliation) replace(ctx context.Context, old, new core.Server, change string) error {
	updated, changed, err := replaceServer(ctx, r.tx, r.next, old, new)
	if err != nil || !changed {
		return err
	}
	r.note(updated, change)
	return nil
}

func (r *reconciliation) note(s core.Server, change string) {
	r.changed = append(r.changed, s.ID)
	entry := about(r.by, s)
	entry.Details = detail("change", change)
	r.entries = append(r.entries, entry)
}

// named puts the server's name into an error, where strangers can read it.
func named(name string, err error) error {
	err = translate(err)
	var known *core.Error
	if !errors.As(err, &known) {
		return fmt.Errorf("server %q: %w", name, err)
	}
	clear := *known
	clear.Message = fmt.Sprintf("server %q: %s", name, known.Message)
	return &clear
}
