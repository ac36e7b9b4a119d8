package mcpserver_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/access"
	"github.com/toolscout/toolscout/core/catalog"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/upstream"
	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/audit"
	"github.com/toolscout/toolscout/mcpserver"
	"github.com/toolscout/toolscout/mcpserver/door"
)

const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// stand is a whole gateway on a database of its own, with one upstream server.
type stand struct {
	t       testing.TB
	store   *postgres.Store
	server  *mcpserver.Server
	writer  *audit.Writer
	url     string
	direct  string    // the upstream server's own address
	user    core.User // holds the tokens ann and ann2
	token   core.Token
	started chan struct{} // the tool wait has begun
	ended   chan struct{} // and was cancelled
}

func newStand(t testing.TB, edit func(*mcpserver.Config)) *stand {
	t.Helper()
	s := &stand{t: t, store: pgtest.New(t), started: make(chan struct{}, 8), ended: make(chan struct{}, 8)}
	s.direct = s.upstream() // it must outlive the pool
	open := egress.New(egress.Config{AllowPrivate: true})
	pool := upstream.New(upstream.Config{Version: "test", Trusted: open, Guarded: open})
	s.writer = audit.NewWriter(audit.Config{Append: s.store.AppendAudit})
	runner := hooks.NewRunner(hooks.Config{})
	registry := access.New(access.Config{Store: s.store})
	engine := search.New(search.Config{Store: s.store, Embedder: func() (embeddings.Embedder, core.Model, error) {
		return nil, core.Model{}, core.Errorf(core.Unavailable, "there is no model here")
	}})
	config := mcpserver.Config{Version: "1.0.0", Gateway: gateway.New(gateway.Config{Store: s.store, Access: registry,
		Search: engine, Pool: pool, Audit: s.writer, Runner: runner})}
	if edit != nil {
		edit(&config)
	}
	s.server = mcpserver.New(config)
	d, err := door.New(door.Config{Authenticate: s.store.Authenticate, LoopbackOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.server.HTTP())
	mux.Handle("/sse", s.server.SSE())
	mux.Handle("/message", s.server.SSE())
	ts := httptest.NewServer(d.Guard(d.Authenticated(mux)))
	s.url = ts.URL
	t.Cleanup(func() {
		_ = s.server.Close(context.Background())
		ts.Close()
		_ = pool.Close()
		_ = runner.Close(context.Background())
		_ = s.writer.Close(context.Background())
	})
	s.user, s.token = s.addUser("ann")
	s.addUser("ben")
	s.addToken(s.user.ID, "ann2")
	s.register(pool)
	return s
}

// addUser makes a user with a token of the same name.
func (s *stand) addUser(name string) (core.User, core.Token) {
	s.t.Helper()
	u, err := s.store.CreateUser(s.t.Context(), entry("user.create"), core.User{Name: name})
	if err != nil {
		s.t.Fatal(err)
	}
	return u, s.addToken(u.ID, name)
}

func (s *stand) addToken(userID, secret string) core.Token {
	s.t.Helper()
	token, err := s.store.CreateToken(s.t.Context(), entry("token.create"), core.Token{UserID: userID, Name: secret},
		sha256.Sum256([]byte(secret)))
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

func entry(action string) core.AuditEntry {
	return core.Request{Principal: core.Principal{TenantID: core.DefaultTenant, UserName: "test"}}.Entry(core.LevelConfig, action)
}

// upstream puts up a server with three tools.
func (s *stand) upstream() string {
	s.t.Helper()
	srv := mcp.NewServer(&mcp.Implementation{Name: "upstream", Version: "1"}, nil)
	object := json.RawMessage(`{"type":"object"}`)
	srv.AddTool(&mcp.Tool{Name: "echo", Description: "Echo what is said", InputSchema: object},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
	srv.AddTool(&mcp.Tool{Name: "count", Description: "Count to five", InputSchema: object},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for i := range 5 {
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 5, Message: "counting"})
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "five"}}}, nil
		})
	srv.AddTool(&mcp.Tool{Name: "wait", Description: "Wait to be cancelled", InputSchema: object},
		func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.started <- struct{}{}
			<-ctx.Done()
			s.ended <- struct{}{}
			return nil, ctx.Err()
		})
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, nil))
	s.t.Cleanup(ts.Close)
	return ts.URL
}

// register registers the upstream server and lists it.
func (s *stand) register(pool *upstream.Pool) {
	s.t.Helper()
	server, err := s.store.CreateServer(s.t.Context(), entry("server.create"), core.Server{TenantID: core.DefaultTenant,
		Name: "upstream", Domain: "general", Transport: core.HTTP, URL: s.direct, Visibility: core.Visible,
		Isolation: core.Shared, Status: core.Active, Origin: core.FromAPI, Timeout: 20 * time.Second})
	if err != nil {
		s.t.Fatal(err)
	}
	syncer := catalog.NewSyncer(catalog.SyncConfig{Store: s.store, Pool: pool})
	if _, err := syncer.Sync(s.t.Context(), server.ID); err != nil {
		s.t.Fatal(err)
	}
}

// connect opens a session of the SDK's client as the holder of a token.
func (s *stand) connect(token, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	s.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(s.t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp",
		HTTPClient: as(token)}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = session.Close() })
	return session
}

// as is an HTTP client that holds a token.
func as(token string) *http.Client {
	return &http.Client{Transport: withToken{token, http.DefaultTransport}}
}

// reply is an HTTP answer, read whole.
type reply struct {
	status int
	header http.Header
	body   string
}

// send makes a bare HTTP request; a header with an empty value is left out.
func (s *stand) send(method, path, token, body string, headers ...string) reply {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Del(headers[i])
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := as(token).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	read, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(read)}
}

// message is the JSON-RPC message in an answer, whether it came plain or as an event.
func (r reply) message(t testing.TB) map[string]any {
	t.Helper()
	text := r.body
	if _, data, ok := strings.Cut(text, "data: "); ok {
		text = strings.TrimSpace(data)
	}
	var m map[string]any
	if err := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&m); err != nil {
		t.Fatalf("status %d, body %q: %v", r.status, r.body, err)
	}
	return m
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}}`

// open opens a session by bare HTTP and gives its id.
func (s *stand) open(token string) string {
	s.t.Helper()
	r := s.send("POST", "/mcp", token, hello)
	id := r.header.Get("Mcp-Session-Id")
	if r.status != http.StatusOK || id == "" {
		s.t.Fatalf("initialize: status %d, session %q, body %s", r.status, id, r.body)
	}
	return id
}

// execute is an execute_tool of the SDK's client.
func execute(tool string, params any) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: gateway.ExecuteTool, Arguments: map[string]any{"tool_id": tool, "params": params}}
}

// text is the text of a result.
func text(t testing.TB, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%d blocks of content, want 1", len(r.Content))
	}
	block, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content is %T, want text", r.Content[0])
	}
	return block.Text
}
