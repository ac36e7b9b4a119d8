package hooks

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Event is a moment at which hooks act.
type Event string

// The events.
const (
	MetaBefore Event = "meta:before"
	MetaAfter  Event = "meta:after"
	ToolBefore Event = "tool:before"
	ToolAfter  Event = "tool:after"
)

// Mode is how much of what a hook does counts.
type Mode string

// The modes. The zero Mode is Enforce.
const (
	Enforce Mode = "enforce"
	// Observe runs the hook and records what it would have done.
	Observe Mode = "observe"
	// Background runs the hook after the answer.
	Background Mode = "background"
)

// OnError is what follows from a hook's failure.
type OnError string

// The policies. The zero OnError is Fail.
const (
	Fail    OnError = "fail"    // the call fails too
	Ignore  OnError = "ignore"  // the call goes on without the hook, with a warning
	Disable OnError = "disable" // like Ignore, and the hook is not used again
)

// DefaultTimeout bounds a hook whose entry says nothing.
const DefaultTimeout = 5 * time.Second

// Outermost and Guard are the priorities of audit and of access control. What a
// team configures lies further in.
const (
	Outermost = math.MinInt32
	Guard     = math.MinInt32 + 1
)

// Scope is where an entry applies. Scopes nest in this order.
type Scope int

// The scopes.
const (
	Global Scope = iota
	Server
	User
	UserServer
)

func (s Scope) String() string { return [...]string{"global", "server", "user", "user+server"}[s] }

// Entry is one hook with the conditions under which it applies.
type Entry struct {
	// ID tells entries apart; the name does where it is empty.
	ID   string
	Name string
	Type string
	// Version counts the edits of the entry: a new one gives a disabled hook
	// another chance.
	Version int64

	// UserID and ServerID are the scope: empty means any.
	// Both go by the id or by the name.
	UserID   string
	ServerID string

	Level   Level    // "" means both
	Events  []Event  // empty means all
	Pattern string   // glob (* and ?) on the call's name; "" means all
	Servers []string // ids or names; empty means all
	Agents  []string // empty means all

	Mode     Mode
	OnError  OnError
	Priority int // lower is further out: earlier before the call, later after it
	Timeout  time.Duration
	// Inline runs the hook on the caller's goroutine, which costs a tenth. It is
	// for hooks of ours that honour their context: nothing else ends them.
	Inline bool

	// Origin is where the entry was configured.
	Origin Origin
	// Owned: the user in UserID made it.
	Owned bool

	Hook Hook
	// Keep, if set, holds on to Hook beyond the call that the entry came with, for
	// work that outlives it, until release is called.
	Keep func() (release func())
}

// Scope is where the entry applies, from its user and server.
func (e *Entry) Scope() Scope {
	s := Global
	if e.ServerID != "" {
		s += Server
	}
	if e.UserID != "" {
		s += User
	}
	return s
}

// Condition is one of the conditions under which an entry applies.
type Condition string

// The conditions, in the order in which they are looked at.
const (
	UnmetLevel   Condition = "level"
	UnmetEvents  Condition = "events"
	UnmetUser    Condition = "user"
	UnmetServer  Condition = "server"
	UnmetServers Condition = "servers"
	UnmetAgents  Condition = "agents"
	UnmetPattern Condition = "pattern"
)

// Applies reports whether the entry has anything to do with a call.
func (e *Entry) Applies(c *Call) bool { return e.Unmet(c) == "" }

// Unmet gives the first condition of the entry that a call does not meet, "" when it
// meets them all.
func (e *Entry) Unmet(c *Call) Condition {
	switch {
	case e.Level != "" && e.Level != c.Level:
		return UnmetLevel
	case !e.takes(c.Level, before) && !e.takes(c.Level, after):
		return UnmetEvents
	case e.UserID != "" && e.UserID != c.Principal.UserID && e.UserID != c.Principal.UserName:
		return UnmetUser
	case e.ServerID != "" && (c.Server == nil || e.ServerID != c.Server.ID && e.ServerID != c.Server.Name):
		return UnmetServer
	case len(e.Servers) > 0 && !e.namesServer(c):
		return UnmetServers
	case len(e.Agents) > 0 && !slices.Contains(e.Agents, c.Principal.Agent):
		return UnmetAgents
	case e.Pattern != "" && e.Pattern != "*" && !Glob(e.Pattern, c.Name()):
		return UnmetPattern
	}
	return ""
}

func (e *Entry) namesServer(c *Call) bool {
	return c.Server != nil &&
		(slices.Contains(e.Servers, c.Server.ID) || slices.Contains(e.Servers, c.Server.Name))
}

// phase is one of the two halves of a hook.
type phase string

const (
	before phase = "before"
	after  phase = "after"
)

// event names a phase of a level without making a new text.
func event(l Level, p phase) Event {
	switch {
	case l == Meta && p == before:
		return MetaBefore
	case l == Meta:
		return MetaAfter
	case p == before:
		return ToolBefore
	}
	return ToolAfter
}

func (e *Entry) takes(l Level, p phase) bool {
	return len(e.Events) == 0 || slices.Contains(e.Events, event(l, p))
}

func (e *Entry) key() string { return cmp.Or(e.ID, e.Name) }

func (e *Entry) edition() edition { return edition{e.key(), e.Version} }

// Chain is the entries that apply to one call, outermost first.
type Chain []*Entry

// Compile picks the entries that apply to a call and puts them in order. The
// order of equal entries is the one they came in. The chain points into entries.
func Compile(entries []Entry, c *Call) Chain { return Merge(c, entries) }

// Merge is Compile for entries that come in several lists.
func Merge(c *Call, lists ...[]Entry) Chain {
	n := 0
	for _, entries := range lists {
		n += len(entries)
	}
	chain := make(Chain, 0, n)
	for _, entries := range lists {
		for i := range entries {
			if entries[i].Applies(c) {
				chain = append(chain, &entries[i])
			}
		}
	}
	slices.SortStableFunc(chain, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Scope(), b.Scope()), cmp.Compare(a.Priority, b.Priority),
			cmp.Compare(a.Name, b.Name))
	})
	return chain
}

// Glob matches name with a pattern in which * stands for any text and ? for one
// byte. It goes back to the last star only, so it is never worse than quadratic.
func Glob(pattern, name string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
