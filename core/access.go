package core

import "slices"

// Access is what a principal is to a server and its tools.
type Access int

// The three kinds of access.
const (
	// Invisible is as if it did not exist.
	Invisible Access = iota
	// Off is visible, but switched off.
	Off
	// On can be found and called.
	On
)

func (a Access) String() string {
	return [...]string{"invisible", "off", "on"}[a]
}

// Preference is how a server is switched for one user.
type Preference struct {
	// Granted: an admin opened a hidden server to the user.
	Granted bool
	// Enabled is the switch; nil when it was never touched.
	Enabled *bool
}

// AccessTo is the one access rule: search, schemas, execution, domains and REST
// all ask it. An admin is no exception.
func AccessTo(p Principal, s *Server, pref Preference) Access {
	if s.TenantID != p.TenantID || s.Status != Active {
		return Invisible
	}
	if s.Visibility == Owned && s.OwnerID != p.UserID {
		return Invisible
	}
	if s.Visibility == Hidden && !pref.Granted {
		return Invisible
	}
	if len(s.RequiredRoles) > 0 && !slices.ContainsFunc(s.RequiredRoles, p.Has) {
		return Invisible
	}
	if len(s.AgentAllowlist) > 0 && !slices.Contains(s.AgentAllowlist, p.Agent) {
		return Invisible
	}
	if pref.Enabled != nil && !*pref.Enabled {
		return Off
	}
	return On
}
