package hookset

import (
	"context"
	"slices"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// The keys of what a context carries from whoever runs a hook to Publish.
type (
	handling struct{}
	trying   struct{}
)

// Publish makes a hook's event known. It is for the types of hooks: what a hook
// publishes while it is tried goes nowhere but into what Try answers.
func (s *Set) Publish(ctx context.Context, e core.Event) error {
	if t, ok := ctx.Value(trying{}).(*trialEvents); ok {
		return t.add(e)
	}
	return s.config.Publish(ctx, e)
}

// Handle hands an event outside calls to the hooks that name it, in the
// background. What a hook publishes while it handles an event is not handled again,
// so that nothing goes round for ever; that is seen by ctx, which is the one of the
// publication.
func (s *Set) Handle(ctx context.Context, e core.Event) {
	if ctx.Value(handling{}) != nil || slices.Contains(ofCalls, hooks.Event(e.Type)) {
		return
	}
	ctx = context.WithValue(context.WithoutCancel(ctx), handling{}, true)
	n := s.current.Load()
	for !n.hold() {
		n = s.current.Load()
	}
	defer n.release()
	for _, in := range n.instances {
		if h, ok := in.hook.(hooks.Handler); ok && in.wants(e) {
			if err := s.runner.Handle(ctx, &in.entry, e, h); err != nil {
				s.log.Warn("an event was not handed to a hook", "hook", in.entry.Name, "event", e.Type, "err", err)
			}
		}
	}
}

// wants reports whether an event is for a hook: a user's hooks see that user's
// events alone.
func (in *instance) wants(e core.Event) bool {
	d := &in.definition
	return in.acts() && slices.Contains(d.Events, hooks.Event(e.Type)) &&
		(d.TenantID == "" || d.TenantID == e.TenantID) && (d.UserID == "" || d.UserID == e.UserID) &&
		(d.ServerID == "" || d.ServerID == e.ServerID) && hooks.Glob(d.Pattern, e.Subject)
}
