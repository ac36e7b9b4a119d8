package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/mcpserver/door"
)

// messagePath is where the clients of the SSE transport send their messages.
const messagePath = "/message"

// SSE serves the transport of 2024-11-05: a GET to /sse opens a session and its
// stream of events, POSTs to /message send into it. The SDK's own handler neither
// binds a session to its owner nor tells handlers who sent a message.
func (s *Server) SSE() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := door.Request(r.Context())
		message := r.URL.Path == messagePath
		switch {
		case message && r.Method == http.MethodPost:
			s.receiveSSE(w, r, request)
		case !message && r.Method == http.MethodGet:
			s.serveSSE(w, r, request)
		default:
			w.Header().Set("Allow", map[bool]string{true: "POST", false: "GET"}[message])
			door.Refuse(w, http.StatusMethodNotAllowed, "open a session with GET /sse and send to it with POST "+messagePath)
		}
	})
}

// serveSSE opens a session, which lasts as long as the stream.
func (s *Server) serveSSE(w http.ResponseWriter, r *http.Request, request core.Request) {
	owner := ownerOf(request)
	place, err := s.sessions.reserve(owner)
	if err != nil {
		door.Problem(w, err)
		return
	}
	defer s.sessions.giveBack(place)
	st := newStream(w)
	defer st.close()
	h := w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	c := &sseConn{id: rand.Text(), stream: st, incoming: make(chan jsonrpc.Message), quit: s.base.Done(), done: make(chan struct{})}
	sdk, err := s.sdk.Connect(s.base, sseTransport{c}, nil)
	if err != nil {
		door.Problem(w, err)
		return
	}
	session := s.sessions.fill(place, c.id, sdk, c)
	if session == nil {
		_ = sdk.Close()
		return
	}
	s.sessions.enter(c.id, owner)
	defer s.sessions.leave(session)
	defer s.sessions.drop(session)
	st.endpoint(messagePath + "?sessionId=" + c.id)
	select {
	case <-r.Context().Done():
		_ = c.Close() // cancels the calls under way: nobody is left to answer to
	case <-c.done:
	}
}

// receiveSSE takes a message in and answers 202; what becomes of it is an event
// in the session's stream.
func (s *Server) receiveSSE(w http.ResponseWriter, r *http.Request, request core.Request) {
	x := &exchange{w: newStream(w), r: r, request: request}
	defer x.w.close()
	if !x.read() {
		return
	}
	session := s.sessions.enter(r.URL.Query().Get("sessionId"), ownerOf(request))
	if session == nil {
		noSession(w)
		return
	}
	defer s.sessions.leave(session)
	if session.sse == nil {
		noSession(w)
		return
	}
	if x.message.batch {
		reject(w, http.StatusBadRequest, nil, invalidRequest("there are no batches in this transport"))
		return
	}
	message, err := jsonrpc.DecodeMessage(x.body)
	if err != nil {
		reject(w, http.StatusBadRequest, x.message.id, invalidRequest("%v", err))
		return
	}
	call, ok := message.(*jsonrpc.Request)
	if ok {
		t := &ticket{request: request, session: session.id}
		call.Extra = &mcp.RequestExtra{TokenInfo: t.info(), Header: r.Header}
	}
	unanswered := 0
	if ok && call.IsCall() {
		unanswered = 1
	}
	session.sse.count(unanswered)
	select {
	case session.sse.incoming <- message:
		w.WriteHeader(http.StatusAccepted)
		return
	case <-session.sse.done:
		noSession(w)
	case <-r.Context().Done():
	}
	session.sse.count(-unanswered)
}

// noSession is the one answer for a session that does not exist, has ended, or is
// somebody else's.
func noSession(w http.ResponseWriter) {
	door.Problem(w, core.Errorf(core.NotFound, "there is no such session").WithHint("open a new one"))
}

// sseTransport makes a session of a sseConn. It says that the generation without
// sessions is not spoken here.
type sseTransport struct{ conn *sseConn }

// Connect gives the connection to the SDK.
func (t sseTransport) Connect(context.Context) (mcp.Connection, error) { return t.conn, nil }

// SupportsProtocolVersion serves mcp.ProtocolVersionSupporter.
func (t sseTransport) SupportsProtocolVersion(version string) bool { return version < modernVersion }

// sseConn is the connection of a session: messages come from POSTs and go into
// the stream.
type sseConn struct {
	id       string
	stream   *stream
	incoming chan jsonrpc.Message
	quit     <-chan struct{} // closed when nothing is waited for any more

	once sync.Once
	done chan struct{}

	mu         sync.Mutex
	unanswered int
	answered   chan struct{} // closed when unanswered becomes 0, nil while it is
}

// count adds to the calls that have no answer yet.
func (c *sseConn) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unanswered += n
	switch {
	case c.unanswered > 0 && c.answered == nil:
		c.answered = make(chan struct{})
	case c.unanswered == 0 && c.answered != nil:
		close(c.answered)
		c.answered = nil
	}
}

// drain waits until every call has its answer, or nobody is left to read it. The
// SDK drops the answers of calls that its session does not outlive.
func (c *sseConn) drain() {
	c.mu.Lock()
	answered := c.answered
	c.mu.Unlock()
	if answered == nil {
		return
	}
	select {
	case <-answered:
	case <-c.done:
	case <-c.quit:
	}
}

// SessionID serves mcp.Connection.
func (c *sseConn) SessionID() string { return c.id }

// Read waits for the next POST.
func (c *sseConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.incoming:
		return m, nil
	case <-c.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write sends an event.
func (c *sseConn) Write(_ context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	select {
	case <-c.done:
		return errors.New("the stream has ended")
	default:
	}
	c.stream.event(data)
	if _, ok := m.(*jsonrpc.Response); ok {
		c.count(-1)
	}
	return nil
}

// Close ends the stream.
func (c *sseConn) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}
