package door_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/mcpserver/door"
)

// tokens are the secrets that authenticate knows.
var tokens = map[string]core.Principal{
	"ts_ann":  {UserID: "ann", UserName: "Ann", TokenID: "t1"},
	"ts_bot":  {UserID: "ann", UserName: "Ann", TokenID: "t2", Agent: "bot"},
	"ts_down": {},
}

func authenticate(_ context.Context, hash [32]byte) (core.Principal, error) {
	for secret, p := range tokens {
		if sha256.Sum256([]byte(secret)) == hash {
			if p.UserID == "" {
				return p, errors.New("dial tcp 10.0.0.1:5432: connection refused")
			}
			return p, nil
		}
	}
	return core.Principal{}, core.Errorf(core.Unauthenticated, "token t9 expired yesterday")
}

func newDoor(t *testing.T, c door.Config) *door.Door {
	t.Helper()
	c.Authenticate = authenticate
	d, err := door.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// echo answers with what the door found out.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	req := door.Request(r.Context())
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		door.Problem(w, err)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"user": req.Principal.UserID, "agent": req.Principal.Agent, "named": req.Principal.AgentNamed, "id": req.ID})
})

func serve(d *door.Door, h http.Handler, edit func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/mcp", strings.NewReader("{}"))
	r.Host = "127.0.0.1:8080"
	if edit != nil {
		edit(r)
	}
	w := httptest.NewRecorder()
	d.Guard(h).ServeHTTP(w, r)
	return w
}

func document(t *testing.T, w *httptest.ResponseRecorder) door.Document {
	t.Helper()
	var doc door.Document
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("content type %q, want a problem document; body %s", got, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, host string
		config     door.Config
		want       int
	}{
		{"localhost", "localhost:8080", door.Config{LoopbackOnly: true}, 200},
		{"localhost in capitals", "LOCALHOST", door.Config{LoopbackOnly: true}, 200},
		{"below localhost", "scout.localhost:1", door.Config{LoopbackOnly: true}, 200},
		{"loopback", "127.0.0.1:8080", door.Config{LoopbackOnly: true}, 200},
		{"loopback six", "[::1]:8080", door.Config{LoopbackOnly: true}, 200},
		{"rebound name", "evil.example:8080", door.Config{}, 403},
		{"name that begins like us", "localhost.evil.example", door.Config{}, 403},
		{"name that begins like an address", "127.0.0.1.evil.example", door.Config{}, 403},
		{"no host", "", door.Config{}, 403},
		{"bare address", "192.168.1.5:8080", door.Config{}, 200},
		{"bare address on loopback", "192.168.1.5:8080", door.Config{LoopbackOnly: true}, 403},
		{"public", "Tools.Example.com", door.Config{PublicURL: "https://tools.example.com"}, 200},
		{"public behind a port", "tools.example.com:8443", door.Config{PublicURL: "https://tools.example.com"}, 200},
		{"allowed", "gate:9000", door.Config{AllowedHosts: []string{"gate:9000"}}, 200},
		{"allowed on another port", "gate:9001", door.Config{AllowedHosts: []string{"gate:9000"}}, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := serve(newDoor(t, c.config), echo, func(r *http.Request) { r.Host = c.host })
			if w.Code != c.want {
				t.Errorf("status %d, want %d: %s", w.Code, c.want, w.Body)
			}
			if c.want == 403 && document(t, w).Kind != core.Denied {
				t.Errorf("body %s, want kind denied", w.Body)
			}
		})
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	d := newDoor(t, door.Config{PublicURL: "https://tools.example.com/", AllowedOrigins: []string{"https://app.example.com"}})
	for _, c := range []struct {
		name    string
		origins []string
		want    int
	}{
		{"absent", nil, 200},
		{"same", []string{"http://127.0.0.1:8080"}, 200},
		{"public", []string{"https://tools.example.com"}, 200},
		{"allowed", []string{"https://app.example.com"}, 200},
		{"allowed with its default port", []string{"https://APP.example.com:443"}, 200},
		{"allowed by another scheme", []string{"http://app.example.com"}, 403},
		{"foreign", []string{"https://evil.example"}, 403},
		{"another port", []string{"http://127.0.0.1:9999"}, 403},
		{"null", []string{"null"}, 403},
		{"empty", []string{""}, 403},
		{"two", []string{"https://app.example.com", "https://app.example.com"}, 403},
		{"list in one", []string{"https://app.example.com, https://evil.example"}, 403},
		{"with a path", []string{"https://app.example.com/evil"}, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := serve(d, echo, func(r *http.Request) { r.Header["Origin"] = c.origins })
			if w.Code != c.want {
				t.Errorf("status %d, want %d: %s", w.Code, c.want, w.Body)
			}
		})
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	d := newDoor(t, door.Config{AllowedOrigins: []string{"https://app.example.com"}})
	ask := func(origin string) *httptest.ResponseRecorder {
		return serve(d, d.Authenticated(echo), func(r *http.Request) {
			r.Method = http.MethodOptions
			r.Header.Set("Origin", origin)
			r.Header.Set("Access-Control-Request-Method", "POST")
		})
	}
	w := ask("https://app.example.com")
	if w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Origin") != "https://app.example.com" {
		t.Errorf("allowed: status %d, headers %v", w.Code, w.Header())
	}
	w = ask("https://evil.example")
	if w.Code != http.StatusForbidden || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("foreign: status %d, headers %v", w.Code, w.Header())
	}
}

func TestNew_refuses_bad_urls(t *testing.T) {
	t.Parallel()
	for _, c := range []door.Config{
		{PublicURL: "tools.example.com"},
		{PublicURL: "https://tools.example.com/path"},
		{PublicURL: "ftp://tools.example.com"},
		{AllowedOrigins: []string{"*"}},
		{AllowedOrigins: []string{"https://u:p@app.example.com"}},
	} {
		if _, err := door.New(c); err == nil {
			t.Errorf("New(%+v) succeeded, want an error", c)
		}
	}
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	d := newDoor(t, door.Config{MaxBody: 10})
	body := strings.Repeat("x", 11)
	for name, length := range map[string]int64{"announced": 11, "chunked": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := serve(d, echo, func(r *http.Request) {
				r.Body = io.NopCloser(strings.NewReader(body))
				r.ContentLength = length
			})
			doc := document(t, w)
			if w.Code != http.StatusRequestEntityTooLarge || doc.Detail != "the body is larger than 10 bytes" {
				t.Errorf("status %d, detail %q", w.Code, doc.Detail)
			}
		})
	}
}

// TestLargeBodyIsReadOn: a client that sends all before it reads anything gets its
// answer, and not a broken connection.
func TestLargeBodyIsReadOn(t *testing.T) {
	t.Parallel()
	d := newDoor(t, door.Config{MaxBody: 1 << 10})
	s := httptest.NewServer(d.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			door.Problem(w, err)
		}
	})))
	t.Cleanup(s.Close)
	const size = 16 << 20
	chunk := strings.Repeat("x", size)
	for name, request := range map[string]string{
		"announced": fmt.Sprintf("Content-Length: %d\r\n\r\n%s", size, chunk),
		"chunked":   fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", size, chunk),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\n"+request); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("got %s", res.Status)
			}
		})
	}
}

// deadlines is a ResponseWriter that notes the deadlines of its connection.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error { d.read = at; return nil }

func (d *deadlines) SetWriteDeadline(at time.Time) error { d.write = at; return nil }

// TestDeadlines: neither a client that does not send its body nor one that does not
// read its answer is waited for without end, but whoever has sent all may wait.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	d := newDoor(t, door.Config{})
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	d.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if w.read.IsZero() || w.write.IsZero() {
			t.Errorf("at first the deadlines are %v and %v", w.read, w.write)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		if !w.read.IsZero() {
			t.Errorf("behind the body the deadline is %v", w.read)
		}
	})).ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader("{}")))
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	d := newDoor(t, door.Config{})
	w := serve(d, echo, func(r *http.Request) { r.Header.Set("X-Request-Id", "mine") })
	id, err := uuid.Parse(w.Header().Get("X-Request-Id"))
	if err != nil || id.Version() != 7 {
		t.Fatalf("X-Request-Id %q, want a UUIDv7", w.Header().Get("X-Request-Id"))
	}
	if !strings.Contains(w.Body.String(), id.String()) {
		t.Errorf("the handler saw %s, the client %s", w.Body, id)
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	d := newDoor(t, door.Config{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	w := serve(d, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret detail") }), nil)
	doc := document(t, w)
	if w.Code != 500 || doc.Kind != core.Internal || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "secret detail") || !strings.Contains(log.String(), doc.RequestID) {
		t.Errorf("the log does not tell of the panic: %s", &log)
	}
}

func TestPanic_after_an_answer_began(t *testing.T) {
	t.Parallel()
	d := newDoor(t, door.Config{})
	defer func() {
		if v := recover(); v != http.ErrAbortHandler {
			t.Errorf("recovered %v, want http.ErrAbortHandler", v)
		}
	}()
	serve(d, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic("no")
	}), nil)
}

func TestLogLine(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	d := newDoor(t, door.Config{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	serve(d, d.Authenticated(echo), func(r *http.Request) { r.Header.Set("Authorization", "Bearer ts_bot") })
	serve(d, d.Authenticated(echo), func(r *http.Request) { r.Header.Set("Authorization", "Bearer ts_down") })
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want 2:\n%s", len(lines), &log)
	}
	type line struct {
		Level, Msg, Method, Path, User, Agent string
		Status                                int
	}
	for i, want := range []line{
		{"INFO", "request", "POST", "/mcp", "Ann", "bot", 200},
		{"WARN", "request", "POST", "/mcp", "", "", 503},
	} {
		var got line
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("line %d (-want +got):\n%s", i, diff)
		}
	}
	if strings.Contains(log.String(), "ts_") {
		t.Errorf("the log holds a token: %s", &log)
	}
}
