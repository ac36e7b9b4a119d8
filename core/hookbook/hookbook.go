// Package hookbook is where people edit hooks: those of the database, which an
// admin makes for anybody and a user for themselves, beside which those of the file
// and of scripts are shown. It fills in defaults, names every fault of an edit by
// its JSON pointer, seals secrets before they are stored and masks them in what it
// shows.
package hookbook

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/secret"
	"github.com/toolscout/toolscout/hooks"
)

// Config is what a Book works with.
type Config struct {
	Store *postgres.Store
	Set   *hookset.Set
	// Secrets seals what a configuration must not show.
	Secrets *secret.Box
}

// Book is the configured hooks as people read and edit them. It is safe for
// concurrent use.
type Book struct {
	store   *postgres.Store
	set     *hookset.Set
	secrets *secret.Box
}

// New makes a Book.
func New(c Config) *Book { return &Book{store: c.Store, set: c.Set, secrets: c.Secrets} }

// Own says on whose behalf a user's own hooks are read and edited. Where a method
// takes nil instead, an admin does it.
type Own struct {
	Principal core.Principal
	// Sees reports whether the user can see a server.
	Sees func(serverID string) bool
}

// Filter narrows a list. A nil user or server does not narrow; an empty one means
// the hooks without any; otherwise it is an id or a name.
type Filter struct {
	User, Server *string
	Type         string
}

// declared opens the cursor of a list that has not come to the database yet.
const declared = "declared."

// List gives hooks, first those of the file and of scripts, then those of the
// database by name.
func (b *Book) List(ctx context.Context, p core.Principal, f Filter, page core.Page) (core.List[Hook], error) {
	users, servers, err := b.scope(ctx, p.TenantID, f)
	if err != nil {
		return core.List[Hook]{}, err
	}
	if err := b.refresh(ctx, p); err != nil {
		return core.List[Hook]{}, err
	}
	if page.Limit <= 0 {
		page.Limit = core.DefaultLimit
	}
	page.Limit = min(page.Limit, core.MaxLimit)
	out := core.List[Hook]{Items: []Hook{}}
	if after, ok := strings.CutPrefix(page.Cursor, declared); ok || page.Cursor == "" {
		last, err := base64.RawURLEncoding.DecodeString(after)
		if err != nil {
			return out, core.Errorf(core.InvalidParams, "the cursor is not one that this list gave out").
				WithHint("start again without a cursor").Because(err)
		}
		page.Cursor = ""
		for _, d := range b.declared(string(last)) {
			if !f.matches(d, users, servers) {
				continue
			}
			if len(out.Items) == page.Limit {
				out.NextCursor = declared + base64.RawURLEncoding.EncodeToString([]byte(out.Items[page.Limit-1].ID))
				return out, nil
			}
			out.Items = append(out.Items, b.show(d))
		}
		page.Limit -= len(out.Items)
	}
	return b.stored(ctx, postgres.HookFilter{TenantID: p.TenantID, UserID: first(users), ServerID: first(servers), Type: f.Type}, page, out)
}

// stored fills up a list with hooks of the database.
func (b *Book) stored(ctx context.Context, f postgres.HookFilter, page core.Page, out core.List[Hook]) (core.List[Hook], error) {
	if page.Limit == 0 { // whether there is more shows with the next part
		out.NextCursor = declared + base64.RawURLEncoding.EncodeToString([]byte(out.Items[len(out.Items)-1].ID))
		return out, nil
	}
	list, err := b.store.HookPage(ctx, f, page)
	if err != nil {
		return core.List[Hook]{}, err
	}
	for _, d := range list.Items {
		out.Items = append(out.Items, b.show(d))
	}
	out.NextCursor = list.NextCursor
	return out, nil
}

// declared gives the hooks of the file and of scripts that follow an id, in order.
func (b *Book) declared(after string) []hooks.Definition {
	all := b.set.Definitions()
	slices.SortFunc(all, func(x, y hooks.Definition) int { return strings.Compare(x.ID, y.ID) })
	return slices.DeleteFunc(all, func(d hooks.Definition) bool { return d.ID <= after })
}

// scope gives what the user and the server of a filter are called: the id first,
// then, in the file, also the name.
func (b *Book) scope(ctx context.Context, tenantID string, f Filter) (users, servers []string, err error) {
	users, servers = names(f.User), names(f.Server)
	if f.User != nil && *f.User != "" {
		u, err := b.store.FindUser(ctx, tenantID, *f.User)
		if err == nil {
			users = []string{u.ID, u.Name}
		} else if !isNotFound(err) {
			return nil, nil, fmt.Errorf("look up the user: %w", err)
		}
	}
	if f.Server != nil && *f.Server != "" {
		s, err := b.store.FindServer(ctx, tenantID, *f.Server)
		if err == nil {
			servers = []string{s.ID, s.Name}
		} else if !isNotFound(err) {
			return nil, nil, fmt.Errorf("look up the server: %w", err)
		}
	}
	return users, servers, nil
}

func names(s *string) []string {
	if s == nil {
		return nil
	}
	return []string{*s}
}

func first(names []string) *string {
	if len(names) == 0 {
		return nil
	}
	return &names[0]
}

func (f Filter) matches(d hooks.Definition, users, servers []string) bool {
	return (f.Type == "" || f.Type == d.Type) && (f.User == nil || slices.Contains(users, d.UserID)) &&
		(f.Server == nil || slices.Contains(servers, d.ServerID))
}

// Mine lists what applies to a user alone: their own hooks, and those that an admin
// made for them.
func (b *Book) Mine(ctx context.Context, p core.Principal, page core.Page) (core.List[Hook], error) {
	return b.List(ctx, p, Filter{User: &p.UserID}, page)
}

// Hook gives one hook: NotFound when there is none, or none that is own's to see.
func (b *Book) Hook(ctx context.Context, p core.Principal, own *Own, id string) (Hook, error) {
	d, err := b.find(ctx, p.TenantID, own, id)
	if err != nil {
		return Hook{}, err
	}
	if err := b.refresh(ctx, p); err != nil {
		return Hook{}, err
	}
	return b.show(d), nil
}

// refresh has the set look at what is new, so that the state of hooks which it
// tells is that of the newest.
func (b *Book) refresh(ctx context.Context, p core.Principal) error {
	entries, err := b.set.Entries(ctx, p)
	if err != nil {
		return err
	}
	entries.Release()
	return nil
}

func (b *Book) find(ctx context.Context, tenantID string, own *Own, id string) (hooks.Definition, error) {
	d, err := b.definition(ctx, tenantID, id)
	if err != nil {
		return d, err
	}
	if own != nil && (d.UserID == "" || d.UserID != own.Principal.UserID &&
		(d.Origin.Kind == hooks.FromDatabase || d.UserID != own.Principal.UserName)) {
		return hooks.Definition{}, core.Errorf(core.NotFound, "there is no such hook")
	}
	return d, nil
}

func (b *Book) definition(ctx context.Context, tenantID, id string) (hooks.Definition, error) {
	for _, d := range b.set.Definitions() {
		if d.ID == id {
			return d, nil
		}
	}
	return b.store.Hook(ctx, tenantID, id)
}

// editable gives a hook that may be edited: Conflict for one that is configured
// elsewhere, Denied for one that an admin made for the user.
func (b *Book) editable(ctx context.Context, tenantID string, own *Own, id string) (hooks.Definition, error) {
	d, err := b.find(ctx, tenantID, own, id)
	switch {
	case err != nil:
		return d, err
	case own != nil && !d.Owned:
		return d, core.Errorf(core.Denied, "an admin made the hook %q for you", d.Name).WithHint("ask an admin to change it")
	case d.Origin.Kind != hooks.FromDatabase:
		return d, core.Errorf(core.Conflict, "the hook %q is configured in %s", d.Name, d.Origin.Where).
			WithHint("change it there")
	}
	return d, nil
}

// Try runs a hook that is not stored on a recorded call. InvalidParams when the
// hook or the call is not valid; the hook's own failure is part of the result.
func (b *Book) Try(ctx context.Context, tenantID string, t hookset.Trial) (hookset.TrialResult, error) {
	t.TenantID, t.Origin = tenantID, hooks.Origin{Kind: hooks.FromDatabase}
	if _, err := checkReferences(hooks.Definition{Config: t.Config}); err != nil {
		return hookset.TrialResult{}, err
	}
	return b.set.Try(ctx, t)
}

// Types tells of every type that can be configured.
func (b *Book) Types() []Type {
	var out []Type
	for _, t := range b.set.Types() {
		out = append(out, showType(t, b.set.Open(t.Name)))
	}
	return out
}

// timed is an audit row with the time that its request has taken so far.
func timed(by *core.AuditEntry) core.AuditEntry {
	e := *by
	e.DurationMs = float64(time.Since(e.Time)) / float64(time.Millisecond)
	return e
}
