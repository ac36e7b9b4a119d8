package upstream

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// exchange is one raw request and what comes back for it.
type exchange struct {
	// id is the request's id and, where progress is wanted, its token: one
	// number per session makes both unambiguous.
	id     int64
	method string
	params json.RawMessage
	// name and mirrored go into the headers of protocol 2026-07-28.
	name     string
	mirrored map[string]string

	sent     atomic.Bool // the request may have reached the server
	answer   chan *jsonrpc.Response
	progress *progress // nil when nobody listens
	asked    atomic.Pointer[string]
}

// firstID is where our request ids begin. The SDK numbers its own requests from 1
// in the same session; some servers keep ids in 32 bits.
const firstID = 1 << 30

// exchanges are the raw requests under way in one session.
type exchanges struct {
	mu   sync.Mutex
	last int64
	open map[int64]*exchange
}

// add gives x its id.
func (e *exchanges) add(x *exchange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open == nil {
		e.open = make(map[int64]*exchange)
		e.last = firstID
	}
	e.last++
	x.id = e.last
	e.open[x.id] = x
}

func (e *exchanges) remove(x *exchange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.open, x.id)
}

func (e *exchanges) find(id int64) *exchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open[id]
}

// all gives the requests under way.
func (e *exchanges) all() []*exchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]*exchange, 0, len(e.open))
	for _, x := range e.open {
		out = append(out, x)
	}
	return out
}

// notified passes a progress notification on, and reports whether it was one for
// a request of ours.
func (e *exchanges) notified(req *jsonrpc.Request) bool {
	if req.Method != "notifications/progress" {
		return false
	}
	var p struct {
		Token json.Number `json:"progressToken"`
		Progress
	}
	if json.Unmarshal(req.Params, &p) != nil {
		return false
	}
	token, err := p.Token.Int64()
	if err != nil || token <= firstID {
		return false
	}
	if x := e.find(token); x != nil && x.progress != nil {
		x.progress.push(p.Progress)
	}
	return true
}

// progressBacklog bounds the notifications that wait for a slow listener.
const progressBacklog = 64

// progress hands notifications to a listener in order, in a goroutine of its own,
// so that a slow listener does not hold up a session that others share. When too
// many wait, the oldest is dropped: the newest says how far the call has come.
type progress struct {
	done chan struct{}

	mu     sync.Mutex
	queue  chan Progress
	closed bool
}

func newProgress(listen func(Progress)) *progress {
	p := &progress{done: make(chan struct{}), queue: make(chan Progress, progressBacklog)}
	go func() {
		defer close(p.done)
		for x := range p.queue {
			listen(x)
		}
	}()
	return p
}

func (p *progress) push(x Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	for {
		select {
		case p.queue <- x:
			return
		default:
		}
		select {
		case <-p.queue:
		default:
		}
	}
}

// finish waits until the listener has had everything, or ctx ends. This is the
// barrier that keeps the last notification before its result.
func (p *progress) finish(ctx context.Context) {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.queue)
	}
	p.mu.Unlock()
	select {
	case <-p.done:
	case <-ctx.Done():
	}
}

// rawResponse takes a server's answer apart.
func rawResponse(resp *jsonrpc.Response) (json.RawMessage, error) {
	switch err := resp.Error.(type) {
	case nil:
		return resp.Result, nil
	case *jsonrpc.Error:
		return nil, &RPCError{Code: err.Code, Message: err.Message, Data: err.Data}
	default:
		return nil, err
	}
}
