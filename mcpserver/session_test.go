package mcpserver_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/mcpserver"
)

func call(id any, tool, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":"execute_tool","arguments":{"tool_id":%q,"params":%s}}}`, id, tool, params)
}

const listTools = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`

func TestSession_of_another_is_unknown(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	id := s.open("ann")
	unknown := s.send("POST", "/mcp", "ben", listTools, "Mcp-Session-Id", "nonsense")
	for _, c := range []struct{ name, method, token, body string }{
		{"list by another user", "POST", "ben", listTools},
		{"call by another user", "POST", "ben", call(3, "echo", `{}`)},
		{"stream of another user", "GET", "ben", ""},
		{"end by another user", "DELETE", "ben", ""},
		{"call by another token of the user", "POST", "ann2", call(3, "echo", `{}`)},
	} {
		r := s.send(c.method, "/mcp", c.token, c.body, "Mcp-Session-Id", id)
		if r.status != http.StatusNotFound || withoutID(r.body) != withoutID(unknown.body) {
			t.Errorf("%s: status %d, body %s, want that of an unknown session: %s", c.name, r.status, r.body, unknown.body)
		}
	}
	if r := s.send("POST", "/mcp", "ann", call(3, "echo", `{}`), "Mcp-Session-Id", id); r.status != http.StatusOK {
		t.Errorf("the owner: status %d, body %s", r.status, r.body)
	}
}

// withoutID cuts the request's id off a problem document.
func withoutID(body string) string {
	before, after, _ := strings.Cut(body, `"requestId":"`)
	_, after, _ = strings.Cut(after, `"`)
	return before + after
}

func TestSession_ends_with_its_token(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	id := s.open("ann")
	if err := s.store.RevokeToken(t.Context(), entry("token.revoke"), core.DefaultTenant, s.user.ID, s.token.ID); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{listTools, call(3, "echo", `{}`)} {
		r := s.send("POST", "/mcp", "ann", body, "Mcp-Session-Id", id)
		if r.status != http.StatusUnauthorized || !strings.Contains(r.header.Get("WWW-Authenticate"), "invalid_token") {
			t.Errorf("status %d, challenge %q", r.status, r.header.Get("WWW-Authenticate"))
		}
	}
}

func TestSession_delete(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	id := s.open("ann")
	if r := s.send("DELETE", "/mcp", "ann", "", "Mcp-Session-Id", id); r.status != http.StatusNoContent {
		t.Fatalf("status %d, body %s", r.status, r.body)
	}
	if r := s.send("POST", "/mcp", "ann", listTools, "Mcp-Session-Id", id); r.status != http.StatusNotFound {
		t.Errorf("after the end: status %d, body %s", r.status, r.body)
	}
}

func TestSessions_bounded(t *testing.T) {
	t.Parallel()
	s := newStand(t, func(c *mcpserver.Config) { c.SessionsPerUser, c.MaxSessions = 2, 3 })
	first, second := s.open("ann"), s.open("ann")
	third := s.open("ann2") // the bound is the user's: the longest idle one makes room
	for id, want := range map[string]int{first: 404, second: 200} {
		if r := s.send("POST", "/mcp", "ann", listTools, "Mcp-Session-Id", id); r.status != want {
			t.Errorf("status %d, want %d: %s", r.status, want, r.body)
		}
	}
	// Both of ann's are busy now: a stream is open in each.
	s.stream(t, "ann", second)
	s.stream(t, "ann2", third)
	r := s.send("POST", "/mcp", "ann", hello)
	if r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") == "" {
		t.Errorf("a user's bound: status %d, retry after %q, body %s", r.status, r.header.Get("Retry-After"), r.body)
	}
	s.stream(t, "ben", s.open("ben"))
	if r := s.send("POST", "/mcp", "ben", hello); r.status != http.StatusServiceUnavailable {
		t.Errorf("the bound of all: status %d, body %s", r.status, r.body)
	}
	// What is refused leaves nothing behind.
	for range 5 {
		if r := s.send("POST", "/mcp", "ben", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`); r.status < 400 {
			t.Errorf("status %d, body %s", r.status, r.body)
		}
	}
}

func TestSessions_failed_initialize_holds_no_place(t *testing.T) {
	t.Parallel()
	s := newStand(t, func(c *mcpserver.Config) { c.MaxSessions = 1 })
	for range 3 {
		s.send("POST", "/mcp", "ann", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`)
		s.send("POST", "/mcp", "ann", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`)
	}
	s.open("ben")
}

// stream opens a GET stream and leaves it open until the test ends.
func (s *stand) stream(t *testing.T, token, session string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", s.url+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Mcp-Session-Id", session)
	resp, err := as(token).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("stream: status %d, headers %v", resp.StatusCode, resp.Header)
	}
}

func TestClose_lets_calls_finish(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	id := s.open("ann")
	s.stream(t, "ann", id)
	answer := make(chan reply, 1)
	go func() {
		answer <- s.send("POST", "/mcp", "ann", call(3, "wait", `{}`), "Mcp-Session-Id", id)
	}()
	<-s.started
	ctx, cancel := context.WithCancel(t.Context())
	closed := make(chan error, 1)
	go func() { closed <- s.server.Close(ctx) }()
	select {
	case err := <-closed:
		t.Fatalf("Close returned %v while a call was under way", err)
	case r := <-answer:
		t.Fatalf("the call ended early: %+v", r)
	case <-s.refused(t):
	}
	cancel() // time is up: the call is cancelled, and still answered
	<-s.ended
	if r := <-answer; r.status != http.StatusOK || !strings.Contains(r.body, `"isError":true`) {
		t.Errorf("status %d, body %s", r.status, r.body)
	}
	if err := <-closed; err == nil {
		t.Error("Close does not say that it cut calls off")
	}
}

// refused is closed when the server takes no new session any more.
func (s *stand) refused(t *testing.T) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for t.Context().Err() == nil {
			if r := s.send("POST", "/mcp", "ben", hello); r.status == http.StatusServiceUnavailable {
				return
			}
		}
	}()
	return done
}

func TestModern_disconnect_cancels(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	body := strings.Replace(call(3, "wait", `{}`), `"params":{"name"`, `"params":{`+modernMeta+`,"name"`, 1)
	r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {modern},
		"Mcp-Method": {"tools/call"}, "Mcp-Name": {"execute_tool"}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := as("ann").Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-s.started
	cancel()
	<-s.ended
	<-done
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
	`"io.modelcontextprotocol/clientInfo":{"name":"bare","version":"1"}}`

func TestModern_headers_must_match(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	with := func(params string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{` + params + `"name":"list_tool_domains","arguments":{}}}`
	}
	for _, c := range []struct {
		name    string
		headers []string
		body    string
		status  int
		code    float64
	}{
		{"all well", []string{"Mcp-Method", "tools/call", "Mcp-Name", "list_tool_domains"}, with(modernMeta + ","), 200, 0},
		{"another method", []string{"Mcp-Method", "tools/list", "Mcp-Name", "list_tool_domains"}, with(modernMeta + ","), 400, -32020},
		{"no method", []string{"Mcp-Name", "list_tool_domains"}, with(modernMeta + ","), 400, -32020},
		{"another name", []string{"Mcp-Method", "tools/call", "Mcp-Name", "execute_tool"}, with(modernMeta + ","), 400, -32020},
		{"no name", []string{"Mcp-Method", "tools/call"}, with(modernMeta + ","), 400, -32020},
		{"no _meta", []string{"Mcp-Method", "tools/call", "Mcp-Name", "list_tool_domains"}, with(""), 400, -32602},
		{"another version", []string{"Mcp-Method", "tools/call", "Mcp-Name", "list_tool_domains"},
			with(strings.Replace(modernMeta, "07-28", "07-29", 1) + ","), 400, -32020},
		{"no capabilities", []string{"Mcp-Method", "tools/call", "Mcp-Name", "list_tool_domains"},
			with(`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},`), 400, -32602},
	} {
		r := s.send("POST", "/mcp", "ann", c.body, append(c.headers, "Mcp-Protocol-Version", modern)...)
		m := r.message(t)
		code := float64(0)
		if e, ok := m["error"].(map[string]any); ok {
			code, _ = e["code"].(float64)
		}
		if r.status != c.status || code != c.code || m["id"] != 7.0 {
			t.Errorf("%s: status %d, want %d; code %v, want %v; body %s", c.name, r.status, c.status, code, c.code, r.body)
		}
		if c.status == 200 && !strings.Contains(r.body, `"resultType":"complete"`) {
			t.Errorf("%s: no resultType in %s", c.name, r.body)
		}
	}
}
