package rest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/access"
	"github.com/toolscout/toolscout/core/admin"
	"github.com/toolscout/toolscout/core/catalog"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/core/events"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/core/hookbook"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/secret"
	"github.com/toolscout/toolscout/core/upstream"
	"github.com/toolscout/toolscout/embeddings/builtin"
	"github.com/toolscout/toolscout/hooks/audit"
	"github.com/toolscout/toolscout/mcpserver/door"
	"github.com/toolscout/toolscout/mcpserver/rest"
)

// rig is the whole gateway behind the API: a real database, real sessions.
type rig struct {
	url string
	// handler is what the url leads to.
	handler http.Handler
	store   *postgres.Store
	audit   *audit.Writer
	admin   string // the first admin's token
	doc     described
	set     *hookset.Set
	spies   *spies
	bus     *events.Bus
	// stopBus ends the streams, as the end of the server does.
	stopBus func()
}

const adminToken = "ts_the-first-admin"

func newRig(t *testing.T) *rig {
	t.Helper()
	store := pgtest.New(t)
	if err := store.EnsureAdmin(t.Context(), "root", sha256.Sum256([]byte(adminToken))); err != nil {
		t.Fatal(err)
	}
	return newInstance(t, store)
}

// newInstance is a gateway on a database that others may share.
func newInstance(t *testing.T, store *postgres.Store) *rig {
	t.Helper()
	table, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	guard := egress.New(egress.Config{AllowPrivate: true})
	box := secret.New([32]byte{1})
	pool := upstream.New(upstream.Config{Version: "test", Getenv: func(string) (string, bool) { return "", false }, Open: box.Open, Trusted: guard, Guarded: guard,
		OnHealth: func(id string, h core.Health) { _ = store.SetHealth(context.Background(), id, h) },
		OnEra:    func(id, era string) { _ = store.SetEra(context.Background(), id, era) }})
	t.Cleanup(func() { _ = pool.Close() })
	indexer := catalog.NewIndexer(catalog.IndexConfig{Store: store, Embedder: table})
	syncer := catalog.NewSyncer(catalog.SyncConfig{Store: store, Pool: pool, Poke: indexer.Poke})
	run(t, indexer.Run)
	run(t, syncer.Run)
	engine := search.New(search.Config{Store: store, Embedder: indexer.Active})
	writer := audit.NewWriter(audit.Config{Append: store.AppendAudit})
	t.Cleanup(func() { _ = writer.Close(context.Background()) })
	seen := &spies{}
	set, err := hookset.New(hookset.Config{Store: store, Types: seen.types(), Open: box.Open})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close(context.Background()) })
	book := hookbook.New(hookbook.Config{Store: store, Set: set, Secrets: box})
	bus := events.New(events.Config{Store: store})
	t.Cleanup(func() { _ = bus.Close(context.Background()) })
	stopBus := run(t, bus.Run)
	run(t, func(ctx context.Context) error { return store.Listen(ctx, bus.Notice) })
	gw := gateway.New(gateway.Config{Store: store, Events: bus, Access: access.New(access.Config{Store: store}), Search: engine, Pool: pool,
		Audit: writer, Hooks: set, Runner: set.Runner(), Book: book, Relist: syncer.Enqueue})
	adm := admin.New(admin.Config{Store: store, Pool: pool, Syncer: syncer, Indexer: indexer, Search: engine, Audit: writer,
		Secrets: box, Book: book, Policy: admin.Policy{LoopbackOnly: true}})
	d, err := door.New(door.Config{Authenticate: store.Authenticate, LoopbackOnly: true, MaxBodies: rest.MaxBodies()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(d.Guard(rest.New(rest.Config{Gateway: gw, Admin: adm, Door: d, Version: "test"})))
	t.Cleanup(server.Close)
	r := &rig{url: server.URL, handler: server.Config.Handler, store: store, audit: writer, admin: adminToken, doc: describedAPI(t), set: set, spies: seen,
		bus: bus, stopBus: stopBus}
	r.declare(t)
	return r
}

// run keeps a part running until the end of the test, or until it is stopped.
func run(t *testing.T, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = f(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// answer is what the API answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request and holds the answer to the description.
func (r *rig) do(t *testing.T, token, method, path, body string) answer {
	t.Helper()
	a := r.send(t, token, method, path, "application/json", body)
	r.doc.conforms(t, method, path, a)
	return a
}

func (r *rig) send(t *testing.T, token, method, path, contentType, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
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
	return answer{res.StatusCode, res.Header, raw}
}

// want is do for an answer whose status is known and whose body is decoded.
func (r *rig) want(t *testing.T, status int, out any, token, method, path, body string) answer {
	t.Helper()
	a := r.do(t, token, method, path, body)
	if a.status != status {
		t.Fatalf("%s %s %s: got %d %s, want %d", method, path, body, a.status, a.body, status)
	}
	if out != nil {
		if err := json.Unmarshal(a.body, out); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, a.body)
		}
	}
	return a
}

// user adds a user and gives them a token.
func (r *rig) user(t *testing.T, name string, roles ...string) (id, token string) {
	t.Helper()
	in, err := json.Marshal(rest.UserInput{Name: name, Roles: roles})
	if err != nil {
		t.Fatal(err)
	}
	var u rest.User
	r.want(t, 201, &u, r.admin, "POST", "/v1/admin/users", string(in))
	var tok rest.NewToken
	r.want(t, 201, &tok, r.admin, "POST", "/v1/admin/users/"+u.ID+"/tokens", `{"name":"test"}`)
	return u.ID, tok.Secret
}

// register registers an HTTP server and waits for its tools.
func (r *rig) register(t *testing.T, name, url, more string) rest.Server {
	t.Helper()
	var s rest.Server
	r.want(t, 201, &s, r.admin, "POST", "/v1/admin/servers?wait=60s",
		`{"name":"`+name+`","transport":"http","url":"`+url+`"`+more+`}`)
	if s.Health.State != core.Healthy {
		t.Fatalf("server %s is %+v", name, s.Health)
	}
	return s
}

// upstreamServer is a real MCP server with the tools echo, which answers with its
// arguments byte for byte, and fail.
func upstreamServer(t *testing.T, more ...string) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "echoes", Version: "1"}, nil)
	echo := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}},
			StructuredContent: req.Params.Arguments}, nil
	}
	input := json.RawMessage(`{"type":"object","properties":{"message":{"type":"string","description":"what to say"},"n":{"type":"integer"}},"required":["message"]}`)
	for _, name := range append([]string{"echo"}, more...) {
		s.AddTool(&mcp.Tool{Name: name, Description: "Say a message back", InputSchema: input}, echo)
	}
	s.AddTool(&mcp.Tool{Name: "fail", Description: "Report an error", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "it did not work"}}}, nil
		})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() {
		h.CloseClientConnections() // the pool keeps its sessions open
		h.Close()
	})
	return h.URL
}

// described is the description, ready to hold answers to it.
type described struct {
	document
	schemas *jsonschema.Compiler
}

// describedAPI closes the schemas of answers, so that undocumented fields show.
func describedAPI(t *testing.T) described {
	t.Helper()
	_, h := nobody(t)
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(ask(t, h, "GET", "/openapi.json").Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	schemas := parsed.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	for name, s := range schemas {
		if object := s.(map[string]any); name != "CallToolResult" && object["properties"] != nil {
			object["additionalProperties"] = false
		}
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("openapi.json", parsed); err != nil {
		t.Fatal(err)
	}
	return described{description(t), c}
}

// conforms holds an answer to what is promised: a status that is listed, and a
// body that meets its schema.
func (d described) conforms(t *testing.T, method, path string, a answer) {
	t.Helper()
	path, _, _ = strings.Cut(path, "?")
	op, found := d.operation(method, path)
	if !found {
		t.Errorf("%s %s is not described", method, path)
		return
	}
	r, ok := op.Responses[strconv.Itoa(a.status)]
	if !ok {
		t.Errorf("%s answers %d, which is not described: %s", op.OperationID, a.status, a.body)
		return
	}
	if name, shared := strings.CutPrefix(r.Ref, "#/components/responses/"); shared {
		r = d.Components.Responses[name]
	}
	for media, m := range r.Content {
		if got := a.header.Get("Content-Type"); got != media {
			t.Errorf("%s answers %q, want %q", op.OperationID, got, media)
		}
		d.checkBody(t, op.OperationID, m.Schema.Ref, a.body)
	}
}

var parameterName = regexp.MustCompile(`\\\{\w+\\\}`)

// operation finds what a path leads to; one without parameters goes first.
func (d described) operation(method, path string) (op operation, found bool) {
	if op, found = d.Paths[path][strings.ToLower(method)]; found {
		return op, true
	}
	for template, item := range d.Paths {
		pattern := "^" + parameterName.ReplaceAllString(regexp.QuoteMeta(template), `[^/]+`) + "$"
		if op, found = item[strings.ToLower(method)]; found && regexp.MustCompile(pattern).MatchString(path) {
			return op, true
		}
	}
	return operation{}, false
}

func (d described) checkBody(t *testing.T, what, ref string, body []byte) {
	t.Helper()
	schema, err := d.schemas.Compile("openapi.json" + ref)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s: the answer is not as described: %v\n%s", what, err, body)
	}
}
