package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var metaTools = []string{"browse_tool_domain", "discover_tools", "execute_tool", "get_tool_schema", "list_tool_domains"}

// step is one call of a meta-tool.
type step struct {
	Tool string         `json:"tool"`
	Args map[string]any `json:"args"`
}

// answer is what a client got for a step.
type answer struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
	Meta              map[string]any `json:"_meta"`
}

// visit is what a client saw in a session.
type visit struct {
	Tools   []string
	Results []answer
}

// client runs steps against a server as one of the real clients.
type client struct {
	name string
	run  func(t *testing.T, s *instance, token string, steps []step) visit
}

func clients() []client {
	return []client{
		{"go-sdk 2026-07-28 http", goClient("/mcp", "")},
		{"go-sdk 2025-11-25 http", goClient("/mcp", "2025-11-25")},
		{"go-sdk 2024-11-05 sse", goSSE},
		{"go-sdk stdio", goStdio},
		{"typescript v1 http", script("v1.mjs", "/mcp")},
		{"typescript v1 sse", script("v1.mjs", "/sse")},
		{"typescript v2 http", script("v2.mjs", "/mcp")},
		{"typescript v2 2026-07-28 http", script("v2.mjs", "/mcp", "auto")},
		{"inspector legacy", inspector("legacy")},
		{"inspector modern", inspector("modern")},
	}
}

// bearer adds the token to every request of a Go client.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func goVisit(t *testing.T, transport mcp.Transport, protocol string, steps []step) visit {
	t.Helper()
	ctx := t.Context()
	c := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, nil)
	var o *mcp.ClientSessionOptions
	if protocol != "" {
		o = &mcp.ClientSessionOptions{ProtocolVersion: protocol}
	}
	session, err := c.Connect(ctx, transport, o)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer session.Close()
	var v visit
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		t.Fatalf("tools/list: %v", err)
	}
	for _, tool := range list.Tools {
		v.Tools = append(v.Tools, tool.Name)
	}
	for _, st := range steps {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: st.Tool, Arguments: st.Args})
		if err != nil {
			t.Fatalf("%s: %v", st.Tool, err)
		}
		raw, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		v.Results = append(v.Results, decode[answer](t, raw))
	}
	return v
}

func goClient(path, protocol string) func(*testing.T, *instance, string, []step) visit {
	return func(t *testing.T, s *instance, token string, steps []step) visit {
		t.Helper()
		return goVisit(t, &mcp.StreamableClientTransport{Endpoint: s.url + path, HTTPClient: &http.Client{Transport: bearer(token)}}, protocol, steps)
	}
}

func goSSE(t *testing.T, s *instance, token string, steps []step) visit {
	t.Helper()
	return goVisit(t, &mcp.SSEClientTransport{Endpoint: s.url + "/sse", HTTPClient: &http.Client{Transport: bearer(token)}}, "2024-11-05", steps)
}

func goStdio(t *testing.T, s *instance, token string, steps []step) visit {
	t.Helper()
	cmd := exec.Command(binary, "stdio")
	cmd.Env = append(cleanEnv(), "TOOLSCOUT_URL="+s.url, "TOOLSCOUT_TOKEN="+token)
	cmd.Stderr = os.Stderr
	return goVisit(t, &mcp.CommandTransport{Command: cmd}, "", steps)
}

// script runs one of the programs in clients/.
func script(name, path string, args ...string) func(*testing.T, *instance, string, []step) visit {
	return func(t *testing.T, s *instance, token string, steps []step) visit {
		t.Helper()
		in, err := json.Marshal(steps)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "node", append([]string{"clients/" + name, s.url + path, token}, args...)...)
		cmd.Stdin = bytes.NewReader(in)
		return decode[visit](t, output(t, cmd))
	}
}

// inspector runs the official inspector's command line, once a step. It wants a
// newer Node than the rest, which npm brings.
func inspector(era string) func(*testing.T, *instance, string, []step) visit {
	return func(t *testing.T, s *instance, token string, steps []step) visit {
		t.Helper()
		run := func(args ...string) []byte {
			cmd := exec.CommandContext(t.Context(), "node_modules/.bin/mcp-inspector", append([]string{"--cli", s.url + "/mcp", "--transport", "http",
				"--header", "Authorization: Bearer " + token, "--protocol-era", era}, args...)...)
			bin, err := filepath.Abs("node_modules/.bin")
			if err != nil {
				t.Fatal(err)
			}
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			return output(t, cmd)
		}
		var v visit
		list := decode[struct{ Tools []struct{ Name string } }](t, run("--method", "tools/list"))
		for _, tool := range list.Tools {
			v.Tools = append(v.Tools, tool.Name)
		}
		for _, st := range steps {
			args, err := json.Marshal(st.Args)
			if err != nil {
				t.Fatal(err)
			}
			v.Results = append(v.Results, decode[answer](t, run("--method", "tools/call", "--tool-name", st.Tool, "--tool-args-json", string(args))))
		}
		return v
	}
}

// inspectorToolError is the status with which the inspector ends after it has
// printed a result with isError.
const inspectorToolError = 5

func output(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != inspectorToolError {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, &errs)
	}
	return out
}

func decode[T any](t *testing.T, raw []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

// TestJourney is the main job, as each client goes about it: find a tool by what
// it does, read its schema, run it. What it did is in the audit.
func TestJourney(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	everything := s.register(with(node("server-everything", "stdio"), "name", "everything", "prefix", "demo_", "domain", "demo"))
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "note.txt"), []byte("remember the milk"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.register(with(node("server-filesystem", folder), "name", "files", "domain", "files"))
	s.register(with(node("server-memory"), "name", "memory", "env", map[string]string{"MEMORY_FILE_PATH": filepath.Join(folder, "memory.jsonl")}))
	if everything.Health.State != "healthy" || everything.ToolCount == 0 {
		t.Fatalf("server-everything is %+v", everything)
	}
	_, token := s.user("ann")
	steps := []step{
		{"discover_tools", map[string]any{"query": "add two numbers together", "top_k": 3}},
		{"get_tool_schema", map[string]any{"tool_id": "demo_get-sum"}},
		{"execute_tool", map[string]any{"tool_id": "demo_get-sum", "params": map[string]any{"a": 2, "b": 40}}},
		{"execute_tool", map[string]any{"tool_id": "demo_get-sum", "params": map[string]any{"a": 2}}},
		{"execute_tool", map[string]any{"tool_id": "read_text_file", "params": map[string]any{"path": filepath.Join(folder, "note.txt")}}},
		{"list_tool_domains", map[string]any{}},
		{"browse_tool_domain", map[string]any{"domain_id": "files", "limit": 2}},
	}
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			v := c.run(t, s, token, steps)
			slices.Sort(v.Tools)
			if d := cmp.Diff(metaTools, v.Tools); d != "" {
				t.Errorf("tools: %s", d)
			}
			checkJourney(t, v)
		})
	}
	s.checkAudit(t, len(clients())*len(steps), len(clients())*2)
}

func checkJourney(t *testing.T, v visit) {
	t.Helper()
	found := decode[struct {
		Tools []struct {
			Name, Signature string
			Score           float64
		}
	}](t, v.Results[0].StructuredContent)
	if len(found.Tools) != 3 || found.Tools[0].Name != "demo_get-sum" || found.Tools[0].Signature != "(a: number, b: number)" {
		t.Errorf("discover_tools found %+v", found.Tools)
	}
	schema := decode[struct{ Name, ServerName, SchemaHash string }](t, v.Results[1].StructuredContent)
	if schema.Name != "demo_get-sum" || schema.ServerName != "everything" || len(schema.SchemaHash) != 64 {
		t.Errorf("get_tool_schema gave %+v", schema)
	}
	if got := v.Results[2]; got.IsError || len(got.Content) != 1 || got.Content[0].Text != "The sum of 2 and 40 is 42." || got.Meta["toolscout/server"] != "everything" {
		t.Errorf("execute_tool gave %+v", got)
	}
	invalid := v.Results[3]
	if !invalid.IsError || len(invalid.StructuredContent) != 0 {
		t.Errorf("invalid arguments gave %+v", invalid)
	}
	fault := decode[struct {
		Error struct {
			Kind        string
			Details     []struct{ Pointer string }
			InputSchema json.RawMessage
		}
	}](t, []byte(invalid.Content[0].Text))
	if e := fault.Error; e.Kind != "invalid_params" || len(e.Details) != 1 || e.Details[0].Pointer != "/b" || len(e.InputSchema) == 0 {
		t.Errorf("invalid arguments gave %s", invalid.Content[0].Text)
	}
	if got := v.Results[4]; got.IsError || !strings.Contains(got.Content[0].Text, "remember the milk") {
		t.Errorf("read_text_file gave %+v", got)
	}
	domains := decode[struct{ Domains []struct{ ID string } }](t, v.Results[5].StructuredContent)
	var ids []string
	for _, d := range domains.Domains {
		ids = append(ids, d.ID)
	}
	slices.Sort(ids)
	if d := cmp.Diff([]string{"demo", "files", "general"}, ids); d != "" {
		t.Errorf("list_tool_domains: %s", d)
	}
	page := decode[struct {
		Tools      []struct{ Name string }
		NextCursor string
	}](t, v.Results[6].StructuredContent)
	if len(page.Tools) != 2 || page.NextCursor == "" {
		t.Errorf("browse_tool_domain gave %+v", page)
	}
}

// checkAudit waits until the audit holds as many calls as were made, and the
// usage as many real ones.
func (s *instance) checkAudit(t *testing.T, calls, real int) {
	t.Helper()
	count := func(path string, keep func(map[string]any) bool) int {
		n, cursor := 0, ""
		for {
			var page struct {
				Items      []map[string]any
				NextCursor string
			}
			s.must("GET", path+"?limit=200&cursor="+cursor, adminToken, nil, &page)
			for _, row := range page.Items {
				if keep(row) {
					n++
				}
			}
			if cursor = page.NextCursor; cursor == "" {
				return n
			}
		}
	}
	eventually(t, "audit", func() error {
		metas := count("/v1/admin/audit", func(r map[string]any) bool { return r["level"] == "meta" })
		used := count("/v1/admin/usage", func(map[string]any) bool { return true })
		if metas != calls || used != real {
			return fmt.Errorf("%d rows of audit and %d of usage, want %d and %d", metas, used, calls, real)
		}
		return nil
	})
}

// TestUpstreams registers the official servers by every transport they have, in
// both generations of the protocol, and runs a tool of each.
func TestUpstreams(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	modern := goEverything(t)
	sum := map[string]any{"a": 20, "b": 22}
	for _, tt := range []struct {
		name, tool, want string
		config           map[string]any
		args             map[string]any
	}{
		{"everything-stdio", "get-sum", "The sum of 20 and 22 is 42.", node("server-everything", "stdio"), sum},
		{"everything-http", "get-sum", "The sum of 20 and 22 is 42.", map[string]any{"transport": "http", "url": everythingHTTP(t, "streamableHttp") + "/mcp"}, sum},
		{"everything-sse", "get-sum", "The sum of 20 and 22 is 42.", map[string]any{"transport": "sse", "url": everythingHTTP(t, "sse") + "/sse"}, sum},
		{"go-modern-stdio", "test_simple_text", "This is a simple text response for testing.", map[string]any{"transport": "stdio", "command": modern}, nil},
		{"go-modern-http", "test_simple_text", "This is a simple text response for testing.", map[string]any{"transport": "http", "url": serveGoEverything(t, modern, true) + "/mcp"}, nil},
		{"go-legacy-http", "test_simple_text", "This is a simple text response for testing.", map[string]any{"transport": "http", "url": serveGoEverything(t, modern, false) + "/mcp"}, nil},
		{"sequential-thinking", "sequentialthinking", "thoughtNumber", node("server-sequential-thinking"),
			map[string]any{"thought": "first", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := s.register(with(tt.config, "name", tt.name, "prefix", tt.name+"_"))
			if r.Health.State != "healthy" || r.ToolCount == 0 {
				t.Fatalf("registered as %+v", r)
			}
			var got answer
			s.must("POST", "/v1/tools/"+tt.name+"_"+tt.tool, adminToken, map[string]any{"args": with(tt.args)}, &got)
			if got.IsError || len(got.Content) == 0 || !strings.Contains(got.Content[0].Text, tt.want) {
				t.Errorf("%s gave %+v, want %q", tt.tool, got, tt.want)
			}
		})
	}
}

// everythingHTTP runs server-everything on a free port.
func everythingHTTP(t *testing.T, mode string) string {
	t.Helper()
	port := freePort(t)
	config := node("server-everything", mode)
	cmd := exec.Command("node", config["args"].([]string)...)
	cmd.Env = append(os.Environ(), "PORT="+port)
	return serve(t, cmd, port)
}

// goEverything builds the go-sdk's everything server, the only official one that
// speaks 2026-07-28.
func goEverything(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "everything")
	output(t, exec.Command("go", "build", "-o", file, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"))
	return file
}

func serveGoEverything(t *testing.T, file string, stateless bool) string {
	t.Helper()
	port := freePort(t)
	return serve(t, exec.Command(file, "-http=127.0.0.1:"+port, fmt.Sprintf("-stateless=%t", stateless)), port)
}

// serve starts a server and waits until its port is open.
func serve(t testing.TB, cmd *exec.Cmd, port string) string {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	eventually(t, "start "+cmd.Path, func() error {
		c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			return err
		}
		return c.Close()
	})
	return "http://127.0.0.1:" + port
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
