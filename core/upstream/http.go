package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolscout/toolscout/core"
)

// streamable is the data path of a Streamable HTTP session. The SDK makes and ends
// the session; requests are posted here, because in the SDK's transport one bad
// answer ends the session and every call in flight on it.
type streamable struct {
	url       string
	client    *http.Client
	limit     int64
	sessionID string
	protocol  string
	modern    bool
	onNotice  func(method string)
	exchanges
	heard atomic.Int64

	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	tasks  tasks
	done   chan struct{} // closed when the server has forgotten the session
	once   sync.Once
	err    error
}

// forgotten ends the session because the server no longer knows it. Calls under
// way go on: their answers may still come.
func (h *streamable) forgotten(err error) {
	h.once.Do(func() {
		h.err = err
		close(h.done)
	})
}

func (h *streamable) ended() <-chan struct{} { return h.done }

func (h *streamable) why() error { return h.err }

func (h *streamable) lastHeard() time.Time { return time.Unix(0, h.heard.Load()) }

// Close ends everything that runs for the session.
func (h *streamable) Close() error {
	h.cancel()
	h.tasks.wait()
	h.forgotten(lost("was closed"))
	return nil
}

// request posts x and waits for its answer.
func (h *streamable) request(ctx context.Context, x *exchange) (json.RawMessage, error) {
	defer h.remove(x)
	id, err := jsonrpc.MakeID(float64(x.id))
	if err != nil {
		return nil, err
	}
	// The request has a context of its own, so that what is left of an answer can
	// be read after the caller got its part, and the connection used again.
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	resp, err := h.post(traced(own, &x.sent), &jsonrpc.Request{ID: id, Method: x.method, Params: x.params}, x)
	if err != nil {
		cancel()
		return nil, h.failed(ctx, x, err)
	}
	raw, err := h.answer(own, x, resp)
	stop()
	if err != nil && ctx.Err() != nil {
		resp.Body.Close()
		cancel()
		return nil, h.failed(ctx, x, err)
	}
	h.release(resp, cancel)
	return raw, err
}

// failed settles what to say of a request that got no answer.
func (h *streamable) failed(ctx context.Context, x *exchange, err error) error {
	if ctx.Err() != nil {
		// In the newer protocol the closing of the stream is the cancellation.
		if !h.modern && x.sent.Load() {
			msg := &jsonrpc.Request{Method: "notifications/cancelled", Params: cancelled(x.id, ctx)}
			h.tasks.start(func() { h.tell(msg) })
		}
		return ctx.Err()
	}
	var f *fault
	var own *core.Error
	if errors.As(err, &f) || errors.As(err, &own) {
		return err
	}
	f = lost("%s", plain(err)).because(err)
	f.evict = !x.sent.Load() // then it is worth another dial
	return f
}

// release reads what is left of an answer, within bounds, so that its connection
// can be used again.
func (h *streamable) release(resp *http.Response, cancel context.CancelFunc) {
	drain := func() {
		timer := time.AfterFunc(time.Second, cancel)
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
		timer.Stop()
		resp.Body.Close()
		cancel()
	}
	if !h.tasks.start(drain) {
		resp.Body.Close()
		cancel()
	}
}

// traced makes ctx set sent once the request is on its way.
func traced(ctx context.Context, sent *atomic.Bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
}

// post sends one message. x gives the headers of the newer protocol, if any.
func (h *streamable) post(ctx context.Context, msg jsonrpc.Message, x *exchange) (*http.Response, error) {
	body, err := encode(msg)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	h.identify(req)
	if h.modern && x != nil {
		req.Header.Set("Mcp-Method", x.method)
		if x.name != "" {
			req.Header.Set("Mcp-Name", headerValue(x.name))
		}
		for k, v := range x.mirrored {
			req.Header.Set("Mcp-Param-"+k, v)
		}
	}
	return h.client.Do(req)
}

func (h *streamable) identify(req *http.Request) {
	if h.sessionID != "" {
		req.Header.Set("Mcp-Session-Id", h.sessionID)
	}
	req.Header.Set("Mcp-Protocol-Version", h.protocol)
}

// tell posts a notification or a response, as well as can be.
func (h *streamable) tell(msg jsonrpc.Message) {
	ctx, cancel := context.WithTimeout(h.ctx, cancelTimeout)
	defer cancel()
	if resp, err := h.post(ctx, msg, nil); err == nil {
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
		resp.Body.Close()
	}
}

// answer finds the answer to x in an HTTP response.
func (h *streamable) answer(ctx context.Context, x *exchange, resp *http.Response) (json.RawMessage, error) {
	contentType := mediaType(resp)
	ok := resp.StatusCode >= 200 && resp.StatusCode < 300
	switch {
	case ok && contentType == "text/event-stream":
		return h.follow(ctx, x, resp)
	case ok && contentType == "application/json":
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, h.cut(err)
		}
		return h.decode(x, body)
	}
	return nil, h.rejection(resp, contentType)
}

// rejection says what a response means that is no answer.
func (h *streamable) rejection(resp *http.Response, contentType string) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if msg, err := decode(body); err == nil {
		if r, ok := msg.(*jsonrpc.Response); ok && r.Error != nil && !h.unknownSession(resp.StatusCode, body) {
			_, err := rawResponse(r)
			return err
		}
	}
	if h.unknownSession(resp.StatusCode, body) {
		f := lost("no longer knows our session")
		f.missing, f.refused = true, true
		return f
	}
	return (&reply{status: resp.StatusCode, contentType: contentType}).explain(core.HTTP)
}

// unknownSession reports whether the server refused a request because it has no
// such session: 404 by the specification, 400 in some official servers.
func (h *streamable) unknownSession(status int, body []byte) bool {
	if h.sessionID == "" {
		return false
	}
	return status == http.StatusNotFound ||
		status == http.StatusBadRequest && bytes.Contains(bytes.ToLower(body), []byte("session"))
}

// cut says why an answer could not be read to its end.
func (h *streamable) cut(err error) error {
	if errors.Is(err, errBodyTooLarge) || errors.Is(err, errEventTooLarge) {
		return tooLarge(h.limit)
	}
	f := lost("cut the answer off").because(err)
	f.evict = false
	return f
}

// decode takes the answer to x out of a JSON body, which may be a batch.
func (h *streamable) decode(x *exchange, body []byte) (json.RawMessage, error) {
	messages := []json.RawMessage{body}
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := json.Unmarshal(trimmed, &messages); err != nil {
			return nil, lost("sent an answer that is not JSON").because(err)
		}
	}
	for _, m := range messages {
		msg, err := decode(m)
		if err != nil {
			return nil, lost("sent an answer that is not JSON-RPC").because(err)
		}
		if resp := h.dispatch(x, msg); resp != nil {
			return rawResponse(resp)
		}
	}
	return nil, lost("sent an answer to another request")
}

// dispatch acts on a message and returns it if it is the answer to x.
func (h *streamable) dispatch(x *exchange, msg jsonrpc.Message) *jsonrpc.Response {
	h.heard.Store(time.Now().UnixNano())
	switch msg := msg.(type) {
	case *jsonrpc.Response:
		if id, ok := msg.ID.Raw().(int64); ok && x != nil && id == x.id {
			return msg
		}
	case *jsonrpc.Request:
		switch {
		case h.notified(msg):
		case msg.IsCall():
			if x != nil && msg.Method != "ping" {
				x.asked.Store(&msg.Method)
			}
			h.tasks.start(func() { h.tell(serverAnswer(msg)) })
		default:
			h.onNotice(msg.Method)
		}
	}
	return nil
}

// serverAnswer answers a request from the server: we are alive, and do nothing else.
func serverAnswer(req *jsonrpc.Request) *jsonrpc.Response {
	if req.Method == "ping" {
		return &jsonrpc.Response{ID: req.ID, Result: json.RawMessage("{}")}
	}
	return &jsonrpc.Response{ID: req.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this gateway does not pass on " + req.Method}}
}
