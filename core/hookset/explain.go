package hookset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// Explanation is which hooks a call goes through, and why the others are left out.
type Explanation struct {
	// Outer is the chain around a meta-tool, Inner the one around the real call;
	// outermost first.
	Outer []Explained `json:"outer"`
	Inner []Explained `json:"inner"`
	// Skipped are those that are in neither.
	Skipped []Explained `json:"skipped"`
}

// Explained is one hook with where it comes from and how it is used.
type Explained struct {
	ID       string        `json:"id,omitempty"`
	Name     string        `json:"name"`
	Type     string        `json:"type"`
	Scope    string        `json:"scope"`
	UserID   string        `json:"userId,omitempty"`
	ServerID string        `json:"serverId,omitempty"`
	Level    hooks.Level   `json:"level"`
	Events   []hooks.Event `json:"events"`
	Mode     hooks.Mode    `json:"mode"`
	OnError  hooks.OnError `json:"onError"`
	Priority int           `json:"priority"`
	Timeout  string        `json:"timeout"`
	Origin   hooks.Origin  `json:"origin"`
	State    State         `json:"state"`
	// Why says why the hook is left out.
	Why string `json:"why,omitempty"`
}

// Effective explains the chains of one call of a principal: the outer one, around
// the meta-tool, and the inner one, around the tool, whose Tool may be nil.
func (s *Set) Effective(ctx context.Context, outer, inner *hooks.Call) (Explanation, error) {
	p := outer.Principal
	e, err := s.Entries(ctx, p)
	if err != nil {
		return Explanation{}, err
	}
	defer e.Release()
	x := Explanation{Outer: []Explained{}, Inner: []Explained{}, Skipped: []Explained{}}
	in := map[string]bool{}
	add := func(to *[]Explained, c *hooks.Call) {
		for _, entry := range e.Chain(c) {
			ex := s.explain(entry, e.snapshot.byKey[entry.ID].definition)
			if ex.State.State != Disabled {
				in[entry.ID] = true
				*to = append(*to, ex)
			}
		}
	}
	add(&x.Outer, outer)
	if inner.Tool != nil {
		add(&x.Inner, inner)
	}
	for _, one := range e.snapshot.instances {
		d := one.definition
		if in[d.ID] || d.TenantID != "" && d.TenantID != p.TenantID || others(&one.entry, p) {
			continue
		}
		ex := s.explain(&one.entry, d)
		ex.Why = why(one, ex.State, outer, inner)
		x.Skipped = append(x.Skipped, ex)
	}
	for _, d := range s.Definitions() {
		if state := s.State(d); e.snapshot.byKey[d.ID] == nil && state.State == Broken {
			x.Skipped = append(x.Skipped, Explained{ID: d.ID, Name: d.Name, Type: d.Type, Scope: hooks.Global.String(), Origin: d.Origin, State: state,
				Why: "broken: " + state.Reason})
		}
	}
	slices.SortStableFunc(x.Skipped, func(a, b Explained) int { return cmp.Compare(a.Name, b.Name) })
	return x, nil
}

// others reports whether a hook is another user's, of which there may be thousands.
func others(e *hooks.Entry, p core.Principal) bool {
	return e.UserID != "" && e.UserID != p.UserID && e.UserID != p.UserName
}

func (s *Set) explain(e *hooks.Entry, d hooks.Definition) Explained {
	ex := Explain(e)
	ex.State = s.State(d)
	return ex
}

// Explain tells about an entry, which is active.
func Explain(e *hooks.Entry) Explained {
	events := e.Events
	if len(events) == 0 {
		events = ofCalls
	}
	return Explained{ID: e.ID, Name: e.Name, Type: e.Type, Scope: e.Scope().String(),
		UserID: e.UserID, ServerID: e.ServerID, Level: cmp.Or(e.Level, hooks.Both),
		Events: events, Mode: cmp.Or(e.Mode, hooks.Enforce), OnError: cmp.Or(e.OnError, hooks.Fail), Priority: e.Priority,
		Timeout: cmp.Or(e.Timeout, hooks.DefaultTimeout).String(), Origin: e.Origin, State: State{State: Active}}
}

// why says why a hook is in neither chain.
func why(in *instance, state State, outer, inner *hooks.Call) string {
	switch {
	case !in.definition.Enabled:
		return "it is switched off"
	case state.State == Disabled:
		return "it is disabled: " + state.Reason
	case in.entry.Level == hooks.Meta || inner.Tool == nil && in.entry.Unmet(outer) != hooks.UnmetLevel:
		return unmet(&in.entry, outer)
	case inner.Tool == nil:
		return "it acts on calls of tools, and no tool was named"
	}
	return unmet(&in.entry, inner)
}

// unmet puts into words which condition of an entry a call does not meet.
func unmet(e *hooks.Entry, c *hooks.Call) string {
	switch e.Unmet(c) {
	case hooks.UnmetLevel:
		return fmt.Sprintf("it acts at the level %s alone", e.Level)
	case hooks.UnmetEvents:
		return fmt.Sprintf("it acts at %s alone", list(e.Events))
	case hooks.UnmetUser:
		return "it is for another user"
	case hooks.UnmetServer:
		return fmt.Sprintf("it is for the server %s", e.ServerID) + on(c)
	case hooks.UnmetServers:
		return "it is for the servers " + strings.Join(e.Servers, ", ") + on(c)
	case hooks.UnmetAgents:
		return "it is for the agents " + strings.Join(e.Agents, ", ") + as(c)
	case hooks.UnmetPattern:
		return fmt.Sprintf("pattern %q does not match %q", e.Pattern, c.Name())
	}
	return ""
}

func as(c *hooks.Call) string {
	if c.Principal.Agent == "" {
		return ", and this call names none"
	}
	return fmt.Sprintf(", and this is %q", c.Principal.Agent)
}

func on(c *hooks.Call) string {
	if c.Server == nil {
		return ", and no tool was named"
	}
	return fmt.Sprintf(", and the tool is on %q", c.Server.Name)
}

func list(events []hooks.Event) string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = string(e)
	}
	return strings.Join(names, ", ")
}

func byName(a, b hooks.Definition) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}
