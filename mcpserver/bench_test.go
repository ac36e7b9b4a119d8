package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/mcpserver"
	"github.com/toolscout/toolscout/mcpserver/door"
)

// trivial is a gateway that costs nothing: what is left is the transport.
type trivial struct{ result json.RawMessage }

func (g trivial) Call(context.Context, core.Request, gateway.Call) (json.RawMessage, error) {
	return g.result, nil
}

func (g trivial) MetaTools(context.Context, core.Principal) ([]gateway.MetaTool, error) {
	return []gateway.MetaTool{{Name: gateway.ExecuteTool, InputSchema: json.RawMessage(`{"type":"object"}`)}}, nil
}

// withToken adds the caller's token to each request.
type withToken struct {
	token string
	next  http.RoundTripper
}

func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+t.token)
	return t.next.RoundTrip(r)
}

func benchHandler(b *testing.B) http.Handler {
	b.Helper()
	d, err := door.New(door.Config{Authenticate: func(context.Context, [32]byte) (core.Principal, error) {
		return core.Principal{UserID: "u", UserName: "u", TokenID: "t"}, nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("all work and no play ", 50)
	s := mcpserver.New(mcpserver.Config{Version: "test", Gateway: trivial{
		json.RawMessage(`{"content":[{"type":"text","text":"` + text + `"}],"_meta":{"toolscout/server":"s"}}`)}})
	b.Cleanup(func() { _ = s.Close(context.Background()) })
	return d.Guard(d.Authenticated(s.HTTP()))
}

// BenchmarkCall is a tools/call through everything this package does, with the
// SDK's client on the other side: ns and allocations are those of both.
func BenchmarkCall(b *testing.B) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		b.Run(version, func(b *testing.B) {
			ts := httptest.NewServer(benchHandler(b))
			b.Cleanup(ts.Close)
			transport := &mcp.StreamableClientTransport{Endpoint: ts.URL, HTTPClient: &http.Client{
				Transport: withToken{"t", http.DefaultTransport}}}
			client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
			session, err := client.Connect(b.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = session.Close() }()
			b.ReportAllocs()
			for b.Loop() {
				_, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: gateway.ExecuteTool,
					Arguments: map[string]any{"tool_id": "x", "params": map[string]any{"a": 1}}})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkProxied is the same tool of a real server called directly, and through
// the whole gateway with audit and access.
func BenchmarkProxied(b *testing.B) {
	s := newStand(b, nil)
	for name, url := range map[string]string{"direct": s.direct, "gateway": s.url + "/mcp"} {
		b.Run(name, func(b *testing.B) {
			client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
			session, err := client.Connect(b.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: as("ann")},
				&mcp.ClientSessionOptions{ProtocolVersion: legacy})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = session.Close() }()
			params := execute("echo", map[string]any{"text": "hello"})
			if name == "direct" {
				params = &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hello"}}
			}
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				if r, err := session.CallTool(b.Context(), params); err != nil || r.IsError {
					b.Fatal(err, r)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		})
	}
}

// BenchmarkHandler is the server's half of BenchmarkCall alone, in a session.
func BenchmarkHandler(b *testing.B) {
	h := benchHandler(b)
	post := func(session, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer t")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
			r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	w := post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
	session := w.Header().Get("Mcp-Session-Id")
	post(session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"execute_tool","arguments":{"tool_id":"x","params":{"a":1}}}}`
	b.ReportAllocs()
	for b.Loop() {
		if w := post(session, body); w.Code != 200 {
			b.Fatal(w.Code, w.Body)
		}
	}
}
