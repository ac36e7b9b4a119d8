package admin

import (
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/secret"
)

// ServerPatch is an edit of a server: what is nil stays. Lists and maps are
// replaced whole; a value of Env or Headers that is secret.Mask stays as it was,
// so that an answer of the API can be edited and sent back.
type ServerPatch struct {
	Name, Description, Domain, URL, Command, Prefix, OwnerID        *string
	Transport                                                       *core.Transport
	Args, AllowedTools, BlockedTools, RequiredRoles, AgentAllowlist *[]string
	Tags                                                            *[]string
	Env, Headers                                                    *map[string]string
	Visibility                                                      *core.Visibility
	Isolation                                                       *core.Isolation
	Timeout                                                         *time.Duration
	Status                                                          *core.Status
}

// apply gives the edited server, with the values of Env and Headers in force:
// what was masked is again as it is stored. The faults are masks that stand for
// nothing.
func (p ServerPatch) apply(s core.Server) (core.Server, []core.Fault) {
	env, headers := s.Env, s.Headers
	set(&s.Name, p.Name)
	set(&s.Description, p.Description)
	set(&s.Domain, p.Domain)
	set(&s.Transport, p.Transport)
	set(&s.URL, p.URL)
	set(&s.Command, p.Command)
	set(&s.Args, p.Args)
	set(&s.Env, p.Env)
	set(&s.Headers, p.Headers)
	set(&s.Prefix, p.Prefix)
	set(&s.AllowedTools, p.AllowedTools)
	set(&s.BlockedTools, p.BlockedTools)
	set(&s.RequiredRoles, p.RequiredRoles)
	set(&s.AgentAllowlist, p.AgentAllowlist)
	set(&s.Tags, p.Tags)
	set(&s.Visibility, p.Visibility)
	set(&s.OwnerID, p.OwnerID)
	set(&s.Isolation, p.Isolation)
	set(&s.Timeout, p.Timeout)
	set(&s.Status, p.Status)
	p.switchTransport(&s)
	if p.Visibility != nil && *p.Visibility != core.Owned && p.OwnerID == nil {
		s.OwnerID = ""
	}
	var f faults
	s.Env = f.unmask("/env", s.Env, env)
	s.Headers = f.unmask("/headers", s.Headers, headers)
	return s, f
}

// switchTransport drops what belonged to the transport that a patch leaves, so
// that changing it does not need the old fields to be emptied one by one.
func (p ServerPatch) switchTransport(s *core.Server) {
	if p.Transport == nil {
		return
	}
	if *p.Transport == core.Stdio {
		drop(&s.URL, p.URL)
		drop(&s.Headers, p.Headers)
		return
	}
	drop(&s.Command, p.Command)
	drop(&s.Args, p.Args)
	drop(&s.Env, p.Env)
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

func drop[T any](field *T, value *T) {
	if value == nil {
		var zero T
		*field = zero
	}
}

// unmask puts the stored value back where a mask stands.
func (f *faults) unmask(at string, given, stored map[string]string) map[string]string {
	if given == nil {
		return nil
	}
	out := make(map[string]string, len(given))
	for name, value := range sorted(given) {
		if value != secret.Mask {
			out[name] = value
			continue
		}
		old, ok := stored[name]
		if !ok {
			f.add(at+"/"+escape(name), "%s keeps a value, and there is none to keep", secret.Mask)
		}
		out[name] = old
	}
	return out
}
