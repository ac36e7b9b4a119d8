package mcpserver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core/postgres"
)

func auditFilter() postgres.AuditFilter { return postgres.AuditFilter{} }

func TestBadBodies(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	other := s.open("ben")
	session := s.open("ann")
	nested := strings.Repeat(`{"a":`, 1500) + "1" + strings.Repeat("}", 1500)
	for _, c := range []struct {
		name, body string
		status     int
		code       float64 // of the JSON-RPC error; 0 means a problem document, 1 no body
		id         any
	}{
		{"empty", "", 400, -32700, nil},
		{"no JSON", `{"jsonrpc":`, 400, -32700, nil},
		{"NUL", "\x00\x00", 400, -32700, nil},
		{"two values", hello + hello, 400, -32700, nil},
		{"HTML", "<html>", 400, -32700, nil},
		{"deep arrays", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), 400, -32700, nil},
		{"deep arguments", call(3, "echo", nested), 400, -32700, nil},
		{"string", `"tools/list"`, 400, -32600, nil},
		{"null", `null`, 400, -32600, nil},
		{"no version", `{"id":1,"method":"tools/list"}`, 400, -32600, nil},
		{"version 1", `{"jsonrpc":"1.0","id":1,"method":"tools/list"}`, 400, -32600, nil},
		{"no method", `{"jsonrpc":"2.0"}`, 400, -32600, nil},
		{"method of a wrong type", `{"jsonrpc":"2.0","id":1,"method":7}`, 400, -32600, nil},
		{"null method", `{"jsonrpc":"2.0","id":1,"method":null}`, 400, -32600, nil},
		{"id of a wrong type", `{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, 400, -32600, nil},
		{"id true", `{"jsonrpc":"2.0","id":true,"method":"tools/list"}`, 400, -32600, nil},
		{"empty batch", `[]`, 400, -32600, nil},
		{"long batch", `[` + strings.Repeat(listTools+",", 200) + listTools + `]`, 400, -32600, nil},
		{"batch in a version without", `[` + listTools + `]`, 400, -32600, nil},
		{"unknown method", `{"jsonrpc":"2.0","id":"x","method":"tools/drop"}`, 200, -32601, "x"},
		{"family that is not declared", `{"jsonrpc":"2.0","id":4,"method":"prompts/list"}`, 200, -32601, 4.0},
		{"part of a family that is not declared", `{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"a"}}`, 200, -32601, 4.0},
		{"unknown notification", `{"jsonrpc":"2.0","method":"no/such"}`, 202, 1, nil},
		{"call without an id", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"execute_tool"}}`, 400, -32600, nil},
		{"call without params", `{"jsonrpc":"2.0","id":5,"method":"tools/call"}`, 400, -32600, 5.0},
		{"params of a wrong type", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[1]}`, 200, -32602, 5.0},
		{"name of a wrong type", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":{}}}`, 200, -32602, 5.0},
		{"unknown tool", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"rm_rf"}}`, 200, -32602, 5.0},
		{"key in another case", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"Name":"execute_tool"}}`, 200, -32602, 5.0},
		{"second initialize", hello, 200, 0, 1.0},
		{"large", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"` + strings.Repeat("a", 10<<20) + `"}}`, 413, 0, nil},
	} {
		headers := []string{"Mcp-Session-Id", session, "Mcp-Protocol-Version", legacy}
		r := s.send("POST", "/mcp", "ann", c.body, headers...)
		if r.status != c.status {
			t.Errorf("%s: status %d, want %d: %.300s", c.name, r.status, c.status, r.body)
			continue
		}
		if c.code == 1 {
			continue
		}
		m := r.message(t)
		e, _ := m["error"].(map[string]any)
		if c.code != 0 && (e["code"] != c.code || m["id"] != c.id) {
			t.Errorf("%s: code %v, want %v; id %v, want %v: %.300s", c.name, e["code"], c.code, m["id"], c.id, r.body)
		}
	}
	for token, id := range map[string]string{"ann": session, "ben": other} {
		if r := s.send("POST", "/mcp", token, call(9, "echo", `{}`), "Mcp-Session-Id", id); r.status != http.StatusOK {
			t.Errorf("the session of %s did not survive: status %d, body %s", token, r.status, r.body)
		}
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	for _, c := range []struct {
		name, method, body string
		headers            []string
		status             int
	}{
		{"no session", "POST", listTools, nil, 400},
		{"unknown version", "POST", hello, []string{"Mcp-Protocol-Version", "1999-01-01"}, 400},
		{"another content type", "POST", hello, []string{"Content-Type", "text/plain"}, 415},
		{"no content type", "POST", hello, []string{"Content-Type", ""}, 415},
		{"stream without a session", "GET", "", nil, 405},
		{"PUT", "PUT", hello, nil, 405},
		{"foreign origin", "POST", hello, []string{"Origin", "https://evil.example"}, 403},
	} {
		if r := s.send(c.method, "/mcp", "ann", c.body, c.headers...); r.status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.name, r.status, c.status, r.body)
		}
	}
}

func TestLenient(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	for _, c := range []struct {
		name, body string
		headers    []string
	}{
		{"no clientInfo", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, nil},
		{"nothing but params", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, nil},
		{"no Accept", hello, []string{"Accept", ""}},
		{"Accept of JSON only", hello, []string{"Accept", "application/json"}},
		{"charset", hello, []string{"Content-Type", "application/json; charset=utf-8"}},
		{"future version", strings.Replace(hello, legacy, "2031-01-01", 1), nil},
		{"batch of the old days", "[" + hello + "]", nil},
	} {
		r := s.send("POST", "/mcp", "ann", c.body, c.headers...)
		if r.status != http.StatusOK || !strings.Contains(r.body, `"serverInfo"`) {
			t.Errorf("%s: status %d, body %s", c.name, r.status, r.body)
		}
	}
	session := s.open("ann")
	r := s.send("POST", "/mcp", "ann", "["+listTools+","+call(8, "echo", `{"a":1}`)+"]", "Mcp-Session-Id", session)
	if r.status != http.StatusOK || strings.Count(r.body, `"result"`) != 2 {
		t.Errorf("batch: status %d, body %s", r.status, r.body)
	}
}
