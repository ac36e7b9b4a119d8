package hookset

import (
	"maps"
	"slices"
	"time"

	"github.com/toolscout/toolscout/hooks"
)

// The states of a hook.
const (
	Active   = "active"
	Disabled = "disabled" // by its own failure
	Broken   = "broken"   // it cannot be made of its definition
)

// State tells whether a hook is used as it is defined. An active hook with a reason
// is a script whose newest text is not valid: it goes on with the one before.
type State struct {
	State  string     `json:"state"`
	Reason string     `json:"reason,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
}

// Definitions gives the hooks of the file and of scripts, with scripts that cannot
// be used, in the order of their names.
func (s *Set) Definitions() []hooks.Definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []hooks.Definition
	for _, r := range s.own {
		all = append(all, r.definition)
	}
	for _, path := range slices.Sorted(maps.Keys(s.sources)) {
		if src := s.sources[path]; src.discovered && src.text == nil {
			all = append(all, src.outline())
		}
	}
	slices.SortStableFunc(all, byName)
	return all
}

// State gives the state of a hook's definition, in this process.
func (s *Set) State(d hooks.Definition) State {
	if !d.DisabledAt.IsZero() {
		return State{Disabled, d.DisabledReason, &d.DisabledAt}
	}
	in := s.current.Load().byKey[d.ID]
	if in != nil && in.version == d.Version {
		if in.closed {
			return State{State: Disabled, Reason: "the type " + d.Type + " is not open to users any more"}
		}
		if in.broken != nil {
			return State{State: Broken, Reason: in.broken.Message}
		}
		if cause, since := s.runner.DisabledBy(&in.entry); cause != nil {
			return State{Disabled, cause.Message, &since}
		}
	}
	s.mu.Lock()
	src := s.sources[s.scriptPath(d)]
	s.mu.Unlock()
	switch {
	case src == nil || src.failure == "":
		return State{State: Active}
	case src.text == nil:
		return State{Broken, src.failure, &src.since}
	default:
		return State{Active, "the newest version is not used: " + src.failure, &src.since}
	}
}
