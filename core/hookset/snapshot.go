package hookset

import (
	"math"
	"sync/atomic"

	"github.com/toolscout/toolscout/hooks"
)

// forever is the revision of a Set without a database: there is never anything
// newer.
const forever = math.MaxInt64

// snapshot is all hooks at one moment. It does not change.
type snapshot struct {
	revision  int64
	instances []*instance
	byKey     map[string]*instance
	// handlers are the hooks that act on events outside calls.
	handlers []*instance
	// tenants are the hooks of tenants that have some in the database, beside
	// those of the file, which are everybody's.
	tenants  map[string]*index
	everyone *index

	// uses counts the calls that go by it, and one for being the current one. At 0
	// it is dead.
	uses atomic.Int64
}

// newSnapshot arranges instances, and takes a use of each.
func newSnapshot(instances []*instance, revision int64) *snapshot {
	n := &snapshot{revision: revision, instances: instances, byKey: make(map[string]*instance, len(instances)),
		tenants: map[string]*index{}, everyone: newIndex()}
	for _, in := range instances {
		in.uses.Add(1)
		n.byKey[in.definition.ID] = in
		if tenant := in.definition.TenantID; tenant != "" && n.tenants[tenant] == nil {
			n.tenants[tenant] = newIndex()
		}
	}
	for _, in := range instances {
		if !in.acts() {
			continue
		}
		if _, ok := in.hook.(hooks.Handler); ok && len(onlyOfCalls(in.definition.Events)) > 0 {
			n.handlers = append(n.handlers, in)
		}
		if tenant := in.definition.TenantID; tenant != "" {
			n.tenants[tenant].add(in)
			continue
		}
		n.everyone.add(in)
		for _, idx := range n.tenants {
			idx.add(in)
		}
	}
	n.uses.Store(1)
	return n
}

// hold takes a use, unless the snapshot is dead.
func (n *snapshot) hold() bool {
	for {
		uses := n.uses.Load()
		if uses == 0 {
			return false
		}
		if n.uses.CompareAndSwap(uses, uses+1) {
			return true
		}
	}
}

// release gives back a use.
func (n *snapshot) release() {
	if n.uses.Add(-1) > 0 {
		return
	}
	for _, in := range n.instances {
		in.release()
	}
}

// index finds the entries that may apply to a call without looking at those of
// other users and servers.
type index struct {
	entries map[place][]hooks.Entry
	// ofServers: some act around meta-tools, for the calls of certain servers.
	ofServers bool
}

// place is a scope with the user and server that it is about, by id or name.
type place struct{ user, server string }

func newIndex() *index { return &index{entries: map[place][]hooks.Entry{}} }

func (x *index) add(in *instance) {
	at := place{in.definition.UserID, in.definition.ServerID}
	x.entries[at] = append(x.entries[at], in.entry)
	x.ofServers = x.ofServers || in.entry.Level != hooks.Tool && (in.entry.ServerID != "" || len(in.entry.Servers) > 0)
}

// chain picks the entries that apply to a call.
func (x *index) chain(c *hooks.Call) hooks.Chain {
	if len(x.entries) == 0 {
		return nil
	}
	var lists [9][]hooks.Entry
	n := 0
	users := [...]string{"", c.Principal.UserID, c.Principal.UserName}
	servers := [3]string{}
	if c.Server != nil {
		servers = [...]string{"", c.Server.ID, c.Server.Name}
	}
	for i, user := range users {
		if i > 0 && (user == "" || user == users[i-1]) {
			continue
		}
		for j, server := range servers {
			if j > 0 && (server == "" || server == servers[j-1]) {
				continue
			}
			if list := x.entries[place{user, server}]; len(list) > 0 {
				lists[n] = list
				n++
			}
		}
	}
	return hooks.Merge(c, lists[:n]...)
}

// of gives the index of a tenant's hooks.
func (n *snapshot) of(tenantID string) *index {
	if idx := n.tenants[tenantID]; idx != nil {
		return idx
	}
	return n.everyone
}
