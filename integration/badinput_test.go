package integration_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// attempt is one bad request, and what it has to be told.
type attempt struct {
	name         string
	method, path string
	headers      map[string]string
	body         string
	status       int
	want         string // in the answer
}

func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// restAttempts are bad requests to the REST API, by an admin.
func restAttempts() []attempt {
	const run = "/v1/tools/a_echo"
	origin := func(o string) map[string]string { return map[string]string{"Origin": o} }
	server := func(fields string) string { return `{"name":"b","transport":"http",` + fields + `}` }
	return []attempt{
		{"half a body", "POST", run, nil, `{"args":`, 400, "line 1"},
		{"no JSON", "POST", run, nil, `args={}`, 400, "not JSON"},
		{"two bodies", "POST", run, nil, `{"args":{}} {}`, 400, "not JSON"},
		{"not UTF-8", "POST", run, nil, "{\"args\":{\"x\":\"\xff\"}}", 400, "UTF-8"},
		{"unknown field", "POST", run, nil, `{"args":{},"arg":{}}`, 400, `"/arg"`},
		{"field in other case", "POST", run, nil, `{"Args":{}}`, 400, `"/Args"`},
		{"key twice", "POST", run, nil, `{"args":{"x":1,"x":2}}`, 400, `"/args/x"`},
		{"args of another type", "POST", run, nil, `{"args":[1]}`, 422, `"/args"`},
		{"a body of another type", "POST", run, nil, `[]`, 422, "object"},
		{"deep body", "POST", run, nil, `{"args":{"x":` + deep(500) + `}}`, 400, "deeper"},
		{"very deep body", "POST", run, nil, `{"args":{"x":` + deep(1_000_000) + `}}`, 400, "max depth"},
		{"number out of range", "POST", run, nil, `{"args":{"x":1e999999999}}`, 422, "out of range"},
		{"10 MB", "POST", run, nil, `{"args":{"x":"` + strings.Repeat("x", 10<<20) + `"}}`, 413, "4194304"},
		{"content type", "POST", run, map[string]string{"Content-Type": "text/plain"}, `{"args":{}}`, 415, "application/json"},

		{"unknown tool", "POST", "/v1/tools/nothing", nil, `{}`, 404, "not_found"},
		{"odd tool id", "GET", "/v1/tools/%00%ff", nil, "", 404, "not_found"},
		{"long tool id", "GET", "/v1/tools/" + strings.Repeat("x", 10_000), nil, "", 404, "not_found"},
		{"malformed server id", "GET", "/v1/admin/servers/1", nil, "", 404, "not_found"},
		{"malformed user id", "DELETE", "/v1/admin/users/..%2f", nil, "", 404, "not_found"},
		{"malformed token id", "DELETE", "/v1/admin/users/x/tokens/y", nil, "", 404, "not_found"},
		{"unknown route", "GET", "/v1/nothing", nil, "", 404, "not_found"},
		{"unknown method", "DELETE", "/v1/tools", nil, "", 405, "DELETE"},

		{"cursor of tools", "GET", "/v1/tools?cursor=%21", nil, "", 422, "cursor"},
		{"cursor of servers", "GET", "/v1/servers?cursor=eA", nil, "", 422, "cursor"},
		{"cursor of admin's servers", "GET", "/v1/admin/servers?cursor=eA", nil, "", 422, "cursor"},
		{"cursor of users", "GET", "/v1/admin/users?cursor=%00", nil, "", 422, "cursor"},
		{"cursor of audit", "GET", "/v1/admin/audit?cursor=e30", nil, "", 422, "cursor"},
		{"limit that is no number", "GET", "/v1/tools?limit=many", nil, "", 422, "limit"},
		{"limit of 0", "GET", "/v1/tools?limit=0", nil, "", 422, "limit"},
		{"limit of 1000", "GET", "/v1/tools?limit=1000", nil, "", 422, "limit"},
		{"unknown query parameter", "GET", "/v1/tools?limits=1", nil, "", 400, "limits"},
		{"time that is none", "GET", "/v1/admin/audit?since=yesterday", nil, "", 422, "since"},
		{"outcome that is none", "GET", "/v1/admin/audit?outcome=good", nil, "", 422, "outcome"},

		{"foreign origin", "GET", "/v1/tools", origin("https://evil.example"), "", 403, "origin"},
		{"origin null", "GET", "/v1/tools", origin("null"), "", 403, "origin"},
		{"origin that looks like ours", "GET", "/v1/tools", origin("http://127.0.0.1.evil.example"), "", 403, "origin"},
		{"foreign host", "GET", "/v1/tools", map[string]string{"Host": "evil.example"}, "", 403, "host"},
		{"agent with a control character", "GET", "/v1/tools", map[string]string{"X-Agent-Name": "a\tb"}, "", 422, "x-agent-name"},

		{"server without a name", "POST", "/v1/admin/servers", nil, `{"transport":"stdio","command":"true"}`, 422, `"/name"`},
		{"server without a transport", "POST", "/v1/admin/servers", nil, `{"name":"b","command":"true"}`, 422, `"/transport"`},
		{"unknown transport", "POST", "/v1/admin/servers", nil, `{"name":"b","transport":"pigeon"}`, 422, `"/transport"`},
		{"server without a url", "POST", "/v1/admin/servers", nil, `{"name":"b","transport":"http"}`, 422, `"/url"`},
		{"url that is none", "POST", "/v1/admin/servers", nil, server(`"url":"ftp://x"`), 422, `"/url"`},
		{"command for http", "POST", "/v1/admin/servers", nil, server(`"url":"http://x","command":"y"`), 422, `"/command"`},
		{"bad timeout", "POST", "/v1/admin/servers", nil, server(`"url":"http://x","timeout":"soon"`), 422, `"/timeout"`},
		{"bad wait", "POST", "/v1/admin/servers?wait=long", nil, server(`"url":"http://x"`), 422, "wait"},
		{"zero byte", "POST", "/v1/admin/servers", nil, `{"name":"b\u0000","transport":"stdio","command":"true"}`, 422, `"/name"`},
		{"name taken", "POST", "/v1/admin/servers", nil, `{"name":"a","transport":"stdio","command":"true"}`, 409, "already"},
		{"user taken", "POST", "/v1/admin/users", nil, `{"name":"admin"}`, 409, "already"},
		{"user without a name", "POST", "/v1/admin/users", nil, `{"name":" "}`, 422, "name"},
		{"token of nobody", "POST", "/v1/admin/users/x/tokens", nil, `{"name":"t"}`, 404, "not_found"},
		{"domain that is no slug", "PUT", "/v1/admin/domains/No%20Slug", nil, `{}`, 422, "slug"},
	}
}

// TestBadRequests sends what no client should. Each request is refused clearly, in
// a problem document, and changes nothing.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.register(testserver(t, "a"))
	_, token := s.user("ann")
	before := s.state(t)
	for _, a := range restAttempts() {
		t.Run(a.name, func(t *testing.T) {
			res, body := s.attempt(t, a, adminToken)
			var p struct {
				Status              int
				Title, Detail, Kind string
			}
			if err := json.Unmarshal([]byte(body), &p); err != nil || p.Status != res.StatusCode || p.Title == "" || p.Detail == "" ||
				!strings.HasPrefix(res.Header.Get("Content-Type"), "application/problem+json") {
				t.Errorf("no problem document: %v %.300s", err, body)
			}
		})
	}
	t.Run("not an admin", func(t *testing.T) {
		for _, path := range []string{"/v1/admin/servers", "/v1/admin/users", "/v1/admin/audit", "/v1/admin/embeddings/index"} {
			s.attempt(t, attempt{method: "GET", path: path, status: 403, want: "denied"}, token)
		}
	})
	s.checkUnharmed(t, before)
}

// attempt sends a bad request and checks what comes back.
func (s *instance) attempt(t *testing.T, a attempt, token string) (*http.Response, string) {
	t.Helper()
	if a.method == "" {
		a.method = http.MethodPost
	}
	headers := maps.Clone(a.headers)
	if headers == nil {
		headers = map[string]string{}
	}
	res, body := s.do(t, a.method, a.path, token, headers, a.body)
	if res.StatusCode != a.status || !strings.Contains(body, a.want) {
		t.Errorf("%s %.80s %.80s: got %d %.300s, want %d and %q", a.method, a.path, a.body, res.StatusCode, body, a.status, a.want)
	}
	return res, body
}

// state is what must not change by a refusal.
func (s *instance) state(t *testing.T) map[string]int {
	t.Helper()
	state := map[string]int{}
	for _, path := range []string{"/v1/admin/servers", "/v1/admin/users", "/v1/admin/domains", "/v1/tools"} {
		state[path] = len(s.rows(t, path))
	}
	return state
}

func (s *instance) checkUnharmed(t *testing.T, before map[string]int) {
	t.Helper()
	if after := s.state(t); !maps.Equal(before, after) {
		t.Errorf("%v became %v", before, after)
	}
	for name, w := range s.ways(t, caller{token: adminToken}) {
		if o := w.run(t, "a_echo", map[string]any{"x": 1}); o.Text != "echo" {
			t.Errorf("%s afterwards: %v", name, o)
		}
	}
	if log := s.log.String(); strings.Contains(log, "panic") || strings.Contains(log, `"level":"ERROR"`) {
		t.Error("the log has an error")
	}
}

func rpc(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params)
}

func toolCall(name, arguments string) string {
	return rpc("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
}

// mcpAttempts are bad messages, sent into an open session.
func mcpAttempts() []attempt {
	var list []attempt
	add := func(name, body string, status int, want string) {
		list = append(list, attempt{name: name, path: "/mcp", body: body, status: status, want: want})
	}
	run := func(params string) string {
		return toolCall("execute_tool", `{"tool_id":"a_echo","params":`+params+`}`)
	}
	add("half a message", `{"jsonrpc":`, 400, "-32700")
	add("no JSON", `hello`, 400, "-32700")
	add("no JSON-RPC", `{"id":7,"method":"ping"}`, 400, "-32600")
	add("no method", `{"jsonrpc":"2.0","id":7}`, 400, "-32600")
	add("method of another type", `{"jsonrpc":"2.0","id":7,"method":7}`, 400, "-32600")
	add("id of another type", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, 400, "-32600")
	add("batch", `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, 400, "-32600")
	add("empty batch", `[]`, 400, "-32600")
	add("deep message", rpc("tools/call", `{"name":"discover_tools","arguments":{"query":`+deep(10_000)+`}}`), 400, "deeper")
	add("very deep message", deep(2_000_000), 400, "error")
	add("10 MB", toolCall("discover_tools", `{"query":"`+strings.Repeat("x", 10<<20)+`"}`), 413, "4194304")
	add("unknown method", rpc("tools/destroy", `{}`), 200, "-32601")
	add("absent family", rpc("prompts/list", `{}`), 200, "-32601")
	add("unknown tool", toolCall("destroy", `{}`), 200, "-32602")
	add("an action that is not for MCP", toolCall("list_tools", `{}`), 200, "-32602")
	add("call without params", `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, 400, "-32600")
	add("params of another type", rpc("tools/call", `[]`), 200, "error")
	add("name of another type", rpc("tools/call", `{"name":7}`), 200, "error")
	add("arguments of another type", toolCall("discover_tools", `"x"`), 200, "invalid_params")
	add("no query", toolCall("discover_tools", `{}`), 200, `/query`)
	add("query of another type", toolCall("discover_tools", `{"query":7}`), 200, `/query`)
	add("unknown parameter", toolCall("discover_tools", `{"query":"x","topk":3}`), 200, `/topk`)
	add("top_k out of range", toolCall("discover_tools", `{"query":"x","top_k":51}`), 200, `/top_k`)
	add("unknown detail", toolCall("discover_tools", `{"query":"x","detail":"all"}`), 200, `/detail`)
	add("parameter twice", toolCall("discover_tools", `{"query":"x","query":"y"}`), 200, "invalid_params")
	add("unknown domain", toolCall("browse_tool_domain", `{"domain_id":"nothing"}`), 200, "not_found")
	add("bad cursor", toolCall("browse_tool_domain", `{"domain_id":"general","cursor":"!"}`), 200, "cursor")
	add("unknown id", toolCall("get_tool_schema", `{"tool_id":"00000000-0000-0000-0000-000000000000"}`), 200, "not_found")
	add("malformed id", toolCall("execute_tool", `{"tool_id":"'; drop table users","params":{}}`), 200, "not_found")
	add("id with a zero byte", toolCall("execute_tool", `{"tool_id":"a\u0000","params":{}}`), 200, "not_found")
	add("empty id", toolCall("execute_tool", `{"tool_id":"","params":{}}`), 200, "/tool_id")
	add("params that are no object", run(`[1]`), 200, "/params")
	add("deep params", run(`{"x":`+deep(500)+`}`), 200, "deeper than")
	add("params with a name twice", run(`{"x":1,"x":2}`), 200, "invalid_params")
	add("params with a huge exponent", run(`{"x":1e999999999}`), 200, "invalid_params")
	return list
}

// TestBadMessages sends what no MCP client should, into a session of the older
// generation. The session goes on.
func TestBadMessages(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.register(testserver(t, "a"))
	before := s.state(t)
	opened, _ := s.post(t, "/mcp", adminToken, nil, initialize)
	session := map[string]string{"Mcp-Session-Id": opened.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": legacy}
	s.post(t, "/mcp", adminToken, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for _, a := range mcpAttempts() {
		t.Run(a.name, func(t *testing.T) {
			a.headers = session
			s.attempt(t, a, adminToken)
			if res, body := s.post(t, "/mcp", adminToken, session, domains); res.StatusCode != http.StatusOK || !strings.Contains(body, `"toolCount":1`) {
				t.Errorf("the next call in the session: %d %.200s", res.StatusCode, body)
			}
		})
	}
	for _, a := range doorAttempts() {
		t.Run(a.name, func(t *testing.T) { s.attempt(t, a, adminToken) })
	}
	s.checkUnharmed(t, before)
}

// doorAttempts are messages that do not get as far as a session.
func doorAttempts() []attempt {
	version := func(v string, more ...string) map[string]string {
		h := map[string]string{"Mcp-Protocol-Version": v}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	const modern = "2026-07-28"
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	call := rpc("tools/call", `{"name":"list_tool_domains","arguments":{},`+meta+`}`)
	start := func(params string) string { return rpc("initialize", params) }
	return []attempt{
		{"initialize without clientInfo", "", "/mcp", nil, start(`{"protocolVersion":"2025-11-25","capabilities":{}}`), 200, `"jsonrpc"`},
		{"initialize without capabilities", "", "/mcp", nil, start(`{"protocolVersion":"2025-11-25","clientInfo":null}`), 200, `"jsonrpc"`},
		{"initialize without anything", "", "/mcp", nil, start(`{}`), 200, `"jsonrpc"`},
		{"initialize with null", "", "/mcp", nil, start(`null`), 200, "error"},
		{"initialize with a list", "", "/mcp", nil, start(`[]`), 200, "error"},
		{"initialize with wrong types", "", "/mcp", nil, start(`{"protocolVersion":7,"clientInfo":"x","capabilities":[]}`), 200, "error"},
		{"a version from the future", "", "/mcp", nil, start(`{"protocolVersion":"2099-01-01","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`), 200, `"protocolVersion":"2025-11-25"`},
		{"no session", "", "/mcp", version(legacy), domains, 400, "initialize"},
		{"unknown session", "", "/mcp", version(legacy, "Mcp-Session-Id", "x"), domains, 404, "session"},
		{"unknown version", "", "/mcp", version("1999-01-01"), domains, 400, "error"},
		{"version from the future in the header", "", "/mcp", version("2099-01-01"), domains, 400, "error"},
		{"modern without _meta", "", "/mcp", version(modern, "Mcp-Method", "tools/call", "Mcp-Name", "list_tool_domains"), domains, 400, "error"},
		{"modern without Mcp-Method", "", "/mcp", version(modern), call, 400, "-32020"},
		{"modern with another Mcp-Method", "", "/mcp", version(modern, "Mcp-Method", "tools/list", "Mcp-Name", "list_tool_domains"), call, 400, "-32020"},
		{"modern with another Mcp-Name", "", "/mcp", version(modern, "Mcp-Method", "tools/call", "Mcp-Name", "discover_tools"), call, 400, "-32020"},
		{"modern with another version inside", "", "/mcp", version(modern, "Mcp-Method", "tools/call", "Mcp-Name", "list_tool_domains"), strings.Replace(call, modern, legacy, 1), 400, "error"},
		{"content type", "", "/mcp", map[string]string{"Content-Type": "text/plain"}, initialize, 415, "application/json"},
		{"foreign origin", "", "/mcp", map[string]string{"Origin": "https://evil.example"}, initialize, 403, "origin"},
		{"foreign host", "", "/mcp", map[string]string{"Host": "evil.example:80"}, initialize, 403, "host"},
		{"another verb", "PUT", "/mcp", nil, initialize, 405, "POST"},
		{"stream without a session", "GET", "/mcp", nil, "", 405, "session"},
		{"message without a session", "", "/message", nil, initialize, 404, "session"},
		{"message to nobody", "", "/message?sessionId=%00", nil, initialize, 404, "session"},
	}
}

// TestBadServers registers servers that are none. Each says in its health what is
// wrong, and at which stage; so does a trial, which leaves nothing behind.
func TestBadServers(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	page := newRemote(t, "page", "-flaw", "html")
	flawed := func(flaw string) map[string]any { return testserver(t, flaw, "-flaw", flaw) }
	for _, tt := range []struct {
		name         string
		config       map[string]any
		state, stage string
		want         string
	}{
		{"command that does not exist", map[string]any{"transport": "stdio", "command": "no-such-command"}, "unavailable", "start", "not found"},
		{"command that may not run", map[string]any{"transport": "stdio", "command": "/etc/passwd"}, "unavailable", "start", "may not be executed"},
		{"command that exits", flawed("exit"), "unavailable", "initialize", "cannot read the license"},
		{"command that prints garbage", flawed("garbage"), "unavailable", "initialize", "this is no server"},
		{"url that answers HTML", page.config, "unavailable", "initialize", "HTML"},
		{"url where nobody is", map[string]any{"transport": "http", "url": "http://127.0.0.1:1/mcp"}, "unavailable", "connect", "refused"},
		{"url of another protocol", map[string]any{"transport": "sse", "url": s.url + "/healthz"}, "unavailable", "", ""},
		{"variable that is not set", map[string]any{"transport": "stdio", "command": "true", "env": map[string]string{"A": "${NOT_SET_ANYWHERE}"}}, "misconfigured", "config", "NOT_SET_ANYWHERE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := strings.ReplaceAll(tt.name, " ", "-")
			var trial struct {
				OK             bool
				Stage, Message string
			}
			s.must("POST", "/v1/admin/servers/test", adminToken, with(tt.config, "name", name), &trial)
			if trial.OK || !strings.Contains(trial.Message, tt.want) || tt.stage != "" && trial.Stage != tt.stage {
				t.Errorf("a trial says %+v", trial)
			}
			if n := len(s.rows(t, "/v1/admin/servers?query="+url.QueryEscape(name))); n != 0 {
				t.Errorf("the trial left %d servers", n)
			}
			r := s.register(with(tt.config, "name", name))
			if h := r.Health; h.State != tt.state || !strings.Contains(h.Message, tt.want) || tt.stage != "" && h.Stage != tt.stage {
				t.Errorf("its health is %+v", h)
			}
			s.must("DELETE", "/v1/admin/servers/"+r.ID, adminToken, nil, nil)
		})
	}
	eventually(t, "end the children", func() error {
		if n := len(s.children(t)); n > 0 {
			return fmt.Errorf("%d children run", n)
		}
		return nil
	})
}
