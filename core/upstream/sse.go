package upstream

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolscout/toolscout/core"
)

// dialSSE makes a session over the older SSE transport, whose stream lasts as long
// as the context of its Connect.
func (p *Pool) dialSSE(ctx context.Context, t *target) (*session, error) {
	rt, err := p.newRoundTripper(t)
	if err != nil {
		return nil, err
	}
	lifetime, end := context.WithCancel(context.Background())
	detach := context.AfterFunc(ctx, end)
	fail := func(err error) (*session, error) {
		end()
		return nil, explained(ctx, err, rt, t)
	}
	conn, err := (&mcp.SSEClientTransport{Endpoint: t.url, HTTPClient: rt.client(), MaxEventSize: int(p.cfg.MaxResponse)}).Connect(lifetime)
	if err != nil {
		return fail(err)
	}
	stream := &sseStream{Connection: conn}
	m := newMux(stream)
	sdk, err := p.client(t).Connect(ctx, m, pinned)
	if err != nil {
		_ = m.Close()
		if f := stream.failure.Load(); f != nil {
			err = f
		}
		return fail(err)
	}
	s := newSession(t, sdk, m, p.implementation())
	s.onEnd = end
	if !detach() { // ctx ended just now, and the stream with it
		s.close()
		return fail(ctx.Err())
	}
	return s, nil
}

// sseStream is the SDK's connection of the older SSE transport.
type sseStream struct {
	mcp.Connection
	failure atomic.Pointer[fault] // of the last message that could not be sent
}

func (s *sseStream) send(ctx context.Context, msg jsonrpc.Message, sent *atomic.Bool) error {
	var answer reply
	err := s.Write(context.WithValue(traced(ctx, sent), replyKey{}, &answer), msg)
	if err == nil || ctx.Err() != nil {
		return err
	}
	f := sendFault(answer, err)
	s.failure.Store(f)
	return f
}

// sendFault says why a message could not be posted.
func sendFault(answer reply, err error) *fault {
	var own *fault
	switch {
	case errors.As(err, &own):
		return own
	case answer.status == http.StatusNotFound || answer.status == http.StatusBadRequest || answer.status == http.StatusGone:
		f := lost("no longer knows our session").because(err)
		f.missing, f.refused = true, true
		return f
	case answer.status >= 300:
		return answer.explain(core.SSE).because(err)
	}
	return lost("%s", plain(err)).because(err)
}

// Read gives the next message.
func (s *sseStream) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := s.Connection.Read(ctx)
	if err != nil {
		return nil, lost("closed the event stream").because(err)
	}
	return msg, nil
}
