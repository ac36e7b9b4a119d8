package mcpserver

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// silence is how long an event stream may say nothing before a comment keeps it
// open: proxies and clients cut silent ones off after 30 to 60 seconds.
const silence = 15 * time.Second

const eventStream = "text/event-stream"

// stream is the ResponseWriter of an answer that may take its time. Whole events
// are written in one Write, so a comment never falls into one.
type stream struct {
	http.ResponseWriter

	mu     sync.Mutex
	timer  *time.Timer
	lazy   bool // its header is ours, and still undecided
	events bool // it is an event stream: comments may go into it
	wrote  bool
	closed bool
}

func newStream(w http.ResponseWriter) *stream {
	st := &stream{ResponseWriter: w}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.timer = time.AfterFunc(silence, st.keepAlive)
	return st
}

// close lets no more comments out; handlers may not write when they have returned.
func (st *stream) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
	st.timer.Stop()
}

func (st *stream) keepAlive() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return
	}
	if st.lazy {
		st.becomeEvents()
	}
	if st.events {
		st.wrote = true
		_, _ = io.WriteString(st.ResponseWriter, ": still here\n\n") // a client that is gone is found out by others
		_ = http.NewResponseController(st.ResponseWriter).Flush()
	}
	st.timer.Reset(silence)
}

// opened says that the header is complete and events will follow. Before, the
// header belongs to the handler's goroutine.
func (st *stream) opened() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.events = true
}

// wait hands the header over: the answer becomes plain JSON if finish comes
// first, else an event stream.
func (st *stream) wait() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.lazy = true
}

// becomeEvents decides for an event stream; st.mu is held.
func (st *stream) becomeEvents() {
	st.lazy, st.events, st.wrote = false, true, true
	h := st.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-cache, no-transform")
}

// endpoint is the first event of the older SSE transport.
func (st *stream) endpoint(path string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.events, st.wrote = true, true
	_, _ = io.WriteString(st.ResponseWriter, "event: endpoint\ndata: "+path+"\n\n")
	_ = http.NewResponseController(st.ResponseWriter).Flush()
}

// event sends a message after wait or endpoint.
func (st *stream) event(message []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return
	}
	if st.lazy {
		st.becomeEvents()
	}
	st.writeEvent(message)
	st.timer.Reset(silence)
}

// finish sends the last message after wait.
func (st *stream) finish(message []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true // no comment may follow
	if !st.lazy {
		st.writeEvent(message)
		return
	}
	h := st.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(message)))
	_, _ = st.ResponseWriter.Write(message) // a client that is gone needs no answer
}

func (st *stream) writeEvent(message []byte) {
	const before, after = "event: message\ndata: ", "\n\n"
	message = oneLine(message)
	out := make([]byte, 0, len(before)+len(message)+len(after))
	out = append(append(append(out, before...), message...), after...)
	_, _ = st.ResponseWriter.Write(out) // a client that is gone needs no answer
	_ = http.NewResponseController(st.ResponseWriter).Flush()
}

// WriteHeader sends the status.
func (st *stream) WriteHeader(status int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.wrote { // a comment has sent it
		return
	}
	st.wrote = true
	st.events = st.Header().Get("Content-Type") == eventStream
	st.ResponseWriter.WriteHeader(status)
}

// Write writes and puts the next comment off.
func (st *stream) Write(p []byte) (int, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.wrote {
		st.wrote = true
		st.events = st.Header().Get("Content-Type") == eventStream
	}
	if !st.closed {
		st.timer.Reset(silence)
	}
	return st.ResponseWriter.Write(p)
}

// FlushError serves http.ResponseController.
func (st *stream) FlushError() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	return http.NewResponseController(st.ResponseWriter).Flush()
}

// Unwrap serves http.ResponseController and package door.
func (st *stream) Unwrap() http.ResponseWriter { return st.ResponseWriter }

// fallback stands between the SDK and the client and turns its plain text
// refusals into JSON-RPC errors that name the request. A 404 stays what it is:
// clients tell a lost session by it.
type fallback struct {
	*stream
	id json.RawMessage

	refused int // the status of a plain text refusal, whose text follows
}

// WriteHeader holds back the status of a plain text refusal.
func (f *fallback) WriteHeader(status int) {
	plain := strings.HasPrefix(f.Header().Get("Content-Type"), "text/plain")
	if status >= 400 && status != http.StatusNotFound && plain {
		f.refused = status
		return
	}
	f.stream.WriteHeader(status)
}

// Write turns the text of a refusal into a JSON-RPC error.
func (f *fallback) Write(p []byte) (int, error) {
	if f.refused == 0 {
		return f.stream.Write(p)
	}
	code := int64(jsonrpc.CodeInvalidRequest)
	if f.refused >= 500 {
		code = jsonrpc.CodeInternalError
	}
	reject(f.stream, f.refused, f.id, &jsonrpc.Error{Code: code, Message: strings.TrimSpace(string(p))})
	return len(p), nil
}
