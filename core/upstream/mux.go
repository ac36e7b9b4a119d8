package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stream is a connection on which all messages come in order: stdio or the older
// SSE transport.
type stream interface {
	Read(context.Context) (jsonrpc.Message, error)
	// send writes a message, and sets sent as soon as the server may have seen it.
	send(ctx context.Context, msg jsonrpc.Message, sent *atomic.Bool) error
	Close() error
}

// cancelTimeout bounds the telling of a server that a request was cancelled.
const cancelTimeout = 5 * time.Second

// mux lets the SDK's session and our raw requests share a stream. To the SDK it is
// the connection; answers to our requests and progress of our calls never reach it.
type mux struct {
	stream stream
	exchanges
	inbox chan jsonrpc.Message // for the SDK
	heard atomic.Int64         // when the server last said something, in Unix nanoseconds
	tasks tasks

	attached atomic.Bool // the SDK reads
	done     chan struct{}
	err      error           // why the stream ended; set before done is closed
	broken   bool            // it ended before we closed it; likewise
	ctx      context.Context // ends when the mux is closed
	end      context.CancelFunc
}

func newMux(s stream) *mux {
	m := &mux{stream: s, inbox: make(chan jsonrpc.Message, 64), done: make(chan struct{})}
	m.ctx, m.end = context.WithCancel(context.Background())
	m.tasks.start(m.readAll)
	return m
}

// Connect makes mux its own transport.
func (m *mux) Connect(context.Context) (mcp.Connection, error) {
	m.attached.Store(true)
	return m, nil
}

func (m *mux) readAll() {
	for {
		msg, err := m.stream.Read(context.Background())
		if err != nil {
			m.err, m.broken = err, m.ctx.Err() == nil
			close(m.done)
			return
		}
		m.heard.Store(time.Now().UnixNano())
		if m.take(msg) || !m.attached.Load() {
			continue
		}
		select {
		case m.inbox <- msg:
		case <-m.ctx.Done():
		}
	}
}

// take keeps what is for our own requests.
func (m *mux) take(msg jsonrpc.Message) bool {
	switch msg := msg.(type) {
	case *jsonrpc.Response:
		id, ok := msg.ID.Raw().(int64)
		if !ok || id <= firstID {
			return false
		}
		if x := m.find(id); x != nil {
			m.remove(x)
			x.answer <- msg
		}
		return true // a late answer to a request that was given up is dropped
	case *jsonrpc.Request:
		if m.notified(msg) {
			return true
		}
		// The SDK answers; which call made the server ask is certain only if there is one.
		if open := m.all(); msg.IsCall() && msg.Method != "ping" && len(open) == 1 {
			open[0].asked.Store(&msg.Method)
		}
	}
	return false
}

// Read gives the SDK its messages.
func (m *mux) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-m.inbox:
		return msg, nil
	default:
	}
	select {
	case msg := <-m.inbox:
		return msg, nil
	case <-m.done:
		return nil, m.err
	case <-m.ctx.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write sends for the SDK.
func (m *mux) Write(ctx context.Context, msg jsonrpc.Message) error {
	var sent atomic.Bool
	return m.unsent(ctx, m.stream.send(ctx, msg, &sent))
}

// unsent explains why a message could not be sent. A child that takes no more is
// usually about to end, and its last words say more than the broken pipe.
func (m *mux) unsent(ctx context.Context, err error) error {
	if !errors.Is(err, errNotSent) && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	select {
	case <-m.done:
		return errors.Join(m.err, err)
	case <-ctx.Done():
	case <-time.After(terminateAfter):
	}
	return err
}

// SessionID is empty: these transports have one session per connection.
func (m *mux) SessionID() string { return "" }

// Close ends the stream and waits for what reads it. The SDK calls it too.
func (m *mux) Close() error {
	m.end()
	err := m.stream.Close()
	m.tasks.wait()
	return err
}

func (m *mux) ended() <-chan struct{} { return m.done }

func (m *mux) lastHeard() time.Time { return time.Unix(0, m.heard.Load()) }

// breach gives why the stream ended by itself, or nil if it has not.
func (m *mux) breach() error {
	select {
	case <-m.done:
		if m.broken {
			return m.err
		}
	default:
	}
	return nil
}

// why says how the stream ended; it must have.
func (m *mux) why() error { return m.err }

// request sends x and waits for its answer.
func (m *mux) request(ctx context.Context, x *exchange) (json.RawMessage, error) {
	x.answer = make(chan *jsonrpc.Response, 1)
	id, err := jsonrpc.MakeID(float64(x.id))
	if err != nil {
		return nil, err
	}
	defer m.remove(x)
	if err := m.stream.send(ctx, &jsonrpc.Request{ID: id, Method: x.method, Params: x.params}, &x.sent); err != nil {
		return nil, m.unsent(ctx, err)
	}
	select {
	case resp := <-x.answer:
		return rawResponse(resp)
	case <-ctx.Done():
		m.cancel(ctx, x)
		return nil, ctx.Err()
	case <-m.done:
	}
	select {
	case resp := <-x.answer: // it came just before the end
		return rawResponse(resp)
	default:
		return nil, m.err
	}
}

// cancel tells the server, off the caller's way back.
func (m *mux) cancel(ctx context.Context, x *exchange) {
	if !x.sent.Load() {
		return
	}
	msg := &jsonrpc.Request{Method: "notifications/cancelled", Params: cancelled(x.id, ctx)}
	m.tasks.start(func() {
		ctx, stop := context.WithTimeout(m.ctx, cancelTimeout)
		defer stop()
		var sent atomic.Bool
		_ = m.stream.send(ctx, msg, &sent) // best effort: the caller has gone
	})
}

// cancelled makes the parameters of notifications/cancelled.
func cancelled(id int64, ctx context.Context) json.RawMessage {
	reason := "the caller cancelled the request"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		reason = "the caller's deadline has passed"
	}
	params, err := json.Marshal(map[string]any{"requestId": id, "reason": reason})
	if err != nil {
		panic(err) // a number and a string always marshal
	}
	return params
}
