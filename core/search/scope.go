package search

import (
	"slices"
	"sync/atomic"

	"github.com/toolscout/toolscout/core/postgres"
)

// scope is what a caller may see. It never changes once it is made.
type scope struct {
	allowed []bool     // groups, by their server alone
	seen    []bool     // groups, by the domain that was asked for too
	visible int        // tools of the groups that are seen
	places  [][]uint32 // those tools by part, in order; nil unless they are few

	// servers are those whose tools may be given, or all others, whichever list is
	// much shorter: sending 10,000 ids, and comparing each row with them, took ten
	// times as long as the search itself.
	servers postgres.ServerIDs
	except  bool
}

// few is how small a part of the catalog must be for its tools to be listed.
const few = 8

// scope is that of some servers, and of one domain unless it is "".
func (x *index) scope(servers []string, domain string) *scope {
	if s := x.scopes.find(servers, domain); s != nil {
		return s
	}
	s := &scope{allowed: make([]bool, len(x.groups))}
	for _, server := range servers {
		for _, g := range x.byServer[server] {
			s.allowed[g] = true
		}
	}
	s.seen = slices.Clone(s.allowed)
	for g := range s.seen {
		s.seen[g] = s.seen[g] && (domain == "" || x.groups[g].domain == domain)
		if s.seen[g] {
			s.visible += x.groups[g].live
		}
	}
	if few*s.visible <= x.live {
		s.places = x.places(s.seen)
	}
	s.servers = postgres.ParseServers(servers)
	if hidden, fewer := x.hidden(s.allowed, len(servers)/2); fewer {
		s.servers, s.except = postgres.ParseServers(hidden), true
	}
	x.scopes.keep(servers, domain, s)
	return s
}

// places are those of the tools of some groups.
func (x *index) places(seen []bool) [][]uint32 {
	places := make([][]uint32, len(x.parts))
	for i := range x.parts {
		p := &x.parts[i]
		for k, g := range p.groups {
			if !seen[g] {
				continue
			}
			for _, place := range p.members[p.from[k]:p.from[k+1]] {
				if !p.isDead(place) {
					places[i] = append(places[i], place)
				}
			}
		}
		slices.Sort(places[i])
	}
	return places
}

// hidden lists the servers with tools that are not allowed, if they are fewer than so
// many.
func (x *index) hidden(allowed []bool, than int) (servers []string, fewer bool) {
	for server, groups := range x.byServer {
		if allowed[groups[0]] || !slices.ContainsFunc(groups, func(g uint32) bool { return x.groups[g].live > 0 }) {
			continue
		}
		if servers = append(servers, server); len(servers) >= than {
			return nil, false
		}
	}
	return servers, len(servers) < than
}

// scopes remembers the scopes that one state of the index was searched in: callers
// come back, and to look 10,000 servers up takes longer than the rest of a search.
type scopes struct{ list atomic.Pointer[[]kept] }

// kept is a scope with what it was made from.
type kept struct {
	servers []string
	domain  string
	scope   *scope
}

// What all scopes of an index together may take.
const (
	maxKept  = 64
	maxBytes = 16 << 20
)

// bytes is what a scope takes. The text of the ids counts: as soon as the caller's list
// is made anew, nobody else holds it.
func (k *kept) bytes() int {
	const header, text, id = 16, 36, 16
	n := (header+text+id)*len(k.servers) + len(k.domain) + len(k.scope.allowed) + len(k.scope.seen)
	for _, places := range k.scope.places {
		n += 4 * len(places)
	}
	return n
}

func (s *scopes) find(servers []string, domain string) *scope {
	if list := s.list.Load(); list != nil {
		for _, k := range *list {
			// Compared one by one, which is quick where it is the same list again.
			if k.domain == domain && slices.Equal(k.servers, servers) {
				return k.scope
			}
		}
	}
	return nil
}

// keep adds a scope and forgets the oldest. Where two searches do so at once, that of
// one is lost, which costs no more than to make it again.
func (s *scopes) keep(servers []string, domain string, made *scope) {
	list := []kept{{slices.Clone(servers), domain, made}}
	if old := s.list.Load(); old != nil {
		size := list[0].bytes()
		for _, k := range *old {
			if size += k.bytes(); size > maxBytes || len(list) == maxKept {
				break
			}
			list = append(list, k)
		}
	}
	s.list.Store(&list)
}
