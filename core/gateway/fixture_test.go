package gateway_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/access"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/upstream"
	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/audit"
)

// world is a gateway on a real database with a real upstream.
type world struct {
	t     testing.TB
	store *postgres.Store
	// own is the gateway's store: the same database, apart from the audit's.
	own     *postgres.Store
	gateway *gateway.Gateway
	audit   *audit.Writer
	// hooks are the configured entries; set before the calls that they are for.
	hooks []hooks.Entry
	set   *hookset.Set
	// configure hands the entries to the set.
	configure func() error
	// relisted counts the servers that were to be listed again.
	relisted atomic.Int32
	requests atomic.Int64
}

var by = core.AuditEntry{Level: core.LevelConfig, Action: "test"}

func newWorld(t testing.TB, change ...func(*gateway.Config)) *world {
	t.Helper()
	url := pgtest.URL(t)
	w := &world{t: t, store: openStore(t, url), own: openStore(t, url)}
	open := egress.New(egress.Config{AllowPrivate: true})
	pool := upstream.New(upstream.Config{Version: "test", Trusted: open, Guarded: open, Getenv: func(string) (string, bool) { return "", false }})
	w.audit = audit.NewWriter(audit.Config{Append: w.store.AppendAudit})
	w.hookset()
	cfg := gateway.Config{
		Store: w.own, Pool: pool, Audit: w.audit, Hooks: w.set, Runner: w.set.Runner(),
		Access: access.New(access.Config{Store: w.own}),
		Search: search.New(search.Config{Store: w.own, Embedder: func() (embeddings.Embedder, core.Model, error) {
			return nil, core.Model{}, errors.New("none")
		}}),
		Relist:  func(string) { w.relisted.Add(1) },
		Timeout: 10 * time.Second,
	}
	for _, f := range change {
		f(&cfg)
	}
	w.gateway = gateway.New(cfg)
	t.Cleanup(func() {
		if err := errors.Join(w.set.Close(context.Background()), w.audit.Close(context.Background()), pool.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// hookset makes a set of one type, whose hooks are those of the entries.
func (w *world) hookset() {
	w.t.Helper()
	found := func(in hooks.Instance) (hooks.Hook, error) {
		for _, e := range w.hooks {
			if e.Name == in.Name {
				return e.Hook, nil
			}
		}
		return nil, core.Errorf(core.InvalidParams, "there is no hook %q", in.Name)
	}
	set, err := hookset.New(hookset.Config{Store: w.own, Types: []hooks.Type{
		{Name: "test", Schema: json.RawMessage(`{"type":"object","additionalProperties":false}`), New: found}}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.set = set
	var mu sync.Mutex
	known := 0
	w.configure = func() error {
		mu.Lock()
		defer mu.Unlock()
		if known == len(w.hooks) {
			return nil
		}
		known = len(w.hooks)
		var f hookset.File
		for _, e := range w.hooks {
			f.Hooks = append(f.Hooks, hooks.Definition{Name: e.Name, Type: "test", UserID: e.UserID, ServerID: e.ServerID, Level: e.Level,
				Events: e.Events, Pattern: e.Pattern, Servers: e.Servers, Mode: e.Mode, OnError: e.OnError, Priority: e.Priority, Enabled: true})
		}
		return set.SetFile(f)
	}
}

func openStore(t testing.TB, url string) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), url, postgres.Options{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

// person is a user with a token.
type person struct {
	core.User
	hash [32]byte
}

func (w *world) person(name string, roles ...string) person {
	w.t.Helper()
	ctx := w.t.Context()
	u, err := w.store.CreateUser(ctx, by, core.User{Name: name, Roles: roles})
	if err != nil {
		w.t.Fatal(err)
	}
	p := person{u, sha256.Sum256([]byte(name))}
	if _, err := w.store.CreateToken(ctx, by, core.Token{UserID: u.ID, Name: "test", Agent: "agent-of-" + name}, p.hash); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// request authenticates afresh, as every real request does. The
// hooks are those of now.
func (w *world) request(p person) core.Request {
	w.t.Helper()
	if err := w.configure(); err != nil {
		w.t.Fatal(err)
	}
	principal, err := w.store.Authenticate(w.t.Context(), p.hash)
	if err != nil {
		w.t.Fatal(err)
	}
	return core.Request{ID: fmt.Sprintf("r%d", w.requests.Add(1)), Principal: principal}
}

// call carries out an action, over MCP for the meta-tools and over REST else.
func (w *world) call(p person, action, args string) (json.RawMessage, error) {
	w.t.Helper()
	raw, _, err := w.traced(p, action, args)
	return raw, err
}

func (w *world) traced(p person, action, args string) (json.RawMessage, core.Request, error) {
	w.t.Helper()
	via := core.LevelHTTP
	if gateway.IsMetaTool(action) {
		via = core.LevelMeta
	}
	req := w.request(p)
	raw, err := w.gateway.Call(w.t.Context(), req, gateway.Call{Action: action, Via: via, Args: json.RawMessage(args)})
	return raw, req, err
}

// rows gives what a request left behind.
func (w *world) rows(req core.Request) ([]core.AuditEntry, []core.UsageEntry) {
	w.t.Helper()
	ctx := context.WithoutCancel(w.t.Context())
	if err := w.audit.Flush(ctx); err != nil {
		w.t.Fatal(err)
	}
	f := postgres.AuditFilter{RequestID: req.ID}
	audits, err := w.store.Audit(ctx, f, core.Page{})
	if err != nil {
		w.t.Fatal(err)
	}
	usages, err := w.store.Usage(ctx, f, core.Page{})
	if err != nil {
		w.t.Fatal(err)
	}
	return audits.Items, usages.Items
}

// tool is a tool in the catalog.
type tool struct{ name, schema, description string }

const echoSchema = `{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer","minimum":1}},"required":["text"],"additionalProperties":false}`

var usualTools = []tool{
	{"echo", echoSchema, "Repeats a text. " + strings.Repeat("It says the same again. ", 30)},
	{"fail", `{"type":"object"}`, "Always fails."},
	{"slow", `{"type":"object"}`, "Never comes to an end."},
	{"ghost", `{"type":"object"}`, "The server no longer has it."},
	{"broken", `{"type":"objekt"}`, "Its schema is broken."},
}

// server registers a server with tools, and gives it with the tools' ids by name.
func (w *world) server(s core.Server, tools ...tool) (core.Server, map[string]string) {
	w.t.Helper()
	ctx := w.t.Context()
	if s.URL == "" {
		s.URL = newUpstream(w.t)
	}
	s.Transport = core.HTTP
	created, err := w.store.CreateServer(ctx, by, s)
	if err != nil {
		w.t.Fatal(err)
	}
	if tools == nil {
		tools = usualTools
	}
	var diff postgres.ToolDiff
	for _, t := range tools {
		schema := json.RawMessage(t.schema)
		diff.Upsert = append(diff.Upsert, core.Tool{Name: s.Prefix + t.name, OriginName: t.name, Description: t.description,
			InputSchema: schema, SchemaHash: fmt.Sprintf("%x", sha256.Sum256([]byte(t.name+t.schema))), Signature: core.Signature(schema),
			Annotations: json.RawMessage(`{ "readOnlyHint":true, "x-n": 1.0 }`)})
	}
	if _, err := w.store.ApplyTools(ctx, created.ID, diff); err != nil {
		w.t.Fatal(err)
	}
	stored, err := w.store.ServerTools(ctx, created.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	ids := map[string]string{}
	for _, t := range stored {
		ids[t.OriginName] = t.ID
	}
	return created, ids
}

// newUpstream is a server made with the SDK.
func newUpstream(t testing.TB) string {
	srv := mcp.NewServer(&mcp.Implementation{Name: "upstream", Version: "1"}, nil)
	add := func(name string, h func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		srv.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, h)
	}
	text := func(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }
	echo := func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: text(string(r.Params.Arguments))}, nil
	}
	add("echo", echo)
	add("broken", echo)
	add("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: text("disk full"), IsError: true}, nil
	})
	add("slow", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, &jsonrpc.Error{Code: -32000, Message: "cancelled"}
	})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv },
		&mcp.StreamableHTTPOptions{Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return h.URL
}

// newRawUpstream is a server that answers every call with the bytes it is given:
// the SDK would put them in its own order.
func newRawUpstream(t testing.TB, answer func(args json.RawMessage) string) string {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments json.RawMessage }
		}
		if r.Method != http.MethodPost || err != nil || json.Unmarshal(body, &m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		result := ""
		switch m.Method {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", "one")
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
		case "tools/call":
			result = answer(m.Params.Arguments)
		case "server/discover":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
			return
		default:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(h.Close)
	return h.URL
}
