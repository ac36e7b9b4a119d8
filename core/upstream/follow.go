package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// resumeTries bounds the attempts to take up an answer that was cut off.
	resumeTries = 5
	// firstPause and longestPause bound the pause before a stream is opened again.
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// follow reads the event stream that answers x. When it is cut off and its events
// have ids, the older protocol lets it be taken up where it ended.
func (h *streamable) follow(ctx context.Context, x *exchange, resp *http.Response) (json.RawMessage, error) {
	var last event
	for try := 0; ; try++ {
		answer, seen, err := h.read(x, resp.Body, &last)
		if answer != nil {
			return rawResponse(answer)
		}
		if seen {
			try = 0
		}
		if h.modern || last.id == "" || try >= resumeTries || errors.Is(err, errEventTooLarge) || ctx.Err() != nil {
			return nil, h.cut(err)
		}
		resp.Body.Close()
		next, err := h.resume(ctx, last, try)
		if err != nil {
			return nil, h.cut(err)
		}
		// The caller's response stays the one to release; this one ends here.
		defer next.Body.Close()
		resp = next
	}
}

// read reads events until the answer to x, or the end. It reports whether there
// were any.
func (h *streamable) read(x *exchange, body io.Reader, last *event) (answer *jsonrpc.Response, seen bool, err error) {
	es := newEvents(body, h.limit)
	for {
		ev, err := es.next()
		if err != nil {
			return nil, seen, err
		}
		seen = true
		if ev.id != "" {
			last.id = ev.id
		}
		if ev.retry > 0 {
			last.retry = ev.retry
		}
		if len(ev.data) == 0 {
			continue
		}
		msg, err := decode(ev.data)
		if err != nil {
			continue // what cannot be read is not our answer; others may follow
		}
		if answer := h.dispatch(x, msg); answer != nil {
			return answer, true, nil
		}
	}
}

// resume asks for the events after last, after the pause that the server wants.
func (h *streamable) resume(ctx context.Context, last event, try int) (*http.Response, error) {
	pause := last.retry
	if pause == 0 {
		pause = firstPause << try
	}
	if err := sleep(ctx, min(pause, longestPause)); err != nil {
		return nil, err
	}
	resp, err := h.get(ctx, last.id)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK || mediaType(resp) != "text/event-stream" {
		resp.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return resp, nil
}

func (h *streamable) get(ctx context.Context, lastID string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	h.identify(req)
	return h.client.Do(req)
}

// listen keeps a stream open on which the server tells of changes, for as long as
// the session lives. Nothing that goes wrong with it harms calls: a server need
// not offer one, and proxies cut idle ones.
func (h *streamable) listen(open func(context.Context) (*http.Response, error)) {
	everOpen := false
	for pause := firstPause; ; pause = min(pause*3/2, longestPause) {
		resp, err := open(h.ctx)
		switch {
		case err != nil:
		case resp.StatusCode == http.StatusOK && mediaType(resp) == "text/event-stream":
			everOpen = true
			if _, seen, _ := h.read(nil, resp.Body, &event{}); seen {
				pause = firstPause
			}
			resp.Body.Close()
		default:
			resp.Body.Close()
			if everOpen && resp.StatusCode == http.StatusNotFound && h.sessionID != "" {
				f := lost("no longer knows our session")
				f.healthy = true // it was restarted, and is there
				h.forgotten(f)
			}
			if resp.StatusCode < 500 {
				return
			}
		}
		if sleep(h.ctx, pause/2+rand.N(pause/2)) != nil {
			return
		}
	}
}

// subscribe opens the newer protocol's stream of changes.
func (h *streamable) subscribe(params json.RawMessage) func(context.Context) (*http.Response, error) {
	return func(ctx context.Context) (*http.Response, error) {
		x := &exchange{method: "subscriptions/listen", params: params}
		h.add(x)
		defer h.remove(x)
		id, err := jsonrpc.MakeID(float64(x.id))
		if err != nil {
			return nil, err
		}
		return h.post(ctx, &jsonrpc.Request{ID: id, Method: x.method, Params: params}, x)
	}
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
