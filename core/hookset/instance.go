package hookset

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// instance is a definition ready to be used.
type instance struct {
	*live
	definition hooks.Definition
	entry      hooks.Entry
	// closed: it is a user's own, and its type is not open to users any more.
	closed bool
}

// live is a hook in use, which outlives the snapshots that it is in.
type live struct {
	set     *Set
	key     string
	version int64
	hook    hooks.Hook
	// broken says why the hook could not be made.
	broken *core.Error
	// uses counts the snapshots that it is in and who else keeps it.
	uses atomic.Int64
}

// keep holds on to the hook beyond the call.
func (l *live) keep() (release func()) {
	l.uses.Add(1)
	return l.release
}

// release gives back a use. The last one closes the hook.
func (l *live) release() {
	if l.uses.Add(-1) > 0 {
		return
	}
	if closer, ok := l.hook.(io.Closer); ok {
		l.set.tasks.Go(func() {
			if err := closer.Close(); err != nil {
				l.set.log.Warn("close hook", "hook_id", l.key, "err", err)
			}
		})
	}
}

// discard closes a hook that was made and is not to be used.
func (l *live) discard() {
	l.uses.Add(1)
	l.release()
}

// newInstance ties a hook to the conditions under which it applies.
func newInstance(k *kind, d hooks.Definition, l *live) *instance {
	in := &instance{live: l, definition: d}
	in.entry = hooks.Entry{ID: d.ID, Name: d.Name, Type: d.Type, Version: d.Version, UserID: d.UserID, ServerID: d.ServerID,
		Level: d.Level, Events: d.Events, Pattern: d.Pattern, Servers: d.Servers, Agents: d.Agents, Mode: d.Mode, OnError: d.OnError,
		Priority: d.Priority, Timeout: d.Timeout, Origin: d.Origin, Owned: d.Owned, Hook: l.hook, Keep: l.keep, Inline: true}
	if k != nil && l.broken == nil {
		in.entry.Inline = k.Inline
		if len(d.Events) == 0 {
			in.entry.Events = k.Events
		}
	}
	return in
}

// acts reports whether the hook is switched on, was not disabled, and may be there.
func (in *instance) acts() bool {
	return in.definition.Enabled && in.definition.DisabledAt.IsZero() && !in.closed
}

// broken is what stands in for a hook that cannot be made: it fails, so that
// on_error decides what follows.
type broken struct {
	err    *core.Error
	events []hooks.Event
}

// Before fails.
func (b broken) Before(context.Context, *hooks.Call) error { return b.err }

// After fails where there was no Before to do so: once is enough.
func (b broken) After(_ context.Context, c *hooks.Call) error {
	if len(b.events) == 0 || slices.Contains(b.events, hooks.Event(c.Level+":before")) {
		return nil
	}
	return b.err
}

// make makes the hook of a complete definition, or says what is wrong with it.
// Secrets are in the clear.
func (s *Set) make(d hooks.Definition, text []byte) (*live, []core.Fault) {
	k := s.kinds[d.Type]
	config, faults := s.resolve(k, d)
	if len(faults) > 0 {
		return nil, faults
	}
	from := hooks.Instance{Key: d.ID, Name: d.Name, Config: config, Source: text, TenantID: d.TenantID, Trusted: d.Origin.Trusted()}
	if d.Owned {
		from.UserID = d.UserID
	}
	h, err := construct(k.New, from)
	if err != nil {
		return nil, constructionFaults(err)
	}
	l := &live{set: s, key: d.ID, version: d.Version, hook: h}
	if _, handles := h.(hooks.Handler); !handles {
		if faults := onlyOfCalls(d.Events); len(faults) > 0 {
			l.discard()
			return nil, faults
		}
	}
	return l, nil
}

// construct calls a type's New, which may panic at what a stranger wrote.
func construct(make func(hooks.Instance) (hooks.Hook, error), in hooks.Instance) (h hooks.Hook, err error) {
	defer func() {
		if v := recover(); v != nil {
			h, err = nil, core.Errorf(core.Internal, "the hook cannot be made of this configuration")
		}
	}()
	return make(in)
}

// constructionFaults says where a type's New found something wrong.
func constructionFaults(err error) []core.Fault {
	var told *core.Error
	if !errors.As(err, &told) {
		return []core.Fault{{Pointer: "/config", Message: "the hook cannot be made of this configuration"}}
	}
	if len(told.Faults) == 0 {
		return []core.Fault{{Pointer: "/config", Message: told.Message}}
	}
	faults := slices.Clone(told.Faults)
	for i := range faults {
		faults[i].Pointer = "/config" + faults[i].Pointer
	}
	return faults
}

// unusable is a stand-in for a hook that cannot be made.
func (s *Set) unusable(d hooks.Definition, faults []core.Fault) *live {
	err := core.Errorf(core.Unavailable, "the hook %q cannot be used: %s", d.Name, sentence(faults)).
		WithHint("an admin has to mend it")
	return &live{set: s, key: d.ID, version: d.Version, hook: broken{err, d.Events}, broken: err}
}

// sentence is the first of what is wrong, in words.
func sentence(faults []core.Fault) string {
	if len(faults) == 0 {
		return "it is not valid"
	}
	text := faults[0].Message
	if at := faults[0].Pointer; at != "" && at != "/config" { // of all of it
		text = at + " " + text
	}
	return text
}
