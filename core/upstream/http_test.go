package upstream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/core/upstream"
)

// serve runs a handler until the test ends, however many streams are open.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv
}

func stateful(s *mcp.Server) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

func stateless(s *mcp.Server) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
}

// sdkTransports are the ways to reach a server of the SDK.
func sdkTransports(calls *atomic.Int64) map[string]func(*testing.T) *core.Server {
	return map[string]func(*testing.T) *core.Server{
		"legacy": func(t *testing.T) *core.Server { return httpServer(serve(t, stateful(newSDKServer(calls))).URL) },
		"modern": func(t *testing.T) *core.Server { return httpServer(serve(t, stateless(newSDKServer(calls))).URL) },
		"sse": func(t *testing.T) *core.Server {
			srv := newSDKServer(calls)
			s := httpServer(serve(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return srv }, nil)).URL)
			s.Transport = core.SSE
			return s
		},
		"stdio": func(t *testing.T) *core.Server {
			s, _ := stdioServer(t, "sdk")
			return s
		},
	}
}

func TestEveryTransport(t *testing.T) {
	t.Parallel()
	eras := map[string]string{"legacy": "legacy", "modern": "modern", "sse": "legacy", "stdio": "modern"}
	for name, make := range sdkTransports(nil) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, upstream.Config{Version: "1.0"})
			s := make(t)
			for _, era := range []string{"", "legacy", "modern"} { // whatever is remembered
				tried := *s
				tried.Era, tried.Version = era, tried.Version+1
				p.Drop(s.ID)
				r := mustCall(t, p, &tried, "echo", `{"n":9007199254740993,"z":1,"a":1.50}`)
				if !strings.Contains(string(r.Raw), `{"n":9007199254740993,"z":1,"a":1.50}`) {
					t.Errorf("remembered %q: got %s", era, r.Raw)
				}
			}
			l, err := p.List(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if l.Server.Name != "sdk" || l.Server.Version != "9" || len(l.Tools) != 3 || len(l.Warnings) != 0 {
				t.Errorf("listing is %+v", l)
			}
			_, err = p.Call(t.Context(), upstream.Call{Server: s, Tool: "no-such-tool"})
			wantError(t, err, core.UpstreamError, "no-such-tool")
			wantProgress(t, p, s)
			if got := p.lastEra(); name != "stdio" && got != eras[name] {
				t.Errorf("era is %q, want %q", got, eras[name])
			}
		})
	}
}

func TestEveryTransportCancels(t *testing.T) {
	t.Parallel()
	for name := range sdkTransports(nil) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, upstream.Config{})
			var calls atomic.Int64
			s := sdkTransports(&calls)[name](t)
			mustCall(t, p, s, "echo", "{}")
			limited := *s
			limited.Timeout = 100 * time.Millisecond
			_, err := p.Call(t.Context(), upstream.Call{Server: &limited, Tool: "wait"})
			wantError(t, err, core.Timeout, "may have run")
			mustCall(t, p, s, "echo", "{}")
			if name != "stdio" { // that one counts in another process
				await(t, "the server hears of it", func() bool { return calls.Load() == 4 })
			}
		})
	}
}

// fake is a hand-written server of the older generation over HTTP.
type fake struct {
	calls    atomic.Int64 // executions
	sessions atomic.Int64 // made
	known    sync.Map     // sessions that are known
	call     func(f *fake, w http.ResponseWriter, r *http.Request, id json.RawMessage)
	headers  chan http.Header
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "no", http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var q request
	if json.Unmarshal(body, &q) != nil {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	if f.headers != nil {
		f.headers <- r.Header.Clone()
	}
	session := r.Header.Get("Mcp-Session-Id")
	if _, ok := f.known.Load(session); q.Method != "initialize" && q.Method != "server/discover" && !ok {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	switch q.Method {
	case "server/discover":
		http.Error(w, "what?", http.StatusBadRequest)
	case "initialize":
		id := fmt.Sprint("s", f.sessions.Add(1))
		f.known.Store(id, true)
		w.Header().Set("Mcp-Session-Id", id)
		answer(w, q.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`)
	case "tools/call":
		r.Body = io.NopCloser(bytes.NewReader(q.Params))
		f.call(f, w, r, q.ID)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func answer(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		conn.Close()
	}
}

func newFake(t *testing.T, call func(f *fake, w http.ResponseWriter, r *http.Request, id json.RawMessage)) (*fake, *core.Server) {
	f := &fake{call: call}
	return f, httpServer(serve(t, f).URL)
}

func TestHTTPPassesBytes(t *testing.T) {
	t.Parallel()
	const args = "{ \"a\" :\t[ 1.0 ],\r\n \"html\":\"<&>\\n\" }"
	got := make(chan string, 1)
	_, s := newFake(t, func(_ *fake, w http.ResponseWriter, r *http.Request, id json.RawMessage) {
		params, _ := io.ReadAll(r.Body)
		got <- string(params)
		answer(w, id, `{"content":[]}`)
	})
	mustCall(t, newPool(t, upstream.Config{}), s, "echo", args)
	if got, want := <-got, `{"name":"echo","arguments":`+args+`}`; got != want {
		t.Errorf("the server got %q, want %q", got, want)
	}
}

func TestHTTPMisbehaviour(t *testing.T) {
	t.Parallel()
	type handler = func(f *fake, w http.ResponseWriter, r *http.Request, id json.RawMessage)
	status := func(code int, contentType, body string) handler {
		return func(_ *fake, w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(code)
			io.WriteString(w, body)
		}
	}
	tests := []struct {
		name    string
		call    handler
		kind    core.Kind
		message string
	}{
		{"drop", func(_ *fake, w http.ResponseWriter, _ *http.Request, _ json.RawMessage) { drop(w) }, core.UpstreamError, "may have run"},
		{"html", status(200, "text/html", "<html>"), core.UpstreamError, "answered HTML, not MCP"},
		{"html error", status(502, "text/html", "<html>"), core.UpstreamError, "HTTP 502 Bad Gateway; the call may have run"},
		{"unauthorized", status(401, "text/plain", ""), core.UpstreamError, "refused our credentials"},
		{"bad json", status(200, "application/json", `{"jsonrpc":`), core.UpstreamError, "not JSON-RPC"},
		{"empty", status(200, "application/json", ``), core.UpstreamError, "not JSON-RPC"},
		{"accepted", status(202, "", ``), core.UpstreamError, "without a content type"},
		{"not found", status(405, "text/plain", ""), core.UpstreamError, "older SSE transport"},
		{"redirect", func(_ *fake, w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}, core.UpstreamError, "redirects"},
		{"big body", status(200, "application/json", `{"jsonrpc":"2.0","id":1,"result":"`+strings.Repeat("x", 2<<20)), core.UpstreamError, "larger than the 1048576 bytes"},
		{"big event", status(200, "text/event-stream", "data: "+strings.Repeat("x", 2<<20)+"\n\n"), core.UpstreamError, "larger than the 1048576 bytes"},
		{"cut stream", status(200, "text/event-stream", "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\ndata: {\"json"), core.UpstreamError, "may have run"},
		{"error with status", status(400, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such thing"}}`), core.UpstreamError, "error -32602: no such thing"},
		{"reserved code", func(_ *fake, w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32004,"message":"quota"}}`, id)
		}, core.UpstreamError, "error -32004: quota"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, upstream.Config{MaxResponse: 1 << 20})
			bad := true
			var mu sync.Mutex
			f, s := newFake(t, func(f *fake, w http.ResponseWriter, r *http.Request, id json.RawMessage) {
				f.calls.Add(1)
				mu.Lock()
				defer mu.Unlock()
				if bad {
					test.call(f, w, r, id)
					return
				}
				answer(w, id, weirdResult)
			})
			r, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "x"})
			wantError(t, err, test.kind, test.message)
			if !r.Sent || f.calls.Load() != 1 {
				t.Errorf("sent %v, ran %d times, want once", r.Sent, f.calls.Load())
			}
			mu.Lock()
			bad = false
			mu.Unlock()
			if got := string(mustCall(t, p, s, "x", "").Raw); got != weirdResult {
				t.Errorf("result (-got +want):\n%s", cmp.Diff(got, weirdResult))
			}
		})
	}
}

func TestHTTPOneBadAnswerHarmsNoOther(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	held := make(chan struct{})
	f, s := newFake(t, func(f *fake, w http.ResponseWriter, r *http.Request, id json.RawMessage) {
		if f.calls.Add(1) == 1 {
			<-held
			answer(w, id, `{"content":[]}`)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	})
	slow := make(chan error)
	go func() {
		_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "slow"})
		slow <- err
	}()
	await(t, "the slow call runs", func() bool { return f.calls.Load() == 1 })
	_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "bad"})
	wantError(t, err, core.UpstreamError, "credentials")
	close(held)
	if err := <-slow; err != nil {
		t.Errorf("the other call failed: %v", err)
	}
}

func TestHTTPForgottenSession(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			p := newPool(t, upstream.Config{})
			f := &fake{call: func(f *fake, w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
				f.calls.Add(1)
				answer(w, id, `{"content":[]}`)
			}}
			srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, ok := f.known.Load(r.Header.Get("Mcp-Session-Id"))
				if status == http.StatusBadRequest && r.Header.Get("Mcp-Session-Id") != "" && !ok {
					w.WriteHeader(status)
					io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`)
					return
				}
				f.ServeHTTP(w, r)
			}))
			s := httpServer(srv.URL)
			mustCall(t, p, s, "x", "")
			f.known.Clear() // as after a restart
			mustCall(t, p, s, "x", "")
			if f.calls.Load() != 2 || f.sessions.Load() != 2 {
				t.Errorf("ran %d times in %d sessions, want 2 in 2", f.calls.Load(), f.sessions.Load())
			}
		})
	}
}

func TestHTTPNeverKnownSessionIsTriedTwice(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	f, s := newFake(t, func(f *fake, w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
		f.calls.Add(1)
		http.Error(w, "session not found", http.StatusNotFound)
	})
	_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "x"})
	wantError(t, err, core.UpstreamError, "no longer knows our session")
	if f.calls.Load() != 2 {
		t.Errorf("asked %d times, want twice", f.calls.Load())
	}
}

func TestHTTPRestart(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{Backoff: time.Millisecond})
	var calls atomic.Int64
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	start := func(l net.Listener) *http.Server {
		srv := &http.Server{Handler: stateful(newSDKServer(&calls))}
		go srv.Serve(l)
		return srv
	}
	srv := start(l)
	s := httpServer("http://" + l.Addr().String())
	mustCall(t, p, s, "echo", "")
	srv.Close()
	await(t, "the end of the connection is seen", func() bool {
		// Before that, a call goes out on it and may have run for all we know.
		r, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "echo"})
		if err == nil || r.Sent != (core.Public(err).Kind == core.UpstreamError) {
			t.Errorf("sent %v, error %v", r.Sent, err)
		}
		return !r.Sent
	})
	await(t, "repeated failures make it unavailable", func() bool {
		_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "echo"})
		wantError(t, err, core.Unavailable)
		return p.last().State == core.Down
	})
	l, err = net.Listen("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer start(l).Close()
	await(t, "it is back", func() bool {
		_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "echo"})
		return err == nil
	})
	p.becomes(t, core.Healthy)
	if !slices.ContainsFunc(p.health, func(h core.Health) bool { return h.State == core.Unstable }) {
		t.Errorf("never unstable: %+v", p.health)
	}
	if calls.Load() != 2 {
		t.Errorf("ran %d times, want 2", calls.Load())
	}
}

func TestHTTPBackoffFailsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{Backoff: time.Hour})
	var dials atomic.Int64
	s := httpServer(serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		dials.Add(1)
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html>welcome</html>")
	})).URL)
	for range 3 {
		_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "x"})
		wantError(t, err, core.Unavailable, "answered HTML, not MCP")
	}
	first := dials.Load()
	_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "x"})
	wantError(t, err, core.Unavailable)
	if e := core.Public(err); e.RetryAfter <= 0 || !strings.Contains(e.Hint, "next try") {
		t.Errorf("no word of the next try in %+v", e)
	}
	if dials.Load() != first {
		t.Error("it was dialled during the pause")
	}
}

func TestHTTPOneDialForAll(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	gate := make(chan struct{})
	f := &fake{call: func(f *fake, w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
		f.calls.Add(1)
		answer(w, id, `{"content":[]}`)
	}}
	var asked atomic.Int64
	s := httpServer(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			<-gate
		}
		f.ServeHTTP(w, r)
	})).URL)
	first, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := p.Call(first, upstream.Call{Server: s, Tool: "x"})
		left <- err
	}()
	await(t, "the dial has begun", func() bool { return asked.Load() == 1 })
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() { mustCall(t, p, s, "x", "") })
	}
	brief, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := p.Call(brief, upstream.Call{Server: s, Tool: "x"})
	wantError(t, err, core.Unavailable, "not sent")
	leave() // whoever began the dial does not take it along
	wantError(t, <-left, core.Timeout, "cancelled")
	close(gate)
	callers.Wait()
	if f.sessions.Load() != 1 || f.calls.Load() != 20 {
		t.Errorf("%d sessions and %d calls, want 1 and 20", f.sessions.Load(), f.calls.Load())
	}
}

func TestHTTPIsolation(t *testing.T) {
	t.Parallel()
	for isolation, want := range map[core.Isolation]int64{core.Shared: 1, core.PerUser: 2, core.PerSession: 4} {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			p := newPool(t, upstream.Config{})
			var owner sync.Map // session id -> the parameters of its first call
			f, s := newFake(t, nil)
			f.call = func(_ *fake, w http.ResponseWriter, r *http.Request, id json.RawMessage) {
				params, _ := io.ReadAll(r.Body)
				first, _ := owner.LoadOrStore(r.Header.Get("Mcp-Session-Id"), string(params))
				if isolation != core.Shared && first != string(params) {
					t.Errorf("%s rode on the session of %s", params, first)
				}
				answer(w, id, `{"content":[]}`)
			}
			s.Isolation = isolation
			var callers sync.WaitGroup
			for i := range 80 {
				callers.Go(func() {
					c := upstream.Caller{UserID: fmt.Sprint("u", i%2), SessionID: fmt.Sprint("s", i%4)}
					who := json.RawMessage(`{"user":"` + c.UserID + `"}`)
					if _, err := p.Call(t.Context(), upstream.Call{Server: s, Caller: c, Tool: "x", Args: who}); err != nil {
						t.Error(err)
					}
				})
			}
			callers.Wait()
			if got := f.sessions.Load(); got != want {
				t.Errorf("%d sessions, want %d", got, want)
			}
		})
	}
}

func TestHTTPCredentialsSplitSessions(t *testing.T) {
	t.Parallel()
	f, s := newFake(t, func(_ *fake, w http.ResponseWriter, r *http.Request, id json.RawMessage) {
		quoted, _ := json.Marshal(r.Header.Get("Authorization"))
		answer(w, id, `{"content":[{"type":"text","text":`+string(quoted)+`}]}`)
	})
	var token atomic.Value
	token.Store("first-token")
	p := newPool(t, upstream.Config{Getenv: func(string) (string, bool) { return token.Load().(string), true }})
	s.Headers = map[string]string{"authorization": "Bearer ${TOKEN}"}
	if got := text(t, mustCall(t, p, s, "x", "").Raw); got != "Bearer first-token" {
		t.Errorf("sent %q", got)
	}
	token.Store("second-token")
	if got := text(t, mustCall(t, p, s, "x", "").Raw); got != "Bearer second-token" {
		t.Errorf("sent %q", got)
	}
	if f.sessions.Load() != 2 {
		t.Errorf("%d sessions, want 2", f.sessions.Load())
	}
}

func TestHTTPBoundPerServer(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{PerServer: 1})
	held := make(chan struct{})
	f, s := newFake(t, func(f *fake, w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
		f.calls.Add(1)
		<-held
		answer(w, id, `{"content":[]}`)
	})
	var first sync.WaitGroup
	first.Go(func() { mustCall(t, p, s, "x", "") })
	await(t, "the first call runs", func() bool { return f.calls.Load() == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	r, err := p.Call(ctx, upstream.Call{Server: s, Tool: "x"})
	wantError(t, err, core.Unavailable, "1 calls are under way")
	if r.Sent {
		t.Error("the call counts as sent")
	}
	close(held)
	first.Wait()
	mustCall(t, p, s, "x", "")
}

func TestHTTPGuardedServersStayOutside(t *testing.T) {
	t.Parallel()
	_, s := newFake(t, func(_ *fake, w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
		answer(w, id, `{"content":[]}`)
	})
	s.Origin = core.FromAPI
	p := newPool(t, upstream.Config{})
	_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "x"})
	wantError(t, err, core.Unavailable, "not public")
	open := newPool(t, upstream.Config{Guarded: egress.New(egress.Config{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})})
	mustCall(t, open, s, "x", "")
}

func TestHTTPStreamsThatFailHarmNothing(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	var gets atomic.Int64
	f := &fake{call: func(_ *fake, w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
		answer(w, id, `{"content":[]}`)
	}}
	s := httpServer(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if gets.Add(1) == 1 {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\ndata: {bad\n\n")
			return
		}
		f.ServeHTTP(w, r)
	})).URL)
	mustCall(t, p, s, "x", "")
	if id := <-p.changed; id != s.ID { // after the stream was opened again
		t.Errorf("got %q, want %q", id, s.ID)
	}
	mustCall(t, p, s, "x", "")
	if f.sessions.Load() != 1 {
		t.Errorf("%d sessions, want 1", f.sessions.Load())
	}
}

func TestHTTPAnswerIsResumed(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	var call atomic.Value
	f := &fake{call: func(f *fake, w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
		f.calls.Add(1)
		call.Store(string(id))
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "id: 7\nretry: 1\ndata:\n\n")
	}}
	s := httpServer(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") == "7" {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "id: 8\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\ndata: \"result\":{\"content\":[]}}\n\n", call.Load())
			return
		}
		f.ServeHTTP(w, r)
	})).URL)
	if got := string(mustCall(t, p, s, "x", "").Raw); got != `{"content":[]}` {
		t.Errorf("got %s", got)
	}
	if f.calls.Load() != 1 {
		t.Errorf("ran %d times, want once", f.calls.Load())
	}
}

func TestHTTPEraChanges(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	var h atomic.Value
	h.Store(stateful(newSDKServer(nil)))
	s := httpServer(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.Load().(http.Handler).ServeHTTP(w, r) })).URL)
	s.Era = "modern" // out of date
	mustCall(t, p, s, "echo", "")
	await(t, "the older era is told", func() bool { return p.lastEra() == "legacy" })
	h.Store(stateless(newSDKServer(nil)))
	p.Drop(s.ID)
	s.Era = "modern"
	mustCall(t, p, s, "echo", "")
}

func TestModernHeaders(t *testing.T) {
	t.Parallel()
	sdk := newSDKServer(nil)
	schema := `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}`
	sdk.AddTool(&mcp.Tool{Name: "mirrored", InputSchema: json.RawMessage(schema)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Extra.Header.Get("Mcp-Param-Region") + "/" + r.Extra.Header.Get("Mcp-Param-N")}}}, nil
	})
	p := newPool(t, upstream.Config{})
	s := httpServer(serve(t, stateless(sdk)).URL)
	r, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "mirrored", InputSchema: json.RawMessage(schema), Args: json.RawMessage(`{"region":"eu","deep":{"n":5}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, r.Raw); got != "eu/5" {
		t.Errorf("mirrored %q, want eu/5", got)
	}
}

func TestModernListChanged(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	sdk := newSDKServer(nil)
	s := httpServer(serve(t, stateless(sdk)).URL)
	mustCall(t, p, s, "echo", "")
	await(t, "a new tool is announced", func() bool {
		sdk.AddTool(&mcp.Tool{Name: "new", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
		select {
		case id := <-p.changed:
			return id == s.ID
		default:
			return false
		}
	})
}

func TestSSEStreamEnds(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	sdk := newSDKServer(nil)
	srv := serve(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
	s := httpServer(srv.URL)
	s.Transport = core.SSE
	mustCall(t, p, s, "echo", "")
	srv.CloseClientConnections()
	await(t, "it connects again", func() bool {
		_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "echo"})
		return err == nil
	})
}

func TestSSECredentialsStayOnTheirHost(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	var leaked atomic.Bool
	other := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked.Store(true) }))
	s := httpServer(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s/steal\n\n", other.URL)
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})).URL)
	s.Transport = core.SSE
	s.Headers = map[string]string{"Authorization": "Bearer secret-token"}
	_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "x"})
	wantError(t, err, core.Unavailable, "another host")
	if leaked.Load() {
		t.Error("the credentials went to another host")
	}
}
