package hookset

import (
	"context"
	"errors"
	"slices"
	"sync"

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
	return s.publish(ctx, e, s.config.Publish)
}

// PublishSync is Publish that returns when the event is stored.
func (s *Set) PublishSync(ctx context.Context, e core.Event) error {
	return s.publish(ctx, e, s.config.PublishSync)
}

func (s *Set) publish(ctx context.Context, e core.Event, publish func(context.Context, core.Event) error) error {
	if t, ok := ctx.Value(trying{}).(*trialEvents); ok {
		return t.add(e)
	}
	if err := publish(ctx, e); err != nil {
		return err
	}
	// A hook's own event is handed on from here, where it can be seen whether a
	// hook that handles an event published it: that goes no further, or two scripts
	// could keep each other busy for ever.
	if ctx.Value(handling{}) == nil && !slices.Contains(core.EventTypes(), e.Type) {
		s.hand(ctx, e)
	}
	return nil
}

// Handles reports whether some hook acts on events of a type outside calls.
func (s *Set) Handles(typ string) bool {
	return slices.ContainsFunc(s.current.Load().handlers, func(in *instance) bool {
		return slices.Contains(in.definition.Events, hooks.Event(typ))
	})
}

// Handle hands an event of ours outside calls, such as server:failed, to the hooks
// that name it, in the background. What hooks publish does not come this way.
func (s *Set) Handle(ctx context.Context, e core.Event) {
	if slices.Contains(core.EventTypes(), e.Type) && !slices.Contains(ofCalls, hooks.Event(e.Type)) {
		s.hand(ctx, e)
	}
}

func (s *Set) hand(ctx context.Context, e core.Event) {
	n := s.current.Load()
	for !n.hold() {
		n = s.current.Load()
	}
	defer n.release()
	ctx = context.WithValue(ctx, handling{}, true)
	about := s.about(ctx, e)
	for _, in := range n.handlers {
		if !in.wants(about) {
			continue
		}
		if err := s.runner.Handle(ctx, &in.entry, e, in.hook.(hooks.Handler)); err != nil {
			s.log.Warn("an event was not handed to a hook", "hook", in.entry.Name, "event", e.Type, "err", err)
		}
	}
}

// happening is an event with the names, looked up once, of those whose ids it has.
type happening struct {
	core.Event
	userName, serverName func() string
}

func (s *Set) about(ctx context.Context, e core.Event) happening {
	name := func(id string, look func(context.Context) (string, error)) func() string {
		return sync.OnceValue(func() string {
			if id == "" || s.config.Store == nil {
				return ""
			}
			ctx, cancel := context.WithTimeout(ctx, loadTimeout)
			defer cancel()
			name, err := look(ctx)
			if err != nil && !errors.Is(err, core.NotFound) {
				s.log.Warn("hooks that go by a name may miss an event", "event", e.Type, "err", err)
			}
			return name
		})
	}
	return happening{e,
		name(e.UserID, func(ctx context.Context) (string, error) {
			u, err := s.config.Store.User(ctx, e.TenantID, e.UserID)
			return u.Name, err
		}),
		name(e.ServerID, func(ctx context.Context) (string, error) {
			server, err := s.config.Store.Server(ctx, e.TenantID, e.ServerID)
			return server.Name, err
		})}
}

// wants reports whether an event is for a hook: a user's hooks see that user's
// events alone, and those of servers what is about these.
func (in *instance) wants(e happening) bool {
	d := &in.definition
	server := func(ref string) bool { return e.ServerID != "" && (ref == e.ServerID || ref == e.serverName()) }
	return slices.Contains(d.Events, hooks.Event(e.Type)) &&
		(d.TenantID == "" || d.TenantID == e.TenantID) && hooks.Glob(d.Pattern, e.Subject) &&
		(d.UserID == "" || e.UserID != "" && (d.UserID == e.UserID || d.UserID == e.userName())) &&
		(d.ServerID == "" || server(d.ServerID)) && (len(d.Servers) == 0 || slices.ContainsFunc(d.Servers, server))
}
