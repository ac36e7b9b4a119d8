package core

import "slices"

// RoleAdmin is the role that opens the admin routes. It opens nothing at /mcp.
const RoleAdmin = "admin"

// DefaultTenant is the id of the only tenant there is so far.
const DefaultTenant = "00000000-0000-0000-0000-000000000001"

// Principal is who asks. It is read afresh from the database for every request
// and passed as a parameter, never inside a context.
type Principal struct {
	TenantID string
	UserID   string
	// UserName is the user's name as audit rows keep it.
	UserName string
	Roles    []string
	TokenID  string
	// Agent is the program acting for the user: bound to the token, or named by
	// the client when the token names none.
	Agent string
	// AgentNamed: the client named the agent, and may name another the next time.
	AgentNamed bool

	// Seen is how new the caller's knowledge must at least be.
	Seen Revisions
}

// Revisions are the counters that the database had when a principal was
// authenticated. Whatever is cached under lower numbers is out of date.
type Revisions struct {
	// Catalog counts changes to servers and tools.
	Catalog int64
	// User counts changes to this user's own switches.
	User int64
	// Hooks counts changes to the hooks in the database.
	Hooks int64
	// Listening: somebody listens to what is called, on some instance, or has just
	// done so.
	Listening bool
}

// Has reports whether the principal holds a role.
func (p Principal) Has(role string) bool { return slices.Contains(p.Roles, role) }

// Admin reports whether the admin routes are open to the principal.
func (p Principal) Admin() bool { return p.Has(RoleAdmin) }
