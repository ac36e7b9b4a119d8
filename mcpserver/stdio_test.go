package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/toolscout/toolscout/mcpserver"
)

// attached is a client's end of mcpserver.Attach.
type attached struct {
	in    *io.PipeWriter
	lines *bufio.Reader
	out   *io.PipeReader
	done  chan error
}

func attach(t *testing.T, url, token string, client *http.Client) *attached {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	a := &attached{in: inW, out: outR, lines: bufio.NewReader(outR), done: make(chan error, 1)}
	go func() {
		a.done <- mcpserver.Attach(t.Context(), inR, outW, url, token, client)
		_ = outW.Close()
	}()
	t.Cleanup(func() { _ = inW.Close() })
	return a
}

func (a *attached) say(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(a.in, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
}

func (a *attached) hear(t *testing.T) map[string]any {
	t.Helper()
	line, err := a.lines.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return m
}

func TestAttach_conversation(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	eras(t, func(t *testing.T, version string) {
		a := attach(t, s.url+"/mcp", "ann", nil)
		got := make(chan float64, 8)
		client := mcp.NewClient(&mcp.Implementation{Name: "desktop", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { got <- r.Params.Progress }})
		c, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: a.out, Writer: a.in}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		if tools, err := c.ListTools(t.Context(), nil); err != nil || len(tools.Tools) != 5 {
			t.Fatalf("list: %v, %+v", err, tools)
		}
		params := execute("count", map[string]any{})
		params.SetProgressToken("p")
		if result, err := c.CallTool(t.Context(), params); err != nil || text(t, result) != "five" {
			t.Fatalf("call: %v, %+v", err, result)
		}
		for i := range 5 {
			if p := <-got; p != float64(i+1) {
				t.Errorf("progress %v, want %d", p, i+1)
			}
		}
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				result, err := c.CallTool(t.Context(), execute("echo", map[string]any{"i": i}))
				if err != nil || text(t, result) != fmt.Sprintf(`{"i":%d}`, i) {
					t.Errorf("call %d: %v, %+v", i, err, result)
				}
			})
		}
		all.Wait()
		_ = c.Close() // the pipe is closed, which is no error for Attach
		if err := <-a.done; err != nil {
			t.Errorf("Attach: %v", err)
		}
	})
}

func TestAttach_cancel_reaches_the_upstream(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, version string) {
		s := newStand(t, nil)
		a := attach(t, s.url+"/mcp", "ann", nil)
		client := mcp.NewClient(&mcp.Implementation{Name: "desktop", Version: "1"}, nil)
		c, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: a.out, Writer: a.in}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, execute("wait", map[string]any{}))
			done <- err
		}()
		<-s.started
		cancel()
		<-s.ended
		if err := <-done; err == nil {
			t.Error("the cancelled call succeeded")
		}
		if _, err := c.CallTool(t.Context(), execute("echo", map[string]any{})); err != nil {
			t.Errorf("the session did not survive: %v", err)
		}
	})
}

func TestAttach_opens_a_lost_session_again(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	recorder := &sessionsSeen{}
	a := attach(t, s.url+"/mcp", "ann", &http.Client{Transport: recorder})
	a.say(t, hello)
	a.hear(t)
	for id := range 3 {
		first := recorder.last()
		if r := s.send("DELETE", "/mcp", "ann", "", "Mcp-Session-Id", first); r.status != http.StatusNoContent {
			t.Fatalf("status %d, body %s", r.status, r.body)
		}
		a.say(t, call(id, "echo", `{"a":1}`))
		m := a.hear(t)
		if m["id"] != float64(id) || m["result"] == nil {
			t.Fatalf("answer %v, want the result of %d", m, id)
		}
		if recorder.last() == first {
			t.Error("the session is still the old one")
		}
	}
	// At the end the session is ended too.
	last := recorder.last()
	_ = a.in.Close()
	if err := <-a.done; err != nil {
		t.Errorf("Attach: %v", err)
	}
	if r := s.send("POST", "/mcp", "ann", listTools, "Mcp-Session-Id", last); r.status != http.StatusNotFound {
		t.Errorf("after the end: status %d, body %s", r.status, r.body)
	}
}

// sessionsSeen notes the sessions that a server hands out.
type sessionsSeen struct {
	mu  sync.Mutex
	ids []string
}

func (s *sessionsSeen) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && resp.Header.Get("Mcp-Session-Id") != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ids = append(s.ids, resp.Header.Get("Mcp-Session-Id"))
	}
	return resp, err
}

func (s *sessionsSeen) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ids[len(s.ids)-1]
}

func TestAttach_answers_due_at_the_end_are_written(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	var out bytes.Buffer
	in := strings.NewReader(hello + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n\n" + call(2, "count", `{}`)) // no newline at the end
	if err := mcpserver.Attach(t.Context(), in, &out, s.url+"/mcp", "ann", nil); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2 || !strings.Contains(out.String(), `"five"`) {
		t.Errorf("%d lines, want 2:\n%s", lines, &out)
	}
}

func TestAttach_faults(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	gone := httptest.NewServer(nil)
	gone.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": nothing\n\n")
	}))
	t.Cleanup(broken.Close)
	for _, c := range []struct {
		name, url, token, line string
		id                     any
		message                string
	}{
		{"no JSON", s.url + "/mcp", "ann", "{", nil, "cannot be read"},
		{"too long", s.url + "/mcp", "ann", strings.Repeat("a", 17<<20), nil, "at most"},
		{"longer than the server takes", s.url + "/mcp", "ann",
			`{"jsonrpc":"2.0","id":4,"method":"ping","x":"` + strings.Repeat("a", 5<<20) + `"}`, 4.0, "413"},
		{"revoked token", s.url + "/mcp", "none", hello, 1.0, "a valid bearer token is needed"},
		{"unreachable", gone.URL, "ann", hello, 1.0, "cannot be reached"},
		{"no endpoint", s.url + "/nothing", "ann", hello, 1.0, "404"},
		{"no answer", broken.URL, "ann", hello, 1.0, "may have run"},
		{"no session yet", s.url + "/mcp", "ann", listTools, 2.0, "initialize"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := attach(t, c.url, c.token, nil)
			a.say(t, c.line)
			m := a.hear(t)
			e, _ := m["error"].(map[string]any)
			if message, _ := e["message"].(string); m["id"] != c.id || !strings.Contains(message, c.message) {
				t.Errorf("answer %v, want id %v and %q", m, c.id, c.message)
			}
			_ = a.in.Close()
			if err := <-a.done; err != nil {
				t.Errorf("Attach: %v", err)
			}
		})
	}
}

func TestAttach_ends_when_nobody_listens(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	a := attach(t, s.url+"/mcp", "ann", nil)
	_ = a.out.CloseWithError(errors.New("gone"))
	a.say(t, hello)
	if err := <-a.done; err == nil || !strings.Contains(err.Error(), "write to the client: gone") {
		t.Errorf("Attach: %v, want that it cannot write", err)
	}
}
