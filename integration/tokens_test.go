package integration_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// post sends one message to an MCP endpoint and gives the answer, its body read.
func (s *instance) post(t testing.TB, path, token string, headers map[string]string, body string) (*http.Response, string) {
	t.Helper()
	return s.do(t, http.MethodPost, path, token, headers, body)
}

// do sends a request just as it is.
func (s *instance) do(t testing.TB, method, path, token string, headers map[string]string, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for k, v := range headers {
		req.Header.Set(k, v)
		if k == "Host" {
			req.Host = v
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(raw)
}

// The messages of a client of the older generation.
const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
	domains    = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_tool_domains","arguments":{}}}`
)

// TestTokens shows what a token is worth at each moment of its life.
func TestTokens(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.register(testserver(t, "a"))
	ann, _ := s.user("ann")
	issue := func(t *testing.T, fields ...any) (id, token string) {
		t.Helper()
		var tok struct{ ID, Token string }
		s.must("POST", "/v1/admin/users/"+ann+"/tokens", adminToken, with(map[string]any{"name": "t"}, fields...), &tok)
		return tok.ID, tok.Token
	}
	// dead wants every way to be shut, also those that were open.
	dead := func(t *testing.T, token string, ways map[string]way) {
		t.Helper()
		for _, path := range []string{"/mcp", "/message?sessionId=x", "/v1/tools/a_echo"} {
			res, body := s.post(t, path, token, nil, initialize)
			challenge := res.Header.Get("WWW-Authenticate")
			if res.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(challenge, "Bearer ") || !strings.Contains(challenge, "/.well-known/oauth-protected-resource") {
				t.Errorf("POST %s: %d %q %s", path, res.StatusCode, challenge, body)
			}
		}
		for name, w := range ways {
			if o, err := w("list_tool_domains", nil); err == nil {
				t.Errorf("%s still answers: %v", name, o)
			}
		}
	}
	t.Run("none", func(t *testing.T) { dead(t, "", nil) })
	t.Run("wrong", func(t *testing.T) { dead(t, "ts_wrong", nil) })
	t.Run("revoked", func(t *testing.T) {
		id, token := issue(t)
		ways := s.ways(t, caller{token: token})
		eachWay(t, ways, func(t *testing.T, _ string, w way) {
			if o := w.run(t, "a_echo", nil); o.Text != "echo" {
				t.Errorf("before: %v", o)
			}
		})
		s.must("DELETE", "/v1/admin/users/"+ann+"/tokens/"+id, adminToken, nil, nil)
		dead(t, token, ways)
	})
	t.Run("expired", func(t *testing.T) {
		_, token := issue(t, "expiresAt", time.Now().Add(2*time.Second))
		ways := s.ways(t, caller{token: token})
		eventually(t, "expire", func() error {
			if status, _ := s.request("GET", "/v1/tools", token, nil); status != http.StatusUnauthorized {
				return fmt.Errorf("status is %d", status)
			}
			return nil
		})
		dead(t, token, ways)
	})
	t.Run("of a user who is gone", func(t *testing.T) {
		id, token := s.user("cid")
		ways := s.ways(t, caller{token: token})
		s.must("DELETE", "/v1/admin/users/"+id, adminToken, nil, nil)
		dead(t, token, ways)
	})
	t.Run("bound to an agent", func(t *testing.T) {
		_, token := issue(t, "agent", "claude")
		for agent, want := range map[string]int{"": 200, "claude": 200, "cursor": 403} {
			headers := map[string]string{"X-Agent-Name": agent}
			if res, body := s.post(t, "/mcp", token, headers, initialize); res.StatusCode != want {
				t.Errorf("x-agent-name %q at /mcp: %d %s", agent, res.StatusCode, body)
			}
			if res, body := s.post(t, "/v1/tools/a_echo", token, headers, `{"args":{}}`); res.StatusCode != want {
				t.Errorf("x-agent-name %q at /v1: %d %s", agent, res.StatusCode, body)
			}
		}
	})
}

// TestTokenStays: the caller's token goes no further than to us, and what a server
// is to get goes to it alone.
func TestTokenStays(t *testing.T) {
	t.Parallel()
	s := start(t, options{env: []string{"FAR_TOKEN=for-the-far-one"}})
	_, token := s.user("ann")
	keyed, plain := newRecord(t), newRecord(t)
	s.register(with(newRemote(t, "keyed", "-record", string(keyed)).config, "headers", map[string]string{"Authorization": "Bearer ${FAR_TOKEN}"}))
	s.register(newRemote(t, "plain", "-record", string(plain)).config)
	eachWay(t, s.ways(t, caller{token: token}), func(t *testing.T, _ string, w way) {
		for _, tool := range []string{"keyed_echo", "plain_echo"} {
			if o := w.run(t, tool, nil); o.Text != "echo" {
				t.Errorf("%s: %v", tool, o)
			}
		}
	})
	all, ours := keyed.count("authorization "), keyed.count("authorization Bearer for-the-far-one")
	if all == 0 || all != ours || plain.count("authorization ") != 0 {
		t.Errorf("of %d authorizations %d are those that were configured; the other server got %d", all, ours, plain.count("authorization "))
	}
	if log := s.log.String(); strings.Contains(log, "for-the-far-one") || strings.Contains(log, token) {
		t.Error("a token is in the log")
	}
}

// TestSessionOwner: a session is its opener's alone, and nobody learns that it exists.
func TestSessionOwner(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	ann, token := s.user("ann")
	_, bobs := s.user("bob")
	var other struct{ Token string }
	s.must("POST", "/v1/admin/users/"+ann+"/tokens", adminToken, map[string]any{"name": "other"}, &other)

	opened, _ := s.post(t, "/mcp", token, nil, initialize)
	id := opened.Header.Get("Mcp-Session-Id")
	if opened.StatusCode != http.StatusOK || id == "" {
		t.Fatalf("initialize: %d %q", opened.StatusCode, id)
	}
	_, message := openSSE(t, s, token)
	for name, by := range map[string]string{"bob": bobs, "another token of ann's": other.Token} {
		got, body := s.post(t, "/mcp", by, map[string]string{"Mcp-Session-Id": id}, domains)
		none, same := s.post(t, "/mcp", by, map[string]string{"Mcp-Session-Id": "no-such-session"}, domains)
		if got.StatusCode != http.StatusNotFound || none.StatusCode != http.StatusNotFound || withoutRequestID(body) != withoutRequestID(same) {
			t.Errorf("%s in ann's session: %d %s; in none: %d %s", name, got.StatusCode, body, none.StatusCode, same)
		}
		if res, body := s.post(t, message, by, nil, initialize); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s in ann's SSE session: %d %s", name, res.StatusCode, body)
		}
		if res, body := s.post(t, "/mcp", by, map[string]string{"Mcp-Session-Id": strings.TrimPrefix(message, "/message?sessionId=")}, domains); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s in ann's SSE session, at /mcp: %d %s", name, res.StatusCode, body)
		}
	}
	if res, body := s.post(t, "/mcp", token, map[string]string{"Mcp-Session-Id": id}, domains); res.StatusCode != http.StatusOK {
		t.Errorf("ann in her own session: %d %s", res.StatusCode, body)
	}
}

// stream is an open stream of the SSE transport.
type stream struct{ scan *bufio.Scanner }

// openSSE opens one and gives the address that it names for messages.
func openSSE(t *testing.T, s *instance, token string) (stream, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/sse", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() }) // the stream is cut off
	st := stream{bufio.NewScanner(res.Body)}
	endpoint, ok := st.next()
	if !ok {
		t.Fatalf("/sse: %s, and no endpoint", res.Status)
	}
	return st, endpoint
}

// next gives the data of the next event, false at the end of the stream.
func (s stream) next() (string, bool) {
	for s.scan.Scan() {
		if data, ok := strings.CutPrefix(s.scan.Text(), "data:"); ok {
			return strings.TrimSpace(data), true
		}
	}
	return "", false
}
