package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/mcpserver/door"
)

const (
	eventStream = "text/event-stream"
	// heartbeat is how often a stream shows that it is alive, and its reader that
	// they still may read it.
	heartbeat = 15 * time.Second
	// reconnect is what clients are told to wait before they connect again.
	reconnect = 2 * time.Second
)

// eventQuery says which events are wanted.
type eventQuery struct {
	Type    string `json:"type,omitempty" maxLength:"2000" doc:"Only events of these types: globs (* and ?), with commas between them." example:"tool:*,server:failed"`
	Pattern string `json:"pattern,omitempty" maxLength:"1000" doc:"Only events with such a subject, the name of a tool, server or hook: a glob."`
	LastID  string `json:"lastEventId,omitempty" pattern:"^[0-9]{1,18}$" doc:"Go on after the event of this number; 0 for all that are kept. For clients that cannot set the header Last-Event-ID, which counts more."`
}

var eventNumber = regexp.MustCompile(`^[0-9]{1,18}$`)

// arguments are those of the gateway's action.
func (q eventQuery) arguments(h http.Header) (json.RawMessage, error) {
	args := struct {
		Types   []string `json:"types,omitempty"`
		Pattern string   `json:"pattern,omitempty"`
		After   *int64   `json:"after,omitempty"`
	}{Pattern: q.Pattern}
	if q.Type != "" {
		for typ := range strings.SplitSeq(q.Type, ",") {
			args.Types = append(args.Types, strings.TrimSpace(typ))
		}
	}
	last := q.LastID
	if given := h.Get("Last-Event-ID"); given != "" {
		last = given
	}
	if last == "" {
		return json.Marshal(args)
	}
	if !eventNumber.MatchString(last) {
		return nil, undecodable{refuse(http.StatusBadRequest, "the header Last-Event-ID is no event's number").
			withHint("send back an id that this stream gave out")}
	}
	n, err := strconv.ParseInt(last, 10, 64)
	if err != nil {
		return nil, err
	}
	args.After = &n
	return json.Marshal(args)
}

// events streams what happens until the client goes, or may not see it any more.
func (a *api) events(rt *compiled, w http.ResponseWriter, r *http.Request) error {
	var q eventQuery
	if err := rt.decode(w, r, &q, nil); err != nil {
		return err
	}
	args, err := q.arguments(r.Header)
	if err != nil {
		return err
	}
	h := w.Header()
	if r.Method == http.MethodHead {
		h.Set("Content-Type", eventStream)
		return nil
	}
	again := func(ctx context.Context) (core.Principal, error) { return a.door.Again(r.WithContext(ctx)) }
	s, err := a.gateway.Events(r.Context(), door.Request(r.Context()), gateway.Call{Via: core.LevelHTTP, Args: args}, again)
	if err != nil {
		return err
	}
	defer s.Close()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	out := &eventWriter{ResponseWriter: w, control: http.NewResponseController(w), source: s.Source(), id: door.Request(r.Context()).ID}
	defer out.watch(s.Gone())()
	out.follow(r.Context(), s)
	return nil
}

// follow writes what the stream gives until either side ends.
func (o *eventWriter) follow(ctx context.Context, s *gateway.EventStream) {
	o.begin(s.Position())
	for o.flush() == nil {
		wait, cancel := context.WithTimeout(ctx, heartbeat)
		batch, err := s.Next(wait)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == context.DeadlineExceeded: // the wait's own
			o.beat(batch.Last)
		case err != nil:
			o.end(err)
			return
		case batch.Missed != nil:
			o.missed(*batch.Missed, batch.Last)
		default:
			for _, e := range batch.Events {
				o.event(e)
			}
		}
	}
}

const (
	// stalled is how long a client may read next to nothing of what it is sent.
	stalled = 30 * time.Second
	// closing is how long a stream that we end may take to say so.
	closing = time.Second
)

// allow says how long a write may take. From the end of the stream on it does not
// grow any more.
func (o *eventWriter) allow(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ending {
		return
	}
	o.ending = d == closing
	_ = o.control.SetWriteDeadline(time.Now().Add(d)) // what has no connection blocks nobody
}

// watch ends a write to a client that does not read, once the stream has been ended
// from our side. The function it gives stops watching.
func (o *eventWriter) watch(gone <-chan struct{}) (stop func()) {
	returning, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-gone:
			o.allow(closing)
		case <-returning:
		}
	}()
	return func() {
		close(returning)
		<-ended
	}
}

// eventWriter writes server-sent events (WHATWG HTML, section 9.2).
type eventWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	source  string
	id      string // of the request
	buffer  bytes.Buffer

	mu     sync.Mutex
	ending bool
}

// flush sends what was written, bit by bit: slow is not stalled. A client that is
// gone shows here.
func (o *eventWriter) flush() error {
	defer o.buffer.Reset()
	for bit := range slices.Chunk(o.buffer.Bytes(), 64<<10) {
		o.allow(stalled)
		if _, err := o.Write(bit); err != nil {
			return err
		}
	}
	o.allow(stalled)
	return o.control.Flush()
}

// begin says where the stream begins, so that a client which loses it before the
// first event goes on from there.
func (o *eventWriter) begin(position int64) {
	fmt.Fprintf(&o.buffer, "retry: %d\nid: %d\n\n", reconnect.Milliseconds(), position)
}

// beat is a comment, and tells how far the stream has come without anything to show.
func (o *eventWriter) beat(position int64) {
	fmt.Fprintf(&o.buffer, ": still here\nid: %d\n\n", position)
}

func (o *eventWriter) event(e core.Event) {
	id := strconv.FormatInt(e.ID, 10)
	fmt.Fprintf(&o.buffer, "id: %s\n", id)
	o.message(CloudEvent{ID: id, Type: e.Type, Time: e.Time, Subject: e.Subject, UserID: e.UserID, ServerID: e.ServerID}, e.Data)
}

// message writes one event of the stream.
func (o *eventWriter) message(e CloudEvent, data any) {
	var err error
	e.SpecVersion, e.Source, e.DataContentType, e.Time = "1.0", "urn:uuid:"+o.source, "application/json", e.Time.UTC()
	if e.Data, err = core.EncodeJSON(data); err != nil {
		panic(fmt.Errorf("data of event %s: %w", e.ID, err)) // from a json column, or our own
	}
	raw, err := core.EncodeJSON(e)
	if err != nil {
		panic(fmt.Errorf("encode event %s: %w", e.ID, err))
	}
	fmt.Fprintf(&o.buffer, "event: %s\ndata: %s\n\n", e.Type, raw)
}
