package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxLine bounds a message on stdin, in bytes.
	maxLine = 16 << 20
	// maxPending bounds the messages of a client that are under way at once.
	maxPending = 256
	// farewell is how long the server may take to end the session at the end.
	farewell = 5 * time.Second
	// bridgeError is the JSON-RPC code of what went wrong between client and server.
	bridgeError = -32000
)

// Attach puts a client that speaks MCP over stdio onto a running server: what
// comes in line by line is sent to the Streamable HTTP endpoint at url with the
// token, byte for byte, and what comes back is written out line by line.
//
// It speaks both generations of the protocol, each message by its own _meta. A
// session that the server has lost is opened again with the client's own
// initialize, and the message that found out is sent again. What cannot be
// delivered is answered with a JSON-RPC error.
//
// Attach ends when in ends, after the answers that are still due and the DELETE
// of the session, with nil; when out fails, with that error; or with ctx. Then a
// pending read of in may outlive it.
func Attach(ctx context.Context, in io.Reader, out io.Writer, url, token string, client *http.Client) error {
	if client == nil {
		client = &http.Client{}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b := &bridge{url: url, token: token, client: client, out: out, fail: cancel, pending: map[string]context.CancelFunc{}}
	lines := make(chan []byte)
	ended := make(chan error, 1)
	go func() { ended <- readLines(ctx, in, lines, b.refuseLine) }()
	for {
		select {
		case line := <-lines:
			b.accept(ctx, line)
		case err := <-ended:
			return errors.Join(err, b.drain(ctx))
		case <-ctx.Done():
			return b.drain(ctx)
		}
	}
}

// bridge is one client's stdio on one server's HTTP.
type bridge struct {
	url, token string
	client     *http.Client
	fail       context.CancelCauseFunc // ends everything

	outMu sync.Mutex
	out   io.Writer

	running sync.WaitGroup // messages under way
	renewal sync.Mutex     // held while a session is opened

	mu      sync.Mutex
	session string // of the generation with sessions
	version string // that it speaks
	opening []byte // the client's initialize
	started bool   // the client has sent notifications/initialized
	streams sync.WaitGroup
	pending map[string]context.CancelFunc // requests under way by id
}

// readLines sends the lines of in until it ends. Lines beyond maxLine are skipped
// and told to refuse.
func readLines(ctx context.Context, in io.Reader, lines chan<- []byte, refuse func()) error {
	r := bufio.NewReaderSize(in, 64<<10)
	var line []byte
	skipping := false
	for {
		part, err := r.ReadSlice('\n')
		if !skipping {
			line = append(line, part...)
		}
		if len(line) > maxLine {
			line, skipping = nil, true
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if skipping {
			refuse()
		}
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 {
			select {
			case lines <- trimmed:
			case <-ctx.Done():
				return nil
			}
		}
		line, skipping = nil, false
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the client's messages: %w", err)
		}
	}
}

func (b *bridge) refuseLine() {
	b.answer(nil, invalidRequest("a message has at most %d bytes", maxLine))
}

// accept takes one line. The handshake is waited for, because what follows needs
// its session; everything else is under way at once.
func (b *bridge) accept(ctx context.Context, line []byte) {
	m, refusal := open(line)
	if refusal != nil {
		b.answer(m.id, refusal)
		return
	}
	switch m.method {
	case "initialize":
		b.initialize(ctx, line, m)
		return
	case "notifications/initialized":
		b.send(ctx, line, m)
		b.listen(ctx)
		return
	case "notifications/cancelled":
		if b.abort(cancelled(m.params)) {
			return
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	if !b.begin(m, cancel) {
		cancel()
		b.answer(m.id, invalidRequest("more than %d messages are under way", maxPending))
		return
	}
	b.running.Go(func() {
		defer cancel()
		defer b.end(m)
		b.send(ctx, line, m)
	})
}

// begin notes a message under way; false when there are too many.
func (b *bridge) begin(m envelope, cancel context.CancelFunc) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.method == "" || m.id == nil {
		return true
	}
	if len(b.pending) >= maxPending {
		return false
	}
	b.pending[string(m.id)] = cancel
	return true
}

func (b *bridge) end(m envelope) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.method != "" && m.id != nil {
		delete(b.pending, string(m.id))
	}
}

// abort ends a request of the generation without sessions, where hanging up is
// how a client cancels. It reports false in the other one, where the server must
// be told.
func (b *bridge) abort(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.session != "" {
		return false
	}
	if cancel, ok := b.pending[id]; ok {
		cancel()
	}
	return true
}

// write puts a message out on a line of its own.
func (b *bridge) write(message []byte) {
	message = oneLine(message)
	line := append(message[:len(message):len(message)], '\n')
	b.outMu.Lock()
	defer b.outMu.Unlock()
	if _, err := b.out.Write(line); err != nil {
		b.fail(fmt.Errorf("write to the client: %w", err))
	}
}

// answer puts an error out for a request. Nobody waits for one without an id,
// unless nobody knows whether it had one.
func (b *bridge) answer(id json.RawMessage, e *jsonrpc.Error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	encoded, err := json.Marshal(e)
	if err != nil { // its data was no JSON
		encoded = []byte(`{"code":-32603,"message":"internal error"}`)
	}
	b.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, encoded))
}

// drain waits for the answers that are due, as long as ctx lasts, and ends the
// session. It gives what ended ctx.
func (b *bridge) drain(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		b.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	cause := context.Cause(ctx)
	b.endSession()
	b.fail(nil)
	<-done
	b.streams.Wait()
	return cause
}

// endSession tells the server that the session is over. If it does not hear, its
// own timeout does the rest.
func (b *bridge) endSession() {
	b.mu.Lock()
	session := b.session
	b.session, b.opening = "", nil
	b.mu.Unlock()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	r, err := b.request(ctx, http.MethodDelete, nil, session)
	if err != nil {
		return
	}
	if resp, err := b.client.Do(r); err == nil {
		_ = resp.Body.Close()
	}
}
