package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/upstream"
)

// ServerFilter narrows a list of servers.
type ServerFilter struct {
	// Query is looked for in names and descriptions.
	Query string
	// Status is "" for any.
	Status core.Status
}

// Servers lists the registered servers, all of them, credentials masked.
func (a *Admin) Servers(ctx context.Context, req core.Request, f ServerFilter, page core.Page) (list core.List[core.Server], err error) {
	err = a.read(ctx, req, "server.list", func() error {
		list, err = a.store.Servers(ctx, postgres.ServerFilter{TenantID: req.Principal.TenantID, Query: f.Query, Status: f.Status}, page)
		for i := range list.Items {
			list.Items[i] = masked(list.Items[i])
		}
		return err
	})
	return list, err
}

// Server gives one server, credentials masked.
func (a *Admin) Server(ctx context.Context, req core.Request, id string) (s core.Server, err error) {
	err = a.read(ctx, req, "server.get", func() error {
		s, err = a.store.Server(ctx, req.Principal.TenantID, id)
		s = masked(s)
		return err
	})
	return s, err
}

// CreateServer registers a server, and lists and indexes it in the background.
// With wait it returns when that has ended, or wait is over. The answer's
// credentials are masked.
func (a *Admin) CreateServer(ctx context.Context, req core.Request, s core.Server, wait time.Duration) (core.Server, error) {
	err := a.change(ctx, req, "server.create", func(by *core.AuditEntry) (err error) {
		if s, err = a.submitted(ctx, req, by, s); err != nil {
			return err
		}
		s, err = a.store.CreateServer(ctx, timed(by), s)
		return err
	})
	if err != nil {
		return core.Server{}, err
	}
	return a.synced(ctx, s, wait)
}

// UpdateServer edits a server that was registered through the API, and lists it
// again as CreateServer does.
func (a *Admin) UpdateServer(ctx context.Context, req core.Request, id string, p ServerPatch, wait time.Duration) (s core.Server, err error) {
	err = a.change(ctx, req, "server.update", func(by *core.AuditEntry) error {
		old, err := a.store.Server(ctx, req.Principal.TenantID, id)
		if err != nil {
			return err
		}
		by.ServerID, by.ServerName = old.ID, old.Name
		if err := editable(old); err != nil {
			return err
		}
		edited, f := p.apply(old)
		edited = Defaults(edited)
		fields := changed(old, edited)
		by.Details = details("fields", fields)
		if err := a.valid(ctx, a.opened(edited), f); err != nil {
			return err
		}
		if connects(fields) {
			if err := a.policy.check(ctx, a.opened(edited)); err != nil {
				return err
			}
		}
		edited.Env, edited.Headers = a.resealed(edited.Env, old.Env), a.resealed(edited.Headers, old.Headers)
		s, err = a.store.UpdateServer(ctx, timed(by), edited)
		return err
	})
	if err != nil {
		return core.Server{}, err
	}
	a.pool.Drop(s.ID)
	if err := a.syncer.Withdraw(ctx, s.ID); err != nil { // the next look does it too
		a.log.Warn("blocked tools not withdrawn", "server_id", s.ID, "error", err)
	}
	return a.synced(ctx, s, wait)
}

// DeleteServer removes a server that was registered through the API, with its tools.
func (a *Admin) DeleteServer(ctx context.Context, req core.Request, id string) error {
	err := a.change(ctx, req, "server.delete", func(by *core.AuditEntry) error {
		s, err := a.store.Server(ctx, req.Principal.TenantID, id)
		if err != nil {
			return err
		}
		by.ServerID, by.ServerName = s.ID, s.Name
		if err := editable(s); err != nil {
			return err
		}
		return a.store.DeleteServer(ctx, timed(by), req.Principal.TenantID, id)
	})
	if err == nil {
		a.pool.Drop(id)
	}
	return err
}

// RefreshServer lists a server again now. With wait it returns when that has
// ended, or wait is over; how it went is in the server's health.
func (a *Admin) RefreshServer(ctx context.Context, req core.Request, id string, wait time.Duration) (s core.Server, err error) {
	err = a.change(ctx, req, "server.refresh", func(by *core.AuditEntry) error {
		s, err = a.store.Server(ctx, req.Principal.TenantID, id)
		if err != nil {
			return err
		}
		by.ServerID, by.ServerName = s.ID, s.Name
		if s.Status != core.Active {
			return core.Errorf(core.Conflict, "server %q is inactive", s.Name).WithHint("Set its status to active first.")
		}
		return a.audit.Record(ctx, timed(by))
	})
	if err != nil {
		return core.Server{}, err
	}
	return a.synced(ctx, s, wait)
}

// TestServer tries a configuration without saving it. What fails on the server's
// side is in the result; the error is for a configuration that is refused.
func (a *Admin) TestServer(ctx context.Context, req core.Request, s core.Server) (result upstream.TestResult, err error) {
	err = a.change(ctx, req, "server.test", func(by *core.AuditEntry) (err error) {
		if s.Name == "" {
			s.Name = "test"
		}
		if s, err = a.submitted(ctx, req, by, s); err != nil {
			return err
		}
		result = a.pool.Test(ctx, &s)
		if !result.OK {
			by.Outcome = core.OutcomeFailed
		}
		return a.audit.Record(ctx, timed(by))
	})
	return result, err
}

// submitted is a whole configuration as somebody sent it, made ready to be stored
// or tried: with its defaults, valid, allowed, and its credentials sealed.
func (a *Admin) submitted(ctx context.Context, req core.Request, by *core.AuditEntry, s core.Server) (core.Server, error) {
	s = Defaults(s)
	s.TenantID, s.Origin, s.ID = req.Principal.TenantID, core.FromAPI, ""
	by.ServerName = shorten(s.Name)
	var f faults
	f.noMasks("/env", s.Env)
	f.noMasks("/headers", s.Headers)
	if err := a.valid(ctx, s, f); err != nil {
		return s, err
	}
	if err := a.policy.check(ctx, s); err != nil {
		return s, err
	}
	s.Env, s.Headers = a.secrets.SealAll(s.Env), a.secrets.SealAll(s.Headers)
	return s, nil
}

// valid refuses a configuration that is invalid. Its credentials are as they were
// given.
func (a *Admin) valid(ctx context.Context, s core.Server, f faults) error {
	f = append(f, ValidateServer(s)...)
	if len(f) == 0 && s.OwnerID != "" {
		_, err := a.store.User(ctx, s.TenantID, s.OwnerID)
		if errors.Is(err, core.NotFound) {
			f.add("/ownerId", "there is no such user")
		} else if err != nil {
			return fmt.Errorf("look up the owner: %w", err)
		}
	}
	return invalid(f)
}

// connects reports whether an edit decides anew what we connect to. The policy is
// asked then only: it must stay possible to set a server inactive.
func connects(fields []string) bool {
	return slices.ContainsFunc(fields, func(field string) bool {
		return slices.Contains([]string{"transport", "url", "command", "args", "env", "headers"}, field)
	})
}

// synced lists a server, in the background unless there is time to wait, and
// gives the server as it then is.
func (a *Admin) synced(ctx context.Context, s core.Server, wait time.Duration) (core.Server, error) {
	if s.Status != core.Active {
		return masked(s), nil
	}
	if wait <= 0 {
		a.syncer.Enqueue(s.ID)
		return masked(s), nil
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	// How it went is in the server's health. The index is waited for as well, so
	// that the caller can search at once.
	if _, err := a.syncer.Sync(waiting, s.ID); err == nil {
		_ = a.indexer.Wait(waiting)
	}
	now, err := a.store.Server(ctx, s.TenantID, s.ID)
	if err != nil {
		return core.Server{}, err
	}
	if h, ok := a.pool.Health(s.ID); ok {
		now.Health = h // on its way to the database
	}
	return masked(now), nil
}

// editable refuses edits of what the configuration file declares.
func editable(s core.Server) error {
	if s.Origin != core.FromFile {
		return nil
	}
	return core.Errorf(core.Conflict, "server %q is declared in the configuration file", s.Name).
		WithHint("Edit the file and reload it (SIGHUP), or restart.")
}

// Defaults fills in what a configuration may leave out.
func Defaults(s core.Server) core.Server {
	switch {
	case s.Transport != "":
	case s.Command != "":
		s.Transport = core.Stdio
	case s.URL != "":
		s.Transport = core.HTTP
	}
	if s.Domain == "" {
		s.Domain = postgres.DefaultDomain
	}
	if s.Visibility == "" {
		s.Visibility = core.Visible
	}
	if s.Isolation == "" {
		s.Isolation = core.Shared
	}
	if s.Status == "" {
		s.Status = core.Active
	}
	return s
}
