package mcpserver_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/mcpserver"
)

func TestSSE_conversation(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	got := make(chan float64, 8)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { got <- r.Params.Progress }})
	c, err := client.Connect(t.Context(), &mcp.SSEClientTransport{Endpoint: s.url + "/sse", HTTPClient: as("ann")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 5 {
		t.Fatalf("list: %v, %+v", err, tools)
	}
	params := execute("count", map[string]any{})
	params.SetProgressToken("p")
	result, err := c.CallTool(t.Context(), params)
	if err != nil || text(t, result) != "five" {
		t.Fatalf("call: %v, %+v", err, result)
	}
	for i := range 5 {
		if p := <-got; p != float64(i+1) {
			t.Errorf("progress %v, want %d", p, i+1)
		}
	}
	if _, err := c.ListPrompts(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "prompts/list") {
		t.Errorf("prompts: %v, want that there is no such method", err)
	}
}

// sse is a bare session of the older transport.
type sse struct {
	endpoint string
	lines    *bufio.Scanner
	hangUp   context.CancelFunc
}

func (s *stand) openSSE(token string) *sse {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	s.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", s.url+"/sse", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := as(token).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	c := &sse{lines: bufio.NewScanner(resp.Body), hangUp: cancel}
	c.endpoint = c.next()
	return c
}

// next is the data of the next event, "" at the end.
func (c *sse) next() string {
	for c.lines.Scan() {
		if data, ok := strings.CutPrefix(c.lines.Text(), "data: "); ok {
			return data
		}
	}
	return ""
}

func TestSSE_message_by_another(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	c := s.openSSE("ann")
	streamable := s.open("ann")
	for _, test := range []struct {
		name, path, token string
		status            int
	}{
		{"owner", c.endpoint, "ann", http.StatusAccepted},
		{"another user", c.endpoint, "ben", http.StatusNotFound},
		{"another token of the user", c.endpoint, "ann2", http.StatusNotFound},
		{"nobody", c.endpoint, "none", http.StatusUnauthorized},
		{"unknown session", "/message?sessionId=nonsense", "ann", http.StatusNotFound},
		{"no session", "/message", "ann", http.StatusNotFound},
		{"session of the newer transport", "/message?sessionId=" + streamable, "ann", http.StatusNotFound},
	} {
		if r := s.send("POST", test.path, test.token, hello); r.status != test.status {
			t.Errorf("%s: status %d, want %d: %s", test.name, r.status, test.status, r.body)
		}
	}
	if got := c.next(); !strings.Contains(got, `"id":1,"result":{`) {
		t.Errorf("the owner's answer is %s", got)
	}
	_, id, _ := strings.Cut(c.endpoint, "sessionId=")
	if r := s.send("POST", "/mcp", "ann", listTools, "Mcp-Session-Id", id); r.status != http.StatusNotFound {
		t.Errorf("at /mcp: status %d, body %s", r.status, r.body)
	}
}

func TestSSE_identity_comes_with_each_message(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	c := s.openSSE("ann")
	s.send("POST", c.endpoint, "ann", hello)
	c.next()
	s.send("POST", c.endpoint, "ann", call(2, "echo", `{}`), "X-Agent-Name", "first")
	c.next()
	s.send("POST", c.endpoint, "ann", call(3, "echo", `{}`), "X-Agent-Name", "second")
	c.next()
	if err := s.writer.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := s.store.Usage(t.Context(), auditFilter(), core.Page{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	agents := map[string]bool{}
	for _, row := range rows.Items {
		agents[row.Agent] = true
	}
	if len(rows.Items) != 2 || !agents["first"] || !agents["second"] {
		t.Errorf("agents %v in %d rows, want first and second", agents, len(rows.Items))
	}
	if err := s.store.RevokeToken(t.Context(), entry("token.revoke"), core.DefaultTenant, s.user.ID, s.token.ID); err != nil {
		t.Fatal(err)
	}
	if r := s.send("POST", c.endpoint, "ann", listTools); r.status != http.StatusUnauthorized {
		t.Errorf("with a revoked token: status %d, body %s", r.status, r.body)
	}
}

func TestSSE_hanging_up_cancels(t *testing.T) {
	t.Parallel()
	s := newStand(t, func(c *mcpserver.Config) { c.MaxSessions = 1 })
	c := s.openSSE("ann")
	s.send("POST", c.endpoint, "ann", hello)
	c.next()
	s.send("POST", c.endpoint, "ann", call(2, "wait", `{}`))
	<-s.started
	if r := s.send("GET", "/sse", "ben", ""); r.status != http.StatusServiceUnavailable {
		t.Errorf("beyond the bound: status %d, body %s", r.status, r.body)
	}
	c.hangUp()
	<-s.ended
	for { // its place is free again
		if r := s.send("POST", "/mcp", "ben", hello); r.status == http.StatusOK {
			break
		}
	}
}

func TestSSE_bad_bodies(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	c := s.openSSE("ann")
	for name, body := range map[string]string{
		"empty": "", "no JSON": "{", "batch": "[" + hello + "]", "no message": `{"jsonrpc":"2.0"}`,
		"NUL": "\x00", "deep": strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
	} {
		if r := s.send("POST", c.endpoint, "ann", body); r.status != http.StatusBadRequest || r.message(t)["error"] == nil {
			t.Errorf("%s: status %d, body %s", name, r.status, r.body)
		}
	}
	if r := s.send("POST", c.endpoint, "ann", hello, "Content-Type", "text/plain"); r.status != http.StatusUnsupportedMediaType {
		t.Errorf("text: status %d, body %s", r.status, r.body)
	}
	if r := s.send("POST", "/sse", "ann", hello); r.status != http.StatusMethodNotAllowed {
		t.Errorf("POST to /sse: status %d, body %s", r.status, r.body)
	}
	s.send("POST", c.endpoint, "ann", hello)
	if got := c.next(); !strings.Contains(got, `"result"`) {
		t.Errorf("the session did not survive: %s", got)
	}
}
