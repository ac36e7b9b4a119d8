package upstream_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/upstream"
)

// BenchmarkCallHTTP compares a call through the pool with the SDK's own, on the
// same kind of server: the SDK's, with sessions.
func BenchmarkCallHTTP(b *testing.B) {
	srv := httptest.NewServer(stateful(newSDKServer(nil)))
	defer func() {
		srv.CloseClientConnections()
		srv.Close()
	}()
	p := upstream.New(upstream.Config{})
	defer p.Close()
	s := &core.Server{ID: "bench", Name: "bench", Transport: core.HTTP, URL: srv.URL, Origin: core.FromFile}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	cs, err := client.Connect(b.Context(), &mcp.StreamableClientTransport{Endpoint: srv.URL}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		b.Fatal(err)
	}
	defer cs.Close()
	for name, args := range map[string]json.RawMessage{
		"small": json.RawMessage(`{"text":"hello"}`),
		"100KB": json.RawMessage(`{"text":"` + strings.Repeat("hello ", 17_000) + `"}`),
	} {
		b.Run("pool/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Call(b.Context(), upstream.Call{Server: s, Tool: "echo", Args: args}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("sdk/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cs.CallTool(b.Context(), &mcp.CallToolParams{Name: "echo", Arguments: args}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
