package admin

import (
	"context"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookbook"
	"github.com/toolscout/toolscout/core/hookset"
)

// Hooks lists the hooks of all scopes, secrets masked: first those of the file and
// of scripts, then those of the database by name.
func (a *Admin) Hooks(ctx context.Context, req core.Request, f hookbook.Filter, page core.Page) (list core.List[hookbook.Hook], err error) {
	err = a.read(ctx, req, "hook.list", func() error {
		list, err = a.book.List(ctx, req.Principal, f, page)
		return err
	})
	return list, err
}

// Hook gives one hook, secrets masked.
func (a *Admin) Hook(ctx context.Context, req core.Request, id string) (h hookbook.Hook, err error) {
	err = a.read(ctx, req, "hook.get", func() error {
		h, err = a.book.Hook(ctx, req.Principal, nil, id)
		return err
	})
	return h, err
}

// CreateHook makes a hook in any scope. It acts from the next call on.
func (a *Admin) CreateHook(ctx context.Context, req core.Request, p hookbook.Patch) (h hookbook.Hook, err error) {
	err = a.change(ctx, req, "hook.create", func(by *core.AuditEntry) error {
		h, err = a.book.Create(ctx, by, nil, p)
		return err
	})
	return h, err
}

// UpdateHook edits a hook of the database, also a user's own. One that was disabled
// by its own failure gets another chance.
func (a *Admin) UpdateHook(ctx context.Context, req core.Request, id string, p hookbook.Patch) (h hookbook.Hook, err error) {
	err = a.change(ctx, req, "hook.update", func(by *core.AuditEntry) error {
		by.Details = details("hookId", shorten(id))
		h, err = a.book.Update(ctx, by, nil, id, p)
		return err
	})
	return h, err
}

// DeleteHook removes a hook of the database.
func (a *Admin) DeleteHook(ctx context.Context, req core.Request, id string) error {
	return a.change(ctx, req, "hook.delete", func(by *core.AuditEntry) error {
		by.Details = details("hookId", shorten(id))
		return a.book.Delete(ctx, by, nil, id)
	})
}

// TestHook runs a hook that is not saved on a recorded call. What the hook makes of
// it is in the result, a failure too; the error is for a configuration or a call
// that is refused.
func (a *Admin) TestHook(ctx context.Context, req core.Request, t hookset.Trial) (result hookset.TrialResult, err error) {
	err = a.change(ctx, req, "hook.test", func(by *core.AuditEntry) error {
		by.Details = details("type", shorten(t.Type))
		if result, err = a.book.Try(ctx, req.Principal.TenantID, t); err != nil {
			return err
		}
		return a.audit.Record(ctx, timed(by))
	})
	return result, err
}

// Principal gives the principal that a user, named by id or name, would be with a
// token of theirs and this agent; "" is the one who asks.
func (a *Admin) Principal(ctx context.Context, req core.Request, user, agent string) (p core.Principal, err error) {
	err = a.read(ctx, req, "hook.effective", func() error {
		p = req.Principal
		p.TokenID = ""
		if agent != "" {
			p.Agent = agent
		}
		if user == "" {
			return nil
		}
		u, err := a.store.FindUser(ctx, p.TenantID, user)
		if err != nil {
			return err
		}
		_, revision, err := a.store.Preferences(ctx, u.ID)
		if err != nil {
			return err
		}
		p.UserID, p.UserName, p.Roles, p.Agent, p.Seen.User = u.ID, u.Name, u.Roles, agent, revision
		return nil
	})
	return p, err
}
