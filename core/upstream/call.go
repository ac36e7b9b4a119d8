package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/toolscout/toolscout/core"
)

// Call runs a tool, in the session that belongs to the call's server, credentials
// and caller. It is sent at most once: a second time only if the first has
// certainly not reached the server, or the server said that it no longer knew the
// session.
//
// The error is a core.Error: Unavailable when the call was not sent, Timeout and
// UpstreamError (with an *RPCError as cause, if that is what the server answered)
// when it may have run, InvalidParams when the arguments are no JSON object.
func (p *Pool) Call(ctx context.Context, c Call) (Result, error) {
	start := time.Now()
	t, f := p.resolve(c.Server)
	srv := p.server(c.Server.ID)
	if f != nil {
		srv.failed(f, f.text)
		return Result{}, refuse(&target{name: c.Server.Name}, f, false)
	}
	ctx, cancel := p.deadline(ctx, t.timeout)
	defer cancel()
	raw, sent, err := p.call(ctx, srv, t, &c)
	result := Result{Raw: raw, Sent: sent, Duration: time.Since(start)}
	if err != nil {
		return result, refuse(t, closing(ctx, err), sent)
	}
	return result, nil
}

// call waits for its turn, sends, and sends again where that is safe.
func (p *Pool) call(ctx context.Context, srv *server, t *target, c *Call) (json.RawMessage, bool, error) {
	select {
	case srv.turns <- struct{}{}:
		defer func() { <-srv.turns }()
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, false, ctx.Err()
		}
		return nil, false, faultf("", "%d calls are under way already, and none ended in time", p.cfg.PerServer)
	}
	key := Key{ServerID: t.id, Credential: t.credential, Isolation: isolation(c.Server, c.Caller)}
	for again := true; ; again = false {
		s, err := p.acquire(ctx, key, t)
		if err != nil {
			return nil, false, err
		}
		raw, sent, err := s.call(ctx, c)
		err = dead(err)
		p.settle(srv, s, raw, sent, err)
		if err == nil || !again || !resendable(ctx, sent, err) {
			return raw, sent, err
		}
	}
}

// resendable is the rule of at most once.
func resendable(ctx context.Context, sent bool, err error) bool {
	var f *fault
	var own *core.Error
	if ctx.Err() != nil || errors.As(err, &own) {
		return false
	}
	return !sent || errors.As(err, &f) && f.missing
}

// settle releases a session and draws the conclusions of a call.
func (p *Pool) settle(srv *server, s *session, raw json.RawMessage, sent bool, err error) {
	p.release(s, err)
	var rpc *RPCError
	var f *fault
	switch {
	case err == nil:
		srv.worked()
		if isUnknownTool(raw) {
			p.notify.changed(srv.id)
		}
	case errors.As(err, &rpc):
		srv.worked()
		if rpc.unknownTool() {
			p.notify.changed(srv.id)
		}
	case errors.As(err, &f):
		if !f.healthy && !f.missing && !s.over() { // or else the watcher has it
			p.failed(srv, s.target, f)
		}
	case errors.Is(err, context.DeadlineExceeded) && sent:
		p.failed(srv, s.target, faultf(stageCall, "did not answer a call in time"))
		p.check(s)
	}
}

// dead makes a fault of errors that nothing else is known of than that the
// connection did not work, so that the session is not used again.
func dead(err error) error {
	var f *fault
	var own *core.Error
	var rpc *RPCError
	if err == nil || errors.As(err, &f) || errors.As(err, &own) || errors.As(err, &rpc) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return lost("the connection was lost").because(err)
}

// isUnknownTool reports whether a result is how some servers say that they have no
// such tool.
func isUnknownTool(raw json.RawMessage) bool {
	return len(raw) < 2048 && bytes.Contains(raw, []byte("true")) && bytes.Contains(raw, []byte(`"isError"`)) && namesUnknownTool(string(raw))
}

// aliveTimeout bounds the question whether a server is still there.
const aliveTimeout = 5 * time.Second

// check asks a server that let a call run into its deadline for a sign of life, and
// gives the session up if there is none: a dead connection looks just like a slow
// tool.
func (p *Pool) check(s *session) {
	if !s.checking.CompareAndSwap(false, true) {
		return
	}
	began := time.Now()
	p.tasks.start(func() {
		defer s.checking.Store(false)
		ctx, cancel := context.WithTimeout(p.ctx, aliveTimeout)
		defer cancel()
		if s.alive(ctx) || s.wire.lastHeard().After(began) || p.ctx.Err() != nil {
			return
		}
		s.slot.mu.Lock()
		defer s.slot.mu.Unlock()
		p.retire(s.slot, s)
	})
}
