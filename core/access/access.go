// Package access keeps what the access rule needs in memory: every server, and
// the switches of the users who call. The copies are keyed by the revisions that
// a principal brings from its authentication, so that a change bites at the next
// call on every instance, and a call on fresh copies costs no query.
package access

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
)

// Config holds what a Registry needs.
type Config struct {
	Store *postgres.Store
	// Views bounds how many views are kept; 4096 if zero. One is some hundred bytes
	// and a slice of the ids that are on.
	Views int
}

// loadTimeout bounds a refresh, which outlives the caller that started it because
// others wait for it too.
const loadTimeout = 10 * time.Second

// Registry hands out views. It is safe for concurrent use.
type Registry struct {
	store  *postgres.Store
	views  int
	flight singleflight.Group

	mu      sync.RWMutex
	servers *servers
	seen    map[viewKey]*View
}

// servers is all servers as of one revision of the catalog.
type servers struct {
	catalog int64
	byID    map[string]*core.Server
	sorted  []*core.Server // by name, then id
}

// viewKey is what a view depends on beside the revisions and the roles.
type viewKey struct{ tenant, user, agent string }

// New makes a Registry that has read nothing yet.
func New(c Config) *Registry {
	return &Registry{store: c.Store, views: cmp.Or(c.Views, 4096), servers: &servers{catalog: -1}, seen: map[viewKey]*View{}}
}

// Server gives an active or inactive server, whoever asks: NotFound, or
// Unavailable when the copy is too old and cannot be refreshed. The server is
// shared and must not be changed.
func (r *Registry) Server(ctx context.Context, id string, atLeast int64) (*core.Server, error) {
	all, err := r.all(ctx, atLeast)
	if err != nil {
		return nil, err
	}
	if s := all.byID[id]; s != nil {
		return s, nil
	}
	return nil, core.Errorf(core.NotFound, "there is no server %q", id)
}

// View gives what a principal sees, at least as new as the principal's revisions.
func (r *Registry) View(ctx context.Context, p core.Principal) (*View, error) {
	key := viewKey{p.TenantID, p.UserID, p.Agent}
	r.mu.RLock()
	v := r.seen[key]
	r.mu.RUnlock()
	if v != nil && v.fits(p) {
		return v, nil
	}
	all, err := r.all(ctx, p.Seen.Catalog)
	if err != nil {
		return nil, err
	}
	prefs, err := r.preferences(ctx, p)
	if err != nil {
		return nil, err
	}
	v = newView(p, all, prefs)
	r.keep(key, v)
	return v, nil
}

// Access applies the access rule: what a principal is to a server.
func (r *Registry) Access(ctx context.Context, p core.Principal, serverID string) (core.Access, error) {
	v, err := r.View(ctx, p)
	if err != nil {
		return core.Invisible, err
	}
	return v.Access(serverID), nil
}

// keep remembers a view. When there are too many, any one goes: a view is cheap
// to make again.
func (r *Registry) keep(key viewKey, v *View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.seen[key]; old != nil && old.newer(v) {
		return
	}
	if len(r.seen) >= r.views {
		for other := range r.seen {
			delete(r.seen, other)
			break
		}
	}
	r.seen[key] = v
}

// all gives the servers at a revision or later.
func (r *Registry) all(ctx context.Context, atLeast int64) (*servers, error) {
	fresh := func() *servers {
		r.mu.RLock()
		defer r.mu.RUnlock()
		if r.servers.catalog >= 0 && r.servers.catalog >= atLeast {
			return r.servers
		}
		return nil
	}
	if s := fresh(); s != nil {
		return s, nil
	}
	v, err := r.once(ctx, "servers", func(ctx context.Context) (any, error) { return r.load(ctx) },
		func(v any) bool { return v.(*servers).catalog >= atLeast })
	if err != nil {
		return nil, err
	}
	return v.(*servers), nil
}

func (r *Registry) load(ctx context.Context) (*servers, error) {
	list, catalog, err := r.store.AllServers(ctx)
	if err != nil {
		return nil, err
	}
	s := &servers{catalog: catalog, byID: make(map[string]*core.Server, len(list))}
	for i := range list {
		s.byID[list[i].ID] = &list[i]
		s.sorted = append(s.sorted, &list[i])
	}
	slices.SortFunc(s.sorted, func(a, b *core.Server) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.servers.catalog < catalog {
		r.servers = s
	}
	return s, nil
}

// preferences are a user's switches as of one revision of the user.
type preferences struct {
	revision int64
	byServer map[string]core.Preference
}

func (r *Registry) preferences(ctx context.Context, p core.Principal) (preferences, error) {
	v, err := r.once(ctx, "user "+p.UserID, func(ctx context.Context) (any, error) {
		byServer, revision, err := r.store.Preferences(ctx, p.UserID)
		return preferences{revision, byServer}, err
	}, func(v any) bool { return v.(preferences).revision >= p.Seen.User })
	if err != nil {
		return preferences{}, err
	}
	return v.(preferences), nil
}

// once runs load for all who ask for key at the same time. Whoever joins a load
// that began before its own revision was known asks once more: the next load
// begins afterwards, and so reads at least that revision.
func (r *Registry) once(ctx context.Context, key string, load func(context.Context) (any, error), enough func(any) bool) (any, error) {
	for range 2 {
		v, err := r.share(ctx, key, load)
		if err != nil {
			return nil, err
		}
		if enough(v) {
			return v, nil
		}
	}
	return nil, core.Errorf(core.Unavailable, "the database is behind what was already seen of it")
}

func (r *Registry) share(ctx context.Context, key string, load func(context.Context) (any, error)) (any, error) {
	done := r.flight.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		return load(ctx)
	})
	select {
	case res := <-done:
		return res.Val, res.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
