package rest_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/mcpserver/rest"
)

// TestRegisterFindRun is the main road: register, find, read, run, look it up.
func TestRegisterFindRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, ada := r.user(t, "ada")
	var s rest.Server
	created := r.want(t, 201, &s, r.admin, "POST", "/v1/admin/servers?wait=60s",
		`{"name":"echoes","transport":"http","url":"`+upstreamServer(t)+`","prefix":"e_","domain":"talk"}`)
	if s.Health.State != core.Healthy || s.ToolCount != 2 || !s.Enabled || s.Timeout != "30s" || s.Domain != "talk" {
		t.Fatalf("got %s", created.body)
	}
	var again rest.Server
	r.want(t, 200, &again, r.admin, "GET", created.header.Get("Location"), "")
	if again.ID != s.ID {
		t.Errorf("Location leads to %s, want %s", again.ID, s.ID)
	}

	var mine rest.List[rest.VisibleServer]
	r.want(t, 200, &mine, ada, "GET", "/v1/servers", "")
	if len(mine.Items) != 1 || mine.Items[0].Name != "echoes" || mine.Items[0].ToolCount != 2 {
		t.Errorf("ada sees %+v", mine.Items)
	}
	var found rest.FoundTools
	r.want(t, 200, &found, ada, "GET", "/v1/tools?query=say+a+message+back&limit=1", "")
	if len(found.Items) != 1 || found.Items[0].Name != "e_echo" || found.Items[0].Score == nil {
		t.Fatalf("found %+v", found)
	}
	id := found.Items[0].ID
	var tool rest.Tool
	r.want(t, 200, &tool, ada, "GET", "/v1/tools/e_echo", "")
	if tool.ID != id || tool.ServerName != "echoes" || !bytes.Contains(tool.InputSchema, []byte(`"message"`)) {
		t.Errorf("got tool %+v", tool)
	}
	var result rest.CallToolResult
	ran := r.want(t, 200, &result, ada, "POST", "/v1/tools/"+id, `{"args":{"message":"hello"}}`)
	if got := string(result.StructuredContent); got != `{"message":"hello"}` {
		t.Errorf("got %s", got)
	}

	var rows rest.List[rest.AuditEntry]
	var uses rest.List[rest.UsageEntry]
	request := "?requestId=" + ran.header.Get("X-Request-Id")
	r.flush(t)
	r.want(t, 200, &rows, r.admin, "GET", "/v1/admin/audit"+request, "")
	r.want(t, 200, &uses, r.admin, "GET", "/v1/admin/usage"+request, "")
	if len(rows.Items) != 1 || rows.Items[0].Level != core.LevelHTTP || rows.Items[0].Action != "execute_tool" || rows.Items[0].Actor != "ada" {
		t.Errorf("got audit %+v", rows.Items)
	}
	if len(uses.Items) != 1 || uses.Items[0].ToolID != id || uses.Items[0].SchemaHash != tool.SchemaHash || uses.Items[0].Outcome != core.OutcomeOK {
		t.Errorf("got usage %+v", uses.Items)
	}
}

// flush waits until the audit is written.
func (r *rig) flush(t *testing.T) {
	t.Helper()
	if err := r.audit.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestBytesPassThrough sends what encoding/json would rewrite, both ways.
func TestBytesPassThrough(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "echoes", upstreamServer(t), "")
	args := `{ "z":1.0, "message":"<&>é\u00e9", "n":12345678901234567890123, "a":1e2, "deep":[[1.10]] }`
	a := r.want(t, 200, nil, r.admin, "POST", "/v1/tools/echo", `{"args": `+args+` }`)
	var result struct{ StructuredContent json.RawMessage }
	if err := json.Unmarshal(a.body, &result); err != nil {
		t.Fatal(err)
	}
	var got, want bytes.Buffer
	if json.Compact(&got, result.StructuredContent) != nil || json.Compact(&want, []byte(args)) != nil {
		t.Fatal("not JSON")
	}
	if !strings.Contains(got.String(), `"n":12345678901234567890123,"a":1e2,"deep":[[1.10]]`) {
		t.Errorf("got  %s\nsent %s", &got, &want)
	}
}

// TestToolErrorIsAnAnswer: what a tool says of itself is 200.
func TestToolErrorIsAnAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "echoes", upstreamServer(t), "")
	var result rest.CallToolResult
	r.want(t, 200, &result, r.admin, "POST", "/v1/tools/fail", `{}`)
	if !result.IsError {
		t.Error("isError is lost")
	}
}

// TestAmbiguousName: 409 names the ids.
func TestAmbiguousName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "one", upstreamServer(t), "")
	r.register(t, "two", upstreamServer(t), "")
	for _, method := range []string{"GET", "POST"} {
		var p rest.Problem
		r.want(t, 409, &p, r.admin, method, "/v1/tools/echo", `{}`)
		if p.Kind != core.Conflict || len(p.Candidates) != 2 {
			t.Errorf("%s: got %+v", method, p)
		}
		r.want(t, 200, nil, r.admin, "GET", "/v1/tools/"+p.Candidates[0], "")
	}
}

// TestNamesInPaths: a name may hold what a path cannot.
func TestNamesInPaths(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "odd", upstreamServer(t, "dir/read", "50%"), "")
	for _, name := range []string{"dir/read", "50%"} {
		var tool rest.Tool
		r.want(t, 200, &tool, r.admin, "GET", "/v1/tools/"+url.PathEscape(name), "")
		if tool.Name != name {
			t.Errorf("got %q, want %q", tool.Name, name)
		}
	}
}

// TestTwoUsers: switches and grants belong to one user, and bite at once.
func TestTwoUsers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	adaID, ada := r.user(t, "ada")
	_, bob := r.user(t, "bob")
	open := r.register(t, "open", upstreamServer(t), `,"prefix":"o_"`)
	hidden := r.register(t, "hidden", upstreamServer(t), `,"prefix":"h_","visibility":"hidden"`)

	r.want(t, 404, nil, ada, "GET", "/v1/tools/h_echo", "")
	r.want(t, 404, nil, ada, "PUT", "/v1/servers/"+hidden.ID+"/preference", `{"enabled":true}`)
	r.want(t, 200, nil, r.admin, "PUT", "/v1/admin/users/"+adaID+"/servers/"+hidden.ID+"/preference", `{"enabled":true}`)
	r.want(t, 200, nil, ada, "GET", "/v1/tools/h_echo", "")
	r.want(t, 404, nil, bob, "GET", "/v1/tools/h_echo", "")
	r.want(t, 404, nil, bob, "GET", "/v1/servers/"+hidden.ID+"/tools", "")

	var switched rest.VisibleServer
	r.want(t, 200, &switched, ada, "PUT", "/v1/servers/"+open.ID+"/preference", `{"enabled":false}`)
	if switched.Enabled {
		t.Error("the server is still on")
	}
	var p rest.Problem
	r.want(t, 403, &p, ada, "POST", "/v1/tools/o_echo", `{"args":{"message":"x"}}`)
	if p.Kind != core.Denied || p.Hint == "" {
		t.Errorf("got %+v", p)
	}
	r.want(t, 200, nil, bob, "POST", "/v1/tools/o_echo", `{"args":{"message":"x"}}`)
	var servers rest.List[rest.VisibleServer]
	r.want(t, 200, &servers, ada, "GET", "/v1/servers", "")
	got := map[string]bool{}
	for _, s := range servers.Items {
		got[s.Name] = s.Enabled
	}
	if d := cmp.Diff(got, map[string]bool{"open": false, "hidden": true}); d != "" {
		t.Error(d)
	}
	var tools rest.FoundTools
	r.want(t, 200, &tools, ada, "GET", "/v1/tools", "")
	for _, tool := range tools.Items {
		if tool.ServerID == open.ID {
			t.Errorf("%s is listed though its server is off", tool.Name)
		}
	}
}

// TestSecretsStayInside: neither kind of caller is shown what is not a reference,
// and a mask that is sent back keeps it.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, ada := r.user(t, "ada")
	s := r.register(t, "echoes", upstreamServer(t), `,"headers":{"Authorization":"Bearer hush-hush","X-Plain":"hush-hush"}`)
	path := "/v1/admin/servers/" + s.ID
	for token, where := range map[string]string{r.admin: path, ada: "/v1/servers"} {
		if a := r.want(t, 200, nil, token, "GET", where, ""); bytes.Contains(a.body, []byte("hush")) {
			t.Errorf("%s shows a secret: %s", where, a.body)
		}
	}
	if a := r.want(t, 200, nil, ada, "GET", "/v1/servers", ""); bytes.Contains(a.body, []byte("headers")) || bytes.Contains(a.body, []byte("url")) {
		t.Errorf("a caller is shown how a server is reached: %s", a.body)
	}
	var edited rest.Server
	r.want(t, 200, &edited, r.admin, "PATCH", path, `{"headers":{"Authorization":"***"},"description":"kept"}`)
	if d := cmp.Diff(edited.Headers, map[string]string{"Authorization": "***"}); d != "" {
		t.Error(d)
	}
	stored, err := r.store.Server(t.Context(), core.DefaultTenant, s.ID)
	if err != nil || stored.Headers["Authorization"] == "***" || stored.Headers["Authorization"] == "" {
		t.Errorf("the secret is lost: %v %v", stored.Headers, err)
	}
}
