package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/access"
	"github.com/toolscout/toolscout/core/events"
)

const (
	// maxStreams is how many streams one user may have open on one instance.
	maxStreams = 16
	// recheck is how old the knowledge of who reads a stream may be when something
	// is shown to them.
	recheck = 2 * time.Second
	// checkTimeout bounds asking for it.
	checkTimeout = 5 * time.Second
)

// EventStream is what happens, as long as its reader may see it, and no more than
// that. One goroutine at a time may use it.
type EventStream struct {
	gateway *Gateway
	// again authenticates the reader anew.
	again func(context.Context) (core.Principal, error)
	sub   *events.Subscription
	leave func()

	principal core.Principal
	view      *access.View
	checked   time.Time
}

// Events opens a stream: stream_events with its arguments, through the outer chain
// like any call. While it is open, again says who the reader is now. Close it.
func (g *Gateway) Events(ctx context.Context, req core.Request, c Call, again func(context.Context) (core.Principal, error)) (*EventStream, error) {
	s := &EventStream{gateway: g, again: again, principal: req.Principal}
	c.Action, c.stream = StreamEvents, s
	if _, err := g.Call(ctx, req, c); err != nil {
		s.Close()
		return nil, err
	}
	if s.sub == nil {
		return nil, core.Errorf(core.HookRejected, "a hook answered in place of the stream of events").
			WithHint("an admin can keep the hook away from it: level = \"tool\", or a pattern that does not match %s", StreamEvents)
	}
	return s, nil
}

// openStream is the action: it subscribes for the stream of its task.
func (g *Gateway) openStream(ctx context.Context, t task) (json.RawMessage, error) {
	if t.stream == nil || g.config.Events == nil {
		return nil, core.Errorf(core.Unavailable, "events are not streamed here")
	}
	args, err := read[struct {
		Types   []string `json:"types"`
		Pattern string   `json:"pattern"`
		After   *int64   `json:"after"`
	}](t.outer.Args)
	if err != nil {
		return nil, core.Errorf(core.InvalidParams, "after is a whole number").Because(err)
	}
	s := t.stream
	if s.leave, err = g.streams.enter(s.principal.UserID); err != nil {
		return nil, err
	}
	f := events.Filter{TenantID: s.principal.TenantID, Types: args.Types, Pattern: args.Pattern, After: events.Latest}
	if args.After != nil {
		f.After = *args.After
	}
	if s.sub, err = g.config.Events.Subscribe(ctx, f); err != nil {
		return nil, err
	}
	s.view, s.checked = t.view, time.Now()
	return json.RawMessage(`{}`), nil
}

// Close ends the stream.
func (s *EventStream) Close() {
	if s.sub != nil {
		s.sub.Close()
	}
	if s.leave != nil {
		s.leave()
	}
	s.sub, s.leave = nil, nil
}

// Source names the sequence that the numbers of events belong to.
func (s *EventStream) Source() string { return s.sub.Source() }

// Position is the number after which the stream begins.
func (s *EventStream) Position() int64 { return s.sub.Position() }

// Gone is closed when the stream is ended from this side; Next says why.
func (s *EventStream) Gone() <-chan struct{} { return s.sub.Gone() }

// Next waits for events that the reader may see. When ctx ends first, the reader is
// still who they were, the error is ctx's, and the batch says how far the stream
// has come. Any other error is the end: Unauthenticated when the token is no good
// any more, RateLimited when the reader did not keep up, Unavailable when the
// gateway stops or nobody can be authenticated.
func (s *EventStream) Next(ctx context.Context) (events.Batch, error) {
	for {
		batch, err := s.sub.Next(ctx)
		idle := err != nil && errors.Is(err, ctx.Err())
		if err != nil && !idle {
			return batch, err
		}
		if idle || time.Since(s.checked) > recheck {
			if err := s.check(ctx); err != nil {
				return events.Batch{}, err
			}
		}
		if idle || batch.Missed != nil {
			return batch, err
		}
		if batch.Events, err = s.visible(ctx, batch.Events); err != nil {
			return events.Batch{}, err
		}
		if len(batch.Events) > 0 {
			return batch, nil
		}
	}
}

// check learns anew who reads.
func (s *EventStream) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	defer cancel()
	p, err := s.again(ctx)
	if err != nil {
		return err
	}
	if p.UserID != s.principal.UserID || p.TenantID != s.principal.TenantID {
		return core.Errorf(core.Unauthenticated, "this stream is another user's")
	}
	view, err := s.gateway.config.Access.View(ctx, p)
	if err != nil {
		return err
	}
	s.principal, s.view, s.checked = p, view, time.Now()
	return nil
}

// visible gives those of some events that the reader may see. It hides nothing
// because it has not yet heard of a server.
func (s *EventStream) visible(ctx context.Context, batch []core.Event) ([]core.Event, error) {
	received, shown := time.Now(), batch[:0:0]
	for _, e := range batch {
		see := s.sees(e)
		if !see && e.UserID == "" && e.ServerID != "" && s.checked.Before(received) {
			if err := s.check(ctx); err != nil {
				return nil, err
			}
			see = s.sees(e)
		}
		if see {
			shown = append(shown, e)
		}
	}
	return shown, nil
}

// sees is the rule: admins see all of their tenant; others what is their own, and
// what is nobody's about a server that they can see.
func (s *EventStream) sees(e core.Event) bool {
	switch {
	case e.TenantID != s.principal.TenantID:
		return false
	case s.principal.Admin():
		return true
	case e.UserID != "":
		return e.UserID == s.principal.UserID
	case e.ServerID == "":
		return false
	}
	_, can := s.view.Server(e.ServerID)
	return can
}

// streams counts who has how many streams open.
type streams struct {
	mu   sync.Mutex
	open map[string]int
}

// enter takes a place: RateLimited when the user has no more. The function it gives
// frees the place.
func (s *streams) enter(userID string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[userID] >= maxStreams {
		return nil, core.Errorf(core.RateLimited, "you have %d streams of events open, which is as many as you may", maxStreams).
			WithHint("close one first")
	}
	s.open[userID]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[userID]--; s.open[userID] <= 0 {
			delete(s.open, userID)
		}
	}, nil
}
