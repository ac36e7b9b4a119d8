package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/core/postgres"
)

// message is one of a stream: data is what its data lines say.
type message struct {
	id, event string
	data      cloudEvent
}

// cloudEvent is an event as the CloudEvents specification has it, apart from ours.
type cloudEvent struct {
	SpecVersion, ID, Source, Type, Time, Subject, DataContentType, UserID, ServerID string
	Data                                                                            json.RawMessage
	raw                                                                             map[string]json.RawMessage
}

// follower reads a stream as a browser does.
type follower struct {
	t      *testing.T
	body   *bufio.Reader
	header http.Header
	status int
	// last is the id that the browser would send to go on.
	last string
	stop func()
}

func (r *rig) follow(t *testing.T, token, query, lastEventID string) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/v1/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	stop := func() { cancel(); res.Body.Close() }
	t.Cleanup(stop)
	f := &follower{t: t, body: bufio.NewReader(res.Body), header: res.Header, status: res.StatusCode, stop: stop}
	if f.status != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		t.Fatalf("%s: %d %s", query, f.status, body)
	}
	return f
}

// next waits for a message with data; io.EOF is the end.
func (f *follower) next() (message, error) {
	f.t.Helper()
	var m message
	var data []string
	for {
		line, err := f.body.ReadString('\n')
		if err != nil {
			return message{}, err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			m.id, f.last = value, value
		case "event":
			m.event = value
		case "data":
			data = append(data, value)
		case "":
			if line != "\n" {
				continue // a comment
			}
			if data == nil {
				m = message{}
				continue
			}
			raw := strings.Join(data, "\n")
			if err := json.Unmarshal([]byte(raw), &m.data.raw); err != nil {
				f.t.Fatalf("%v in %s", err, raw)
			}
			if err := json.Unmarshal([]byte(raw), &m.data); err != nil {
				f.t.Fatalf("%v in %s", err, raw)
			}
			f.conforms(m)
			return m, nil
		}
	}
}

var attribute = regexp.MustCompile(`^[a-z0-9]+$`)

// conforms holds a message to CloudEvents 1.0 (sections 3.1.1, 3.1.2) and its JSON
// format (sections 2.3, 3.1).
func (f *follower) conforms(m message) {
	f.t.Helper()
	e := m.data
	for name := range e.raw {
		if !attribute.MatchString(name) {
			f.t.Errorf("the attribute %q is not one of small letters and digits", name)
		}
	}
	for name, value := range map[string]string{"id": e.ID, "source": e.Source, "type": e.Type} {
		if value == "" {
			f.t.Errorf("%s is missing in %v", name, e)
		}
	}
	if subject, there := e.raw["subject"]; there && string(subject) == `""` {
		f.t.Error("the subject is empty")
	}
	if _, err := time.Parse(time.RFC3339, e.Time); err != nil {
		f.t.Errorf("time: %v", err)
	}
	if e.SpecVersion != "1.0" || e.DataContentType != "application/json" || !strings.HasPrefix(e.Source, "urn:uuid:") || !strings.HasPrefix(string(e.Data), "{") {
		f.t.Errorf("got %+v", e)
	}
	if m.event != e.Type {
		f.t.Errorf("the event is %q and its type %q", m.event, e.Type)
	}
	if !strings.HasPrefix(m.event, "events:") && m.id != e.ID {
		f.t.Errorf("the message has the id %q and its event %q", m.id, e.ID)
	}
}

// read waits for n messages.
func (f *follower) read(n int) []message {
	f.t.Helper()
	var all []message
	for range n {
		m, err := f.next()
		if err != nil {
			f.t.Fatalf("after %v: %v", all, err)
		}
		all = append(all, m)
	}
	return all
}

func (r *rig) publish(t *testing.T, e core.Event) {
	t.Helper()
	if err := r.bus.PublishSync(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

func subjects(list []message) string {
	var all []string
	for _, m := range list {
		all = append(all, m.data.Type+" "+m.data.Subject)
	}
	return strings.Join(all, ", ")
}

func TestEvents_of_a_call(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.register(t, "one", upstreamServer(t), "")
	ann, token := r.user(t, "ann")
	f := r.follow(t, token, "?type=tool:*,%20meta:after&pattern=*e*", "")
	if f.header.Get("Content-Type") != "text/event-stream" || !strings.Contains(f.header.Get("Cache-Control"), "no-cache") {
		t.Errorf("got %v", f.header)
	}
	r.want(t, 200, nil, token, "POST", "/v1/tools/echo", `{"args":{"message":"the secret"}}`)
	got := f.read(3)
	if want := "tool:before echo, tool:after echo, meta:after execute_tool"; subjects(got) != want {
		t.Errorf("got %s, want %s", subjects(got), want)
	}
	after := got[1].data
	if after.UserID != ann || after.ServerID != s.ID || strings.Contains(string(after.Data), "the secret") ||
		!strings.Contains(string(after.Data), `"args":{"message":"string(10)"}`) {
		t.Errorf("got %+v: %s", after, after.Data)
	}
}

// TestEvents_resume: whoever comes back, on whichever instance, gets the rest once.
func TestEvents_resume(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := newInstance(t, r.store)
	_, token := r.user(t, "ann", core.RoleAdmin)
	f := r.follow(t, token, "?type=n", "")
	f.stop()
	_, _ = f.body.Peek(1)
	first := r.follow(t, token, "?type=n", "")
	const rounds = 10
	for n := range rounds {
		r.publish(t, core.Event{Type: "n", Subject: strconv.Itoa(2 * n)})
		if got := first.read(1); got[0].data.Subject != strconv.Itoa(2*n) {
			t.Fatalf("got %s, want %d", subjects(got), 2*n)
		}
		first.stop()
		r.publish(t, core.Event{Type: "n", Subject: strconv.Itoa(2*n + 1)})
		from := []*rig{r, other}[n%2]
		if n%3 == 0 {
			first = from.follow(t, token, "?type=n&lastEventId="+first.last, "")
		} else {
			first = from.follow(t, token, "?type=n&lastEventId=0", first.last) // the header counts more
		}
		if got := first.read(1); got[0].data.Subject != strconv.Itoa(2*n+1) {
			t.Fatalf("after coming back: got %s, want %d", subjects(got), 2*n+1)
		}
	}
	all := r.follow(t, token, "?type=n&lastEventId=0", "").read(2 * rounds)
	for n, m := range all {
		if m.data.Subject != strconv.Itoa(n) {
			t.Errorf("event %d is %s", n, m.data.Subject)
		}
	}
}

// TestEvents_missed: what was deleted is told, once.
func TestEvents_missed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.publish(t, core.Event{Type: "n", Subject: "1"})
	if _, err := r.store.PruneEvents(t.Context(), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	r.publish(t, core.Event{Type: "n", Subject: "2"})
	f := r.follow(t, r.admin, "?type=n", "0")
	got := f.read(2)
	if got[0].event != "events:missed" || got[1].data.Subject != "2" {
		t.Fatalf("got %s", subjects(got))
	}
	var gap struct {
		After, Until int64
		Reason       string
	}
	if err := json.Unmarshal(got[0].data.Data, &gap); err != nil || gap.Reason != "deleted" || gap.Until == 0 || strconv.FormatInt(gap.Until, 10) != got[0].id {
		t.Errorf("got %+v, %v with the id %s", gap, err, got[0].id)
	}
	again := r.follow(t, r.admin, "?type=n", got[0].id)
	if got := again.read(1); got[0].data.Subject != "2" {
		t.Errorf("got %s", subjects(got))
	}
}

func TestEvents_refused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, token := r.user(t, "ann")
	for query, want := range map[string]int{
		"?type=" + strings.Repeat("x", 2001): 422, "?type=a,,b": 422, "?lastEventId=x": 422, "?lastEventId=-1": 422,
		"?lastEventId=99999999999999999999": 422, "?from=1": 400, "?type=a&type=b": 400,
	} {
		if a := r.do(t, token, "GET", "/v1/events"+query, ""); a.status != want {
			t.Errorf("%.40s: got %d %s, want %d", query, a.status, a.body, want)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", r.url+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Last-Event-ID", "12a")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 400 || res.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %s", res.Status)
	}
	if a := r.send(t, "nobody's", "GET", "/v1/events", "", ""); a.status != 401 {
		t.Errorf("got %d", a.status)
	}
	if a := r.send(t, token, "HEAD", "/v1/events", "", ""); a.status != 200 || a.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("got %d %v", a.status, a.header)
	}
}

// TestEvents_end: a stream ends with a reason when its reader's token is revoked
// and when the server stops, and opening it is on record.
func TestEvents_end(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id, token := r.user(t, "ann")
	hers, ours := r.follow(t, token, "?type=n", ""), r.follow(t, r.admin, "?type=n", "")
	var tokens struct{ Items []struct{ ID string } }
	r.want(t, 200, &tokens, r.admin, "GET", "/v1/admin/users/"+id+"/tokens", "")
	r.want(t, 204, nil, r.admin, "DELETE", "/v1/admin/users/"+id+"/tokens/"+tokens.Items[0].ID, "")
	// Something that she might just have come to see.
	r.publish(t, core.Event{Type: "n", ServerID: "0190b2a4-0000-7000-8000-000000000001"})
	closed := hers.read(1)[0]
	if closed.event != "events:closed" || closed.id != "" || !strings.Contains(string(closed.data.Data), `"unauthenticated"`) {
		t.Errorf("got %+v: %s", closed, closed.data.Data)
	}
	if _, err := hers.next(); err != io.EOF {
		t.Errorf("got %v", err)
	}
	ours.read(1)
	r.stopBus()
	if closed := ours.read(1)[0]; closed.event != "events:closed" || !strings.Contains(string(closed.data.Data), "stopping") {
		t.Errorf("got %+v", closed)
	}
	if _, err := ours.next(); err != io.EOF {
		t.Errorf("got %v", err)
	}
	if err := r.audit.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := r.store.Audit(t.Context(), postgres.AuditFilter{Action: gateway.StreamEvents}, core.Page{})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, row := range rows.Items {
		got = append(got, row.Actor+" "+string(row.Outcome)+" "+row.Level)
	}
	if d := cmp.Diff(got, []string{"root ok http", "ann ok http"}); d != "" {
		t.Errorf("(-got +want)\n%s", d)
	}
}

// TestEvents_slow: a client that does not read is cut off, others get everything.
func TestEvents_slow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /v1/events?type=n HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", r.admin)
	slow := bufio.NewReader(conn)
	for line := ""; !strings.HasPrefix(line, "id:"); {
		if line, err = slow.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	fast := r.follow(t, r.admin, "?type=n", "")
	const many = 300 // more than a subscription and all buffers of the connection hold
	data := json.RawMessage(`{"a":"` + strings.Repeat("x", 60<<10) + `"}`)
	for n := range many {
		if err := r.bus.Publish(t.Context(), core.Event{Type: "n", Subject: strconv.Itoa(n), Data: data}); err != nil {
			t.Fatal(err)
		}
		if got := fast.read(1)[0]; got.data.Subject != strconv.Itoa(n) {
			t.Fatalf("got %s, want %d", got.data.Subject, n)
		}
	}
	got, err := io.Copy(io.Discard, slow)
	if got >= int64(many*len(data)) {
		t.Errorf("the slow client got all %d bytes, then %v", got, err)
	}
}

// pipe is a connection on which a stream writes, that remembers until when each
// write might have lasted.
type pipe struct {
	*httptest.ResponseRecorder
	gone     context.CancelFunc
	deadline time.Time
	allowed  []time.Duration
}

func (p *pipe) SetWriteDeadline(at time.Time) error { p.deadline = at; return nil }

func (p *pipe) Write(b []byte) (int, error) {
	if len(b) > 0 {
		p.allowed = append(p.allowed, time.Until(p.deadline))
	}
	if len(p.allowed) == 3 { // the beginning, and two bits of what is told of the past
		p.gone()
	}
	return p.ResponseRecorder.Write(b)
}

// TestEvents_stalled: who goes on from long ago and reads nothing holds no connection
// for ever: each write has its end.
func TestEvents_stalled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 2 {
		if err := r.bus.PublishSync(t.Context(), core.Event{Type: "n", Data: json.RawMessage(`{"a":"` + strings.Repeat("x", 60<<10) + `"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/v1/events?type=n&lastEventId=0", nil)
	req.Header.Set("Authorization", "Bearer "+r.admin)
	p := &pipe{ResponseRecorder: httptest.NewRecorder(), gone: cancel}
	r.handler.ServeHTTP(p, req)
	if len(p.allowed) != 3 || p.Code != http.StatusOK {
		t.Fatalf("%d %s, %v", p.Code, p.Body, p.allowed)
	}
	for _, d := range p.allowed {
		if d <= 0 || d > time.Minute {
			t.Errorf("a write may last %v", d)
		}
	}
}
