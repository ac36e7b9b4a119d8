package access

import (
	"slices"
	"sync"

	"github.com/toolscout/toolscout/core"
)

// View is what one principal sees of the servers. It does not change.
type View struct {
	principal core.Principal
	catalog   int64
	user      int64
	servers   *servers
	prefs     map[string]core.Preference
	on        func() []string
}

func newView(p core.Principal, all *servers, prefs preferences) *View {
	v := &View{principal: p, catalog: all.catalog, user: prefs.revision, servers: all, prefs: prefs.byServer}
	v.principal.Roles = slices.Clone(p.Roles)
	v.on = sync.OnceValue(v.listOn)
	return v
}

// fits reports whether the view still holds for a principal.
func (v *View) fits(p core.Principal) bool {
	return v.catalog >= p.Seen.Catalog && v.user >= p.Seen.User && slices.Equal(v.principal.Roles, p.Roles)
}

// newer reports whether v knows more than w in one respect and no less in the other.
func (v *View) newer(w *View) bool {
	return v.catalog >= w.catalog && v.user >= w.user && (v.catalog > w.catalog || v.user > w.user)
}

// Catalog is the revision of the catalog that the view was made of.
func (v *View) Catalog() int64 { return v.catalog }

// Access is what the principal is to a server: Invisible when there is none.
func (v *View) Access(serverID string) core.Access {
	s := v.servers.byID[serverID]
	if s == nil {
		return core.Invisible
	}
	return core.AccessTo(v.principal, s, v.prefs[serverID])
}

// Server gives a server that is on or off for the principal. It is shared and
// must not be changed.
func (v *View) Server(serverID string) (*core.Server, bool) {
	if v.Access(serverID) == core.Invisible {
		return nil, false
	}
	return v.servers.byID[serverID], true
}

// Servers gives all servers that are on or off for the principal, by name.
func (v *View) Servers() []*core.Server {
	var list []*core.Server
	for _, s := range v.servers.sorted {
		if v.Access(s.ID) != core.Invisible {
			list = append(list, s)
		}
	}
	return list
}

// On gives the ids of the servers that are on, sorted: the set that search,
// browsing and counts are limited to. Never nil, since nil could be taken for
// "no limit". It is shared and must not be changed.
func (v *View) On() []string { return v.on() }

func (v *View) listOn() []string {
	ids := []string{}
	for id := range v.servers.byID {
		if v.Access(id) == core.On {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
