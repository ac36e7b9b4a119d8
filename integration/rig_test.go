package integration_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// buildTestserver builds the MCP server that misbehaves on demand, once.
var buildTestserver = sync.OnceValues(func() (string, error) {
	file := filepath.Join(filepath.Dir(binary), "testserver")
	out, err := exec.Command("go", "build", "-o", file, "./testserver").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("build testserver: %w\n%s", err, out)
	}
	return file, err
})

// testserver is the configuration of one over stdio.
func testserver(t testing.TB, name string, args ...string) map[string]any {
	t.Helper()
	file, err := buildTestserver()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"name": name, "prefix": name + "_", "transport": "stdio", "command": file, "args": append([]string{}, args...)}
}

// remote is a testserver over HTTP which can be killed and started again.
type remote struct {
	t      *testing.T
	port   string
	args   []string
	cmd    *exec.Cmd
	config map[string]any
}

func newRemote(t *testing.T, name string, args ...string) *remote {
	t.Helper()
	r := &remote{t: t, port: freePort(t), args: args}
	r.config = map[string]any{"name": name, "prefix": name + "_", "transport": "http", "url": "http://127.0.0.1:" + r.port + "/mcp"}
	r.start()
	return r
}

func (r *remote) start() {
	r.t.Helper()
	file, err := buildTestserver()
	if err != nil {
		r.t.Fatal(err)
	}
	r.cmd = exec.Command(file, append([]string{"-http", "127.0.0.1:" + r.port}, r.args...)...)
	serve(r.t, r.cmd, r.port)
}

func (r *remote) kill() {
	_ = r.cmd.Process.Kill() // it may have ended by itself
	_ = r.cmd.Wait()
}

// record is a file in which a testserver notes what it was asked to do.
type record string

func newRecord(t *testing.T) record { return record(filepath.Join(t.TempDir(), "record")) }

// count is how many lines begin so.
func (r record) count(prefix string) int {
	raw, _ := os.ReadFile(string(r)) // nothing has happened yet
	n := 0
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// caller is who calls: a token, and the agent that it is called by.
type caller struct{ token, agent string }

// RoundTrip sends a request of a Go client as the caller.
func (c caller) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+c.token)
	if c.agent != "" {
		r.Header.Set("X-Agent-Name", c.agent)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// join opens a session of a generation of the protocol: "" is the newest.
func join(t testing.TB, s *instance, who caller, protocol string) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, nil)
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: who}}
	if protocol == oldest {
		transport = &mcp.SSEClientTransport{Endpoint: s.url + "/sse", HTTPClient: &http.Client{Transport: who}}
	}
	var o *mcp.ClientSessionOptions
	if protocol != "" {
		o = &mcp.ClientSessionOptions{ProtocolVersion: protocol}
	}
	session, err := c.Connect(context.Background(), transport, o)
	if err != nil {
		t.Fatalf("connect with protocol %q: %v", protocol, err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the server may have ended first
	return session
}

// The generations with sessions.
const (
	legacy = "2025-11-25"
	oldest = "2024-11-05" // over SSE
)

// outcome is what became of a call, whichever way it went.
type outcome struct {
	// Kind, Message, Hint and ToolID are the refusal's; Kind is "" if there is none.
	Kind, Message, Hint, ToolID string
	// Text is the answer of a real tool, IsError what it said of it.
	Text    string
	IsError bool
	// Body is the structured answer.
	Body json.RawMessage
	// Raw is the whole of what a real tool answered.
	Raw json.RawMessage `json:"-"`
}

func (o outcome) String() string {
	return fmt.Sprintf("{%s %q hint %q text %.100q isError %t body %.300s}", o.Kind, o.Message, o.Hint, o.Text, o.IsError, o.Body)
}

// way is one way to the gateway: it carries out a meta-tool.
type way func(tool string, args map[string]any) (outcome, error)

// viaMCP is the way through an open session.
func viaMCP(session *mcp.ClientSession) way {
	return func(tool string, args map[string]any) (outcome, error) {
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			return outcome{}, err
		}
		raw, err := json.Marshal(res)
		if err != nil {
			return outcome{}, err
		}
		return fromMCP(raw)
	}
}

func fromMCP(raw []byte) (outcome, error) {
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return outcome{}, err
	}
	o := outcome{IsError: a.IsError, Body: a.StructuredContent, Raw: raw}
	if len(a.Content) > 0 {
		o.Text = a.Content[0].Text
	}
	var refusal struct{ Error outcome }
	if a.IsError && json.Unmarshal([]byte(o.Text), &refusal) == nil && refusal.Error.Kind != "" {
		refusal.Error.IsError = true
		return refusal.Error, nil
	}
	return o, nil
}

// viaREST is the way through the REST API. It has no list of domains.
func (s *instance) viaREST(who caller) way {
	client := &http.Client{Transport: who}
	return func(tool string, args map[string]any) (outcome, error) {
		method, path := http.MethodGet, "/v1/tools"
		var body any
		query := url.Values{}
		for from, to := range map[string]string{"query": "query", "domain_id": "domain", "top_k": "limit", "limit": "limit", "cursor": "cursor"} {
			if v, ok := args[from]; ok {
				query.Set(to, fmt.Sprint(v))
			}
		}
		switch tool {
		case "get_tool_schema":
			path += "/" + url.PathEscape(args["tool_id"].(string))
		case "execute_tool":
			method, path = http.MethodPost, path+"/"+url.PathEscape(args["tool_id"].(string))
			body = map[string]any{"args": args["params"]}
		}
		status, raw, err := sendBy(context.Background(), client, method, s.url+path+"?"+query.Encode(), "", body)
		switch {
		case err != nil:
			return outcome{}, err
		case status == http.StatusUnauthorized:
			return outcome{}, errUnauthorized
		case status >= 300:
			var p struct{ Kind, Detail, Hint, ToolID string }
			err := json.Unmarshal(raw, &p)
			return outcome{Kind: p.Kind, Message: p.Detail, Hint: p.Hint, ToolID: p.ToolID}, err
		case tool == "execute_tool":
			return fromMCP(raw)
		}
		return outcome{Body: raw}, nil
	}
}

var errUnauthorized = errors.New("unauthorized")

// try carries out what need not succeed.
func (w way) try(t testing.TB, tool string, args map[string]any) outcome {
	t.Helper()
	o, err := w(tool, args)
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	return o
}

// run runs a real tool.
func (w way) run(t testing.TB, ref string, params map[string]any) outcome {
	t.Helper()
	if params == nil {
		params = map[string]any{}
	}
	return w.try(t, "execute_tool", map[string]any{"tool_id": ref, "params": params})
}

// listing is a list of tools or domains as any way gives it.
type listing struct {
	Tools, Items []struct{ ID, Name, ServerID, Domain string }
	Servers      map[string]struct{ Name string }
	Domains      []struct {
		ID        string
		ToolCount int
	}
	NextCursor, Suggestion, Degraded string
}

func (o outcome) listing(t testing.TB) listing {
	t.Helper()
	var l listing
	if err := json.Unmarshal(o.Body, &l); err != nil {
		t.Fatalf("%v in %v", err, o)
	}
	if l.Tools == nil {
		l.Tools = l.Items
	}
	return l
}

func (l listing) names() []string {
	names := []string{}
	for _, tool := range l.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// find gives the names of the tools that a search finds, sorted.
func (w way) find(t testing.TB, query string) []string {
	t.Helper()
	return w.try(t, "discover_tools", map[string]any{"query": query, "top_k": 50}).listing(t).names()
}

// rows reads a whole list of the admin's: audit, usage, servers.
func (s *instance) rows(t testing.TB, path string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for cursor := ""; ; {
		var page struct {
			Items      []map[string]any
			NextCursor string
		}
		s.must("GET", path+cmp.Or(map[bool]string{true: "&"}[strings.Contains(path, "?")], "?")+"limit=200&cursor="+cursor, adminToken, nil, &page)
		all = append(all, page.Items...)
		if cursor = page.NextCursor; cursor == "" {
			return all
		}
	}
}

// toolID finds the id of an exposed tool as the admin sees it.
func (s *instance) toolID(name string) string {
	s.t.Helper()
	var tool struct{ ID string }
	s.must("GET", "/v1/tools/"+name, adminToken, nil, &tool)
	return tool.ID
}
