package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/mcpserver/rest"
)

// bad is a request that must be refused. What it answers is golden.
type bad struct {
	name, method, path, body string
	status                   int
}

const servers = "/v1/admin/servers"

var badInputs = []bad{
	{"no JSON", "POST", servers, `{"name":`, 400},
	{"trailing garbage", "POST", servers, `{"name":"a","transport":"stdio","command":"x"} x`, 400},
	{"two values", "POST", servers, `{} {}`, 400},
	{"duplicate key", "POST", servers, `{"name":"a","transport":"stdio","env":{"A":"1","A":"2"}}`, 400},
	{"unknown fields", "POST", servers, `{"name":"a","transport":"stdio","nmae":"b","enabled":true}`, 400},
	{"key in other case", "POST", servers, `{"Name":"a","transport":"stdio"}`, 400},
	{"not UTF-8", "POST", servers, "{\"name\":\"\xff\"}", 400},
	{"byte order mark", "POST", servers, "\ufeff{}", 400},
	{"no body", "POST", servers, ``, 400},
	{"too deep", "POST", servers, strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000), 400},
	{"absurdly deep", "POST", servers, strings.Repeat(`{"a":`, 200000), 400},
	{"a list", "POST", servers, `[]`, 422},
	{"null", "POST", servers, `null`, 422},
	{"wrong types", "POST", servers, `{"name":1,"transport":"stdio","args":"-y","env":{"a/b":2},"timeout":5}`, 422},
	{"required fields", "POST", servers, `{}`, 422},
	{"enum", "POST", servers, `{"name":"a","transport":"ftp","visibility":"maybe"}`, 422},
	{"duration", "POST", servers, `{"name":"a","transport":"stdio","command":"x","timeout":"soon"}`, 422},
	{"endless duration", "POST", servers, `{"name":"a","transport":"stdio","command":"x","timeout":"99999999999999h"}`, 422},
	{"endless exponent", "POST", "/v1/admin/embeddings/search", `{"query":"x","topK":1e999999999}`, 422},
	{"several faults", "POST", servers, `{"name":"has space","transport":"http","url":"ftp://x","headers":{"Host":"a"}}`, 422},
	{"ambiguous transport", "POST", servers, `{"name":"a","transport":"stdio","url":"http://x"}`, 422},
	{"body that is not expected", "POST", servers + "/x/refresh", `{"full":true}`, 400},
	{"unknown server", "GET", servers + "/018f0000-0000-7000-8000-000000000000", ``, 404},
	{"malformed id", "GET", servers + "/no-such-id", ``, 404},
	{"malformed id to delete", "DELETE", servers + "/%00", ``, 404},
	{"required field set to null", "PATCH", servers + "/x", `{"name":null}`, 422},

	{"unknown query parameter", "GET", "/v1/servers?limt=1", ``, 400},
	{"query parameter twice", "GET", "/v1/servers?limit=1&limit=2", ``, 400},
	{"query parameter on a route without", "GET", servers + "/x?limit=1", ``, 400},
	{"malformed query", "GET", "/v1/servers?limit=%zz", ``, 400},
	{"limit below", "GET", "/v1/servers?limit=0", ``, 422},
	{"limit above", "GET", "/v1/admin/users?limit=201", ``, 422},
	{"limit no number", "GET", "/v1/tools?limit=many", ``, 422},
	{"limit beyond integers", "GET", "/v1/tools?limit=99999999999999999999", ``, 422},
	{"bad cursor of servers", "GET", "/v1/servers?cursor=zzz", ``, 422},
	{"bad cursor of tools", "GET", "/v1/tools?cursor=zzz", ``, 422},
	{"bad cursor of users", "GET", "/v1/admin/users?cursor=zzz", ``, 422},
	{"bad cursor of audit", "GET", "/v1/admin/audit?cursor=%21", ``, 422},
	{"bad cursor of domains", "GET", "/v1/admin/domains?cursor=%21", ``, 422},
	{"time that is none", "GET", "/v1/admin/audit?since=yesterday", ``, 422},
	{"outcome that is none", "GET", "/v1/admin/usage?outcome=good", ``, 422},
	{"wait that is none", "POST", servers + "/x/refresh?wait=long", ``, 422},

	{"unknown tool", "POST", "/v1/tools/nothing", `{"args":{}}`, 404},
	{"unknown tool id", "GET", "/v1/tools/018f0000-0000-7000-8000-000000000000", ``, 404},
	{"arguments not an object", "POST", "/v1/tools/echo", `{"args":[1]}`, 422},
	{"arguments beside args", "POST", "/v1/tools/echo", `{"message":"x"}`, 400},
	{"arguments against the schema", "POST", "/v1/tools/echo", `{"args":{"n":1.5}}`, 422},
	{"arguments too deep", "POST", "/v1/tools/echo", `{"args":` + strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200) + `}`, 400},
	{"switch that is none", "PUT", "/v1/servers/x/preference", `{"enabled":"yes"}`, 422},
	{"switch of nothing", "PUT", "/v1/servers/x/preference", `{"enabled":true}`, 404},

	{"hook of no type", "POST", allHooks, `{"name":"a","type":"nothing"}`, 422},
	{"hook with unknown fields", "POST", allHooks, `{"name":"a","type":"say","on_error":"fail","version":1}`, 400},
	{"hook with wrong values", "POST", allHooks, `{"name":"a","type":"say","level":"all","timeout":"soon","events":"x","config":[]}`, 422},
	{"hook with many faults", "POST", allHooks, `{"name":"a","type":"say","userId":"x","events":["tool:Before"],"timeout":"99h","config":{"secret":"short","tetx":"y"}}`, 422},
	{"hook without what it needs", "POST", allHooks, `{"type":"say"}`, 422},
	{"hook with a mask of nothing", "POST", allHooks, `{"name":"a","type":"say","config":{"text":"x","secret":"***"}}`, 422},
	{"hook in a scope that its type has not", "POST", allHooks, `{"name":"a","type":"stop","userId":"ROOT"}`, 422},
	{"hook with a key of the gateway", "POST", allHooks, `{"name":"a","type":"say","config":{"text":"${TOOLSCOUT_ADMIN_TOKEN}"}}`, 403},
	{"hook that is not there", "PATCH", allHooks + "/x", `{"enabled":false}`, 404},
	{"hook without a name", "PATCH", allHooks + "/x", `{"name":null}`, 422},
	{"own hook for somebody else", "POST", myHooks, `{"name":"a","type":"say","userId":"018f0000-0000-7000-8000-000000000000","config":{"text":"x"}}`, 422},
	{"own hook on a server unseen", "POST", myHooks, `{"name":"a","type":"say","serverId":"018f0000-0000-7000-8000-000000000000","config":{"text":"x"}}`, 422},
	{"own hook with a reference", "POST", myHooks, `{"name":"a","type":"say","config":{"text":"${HOME}"}}`, 422},
	{"own hook of a closed type", "POST", myHooks, `{"name":"a","type":"stop"}`, 403},
	{"bad cursor of hooks", "GET", allHooks + "?cursor=zzz", ``, 422},
	{"bad cursor of types", "GET", myHooks + "/types?cursor=%21", ``, 422},
	{"hooks of an unknown tool", "GET", allHooks + "/effective?tool=nothing", ``, 404},
	{"trial without a call", "POST", allHooks + "/test", `{"type":"say"}`, 422},
	{"trial of a call with unknown fields", "POST", allHooks + "/test", `{"type":"say","call":{"tol":1,"tool":{"name":"x","nmae":"y"},"server":{"name":"x","url":"y"}}}`, 400},

	{"user without a name", "POST", "/v1/admin/users", `{"name":""}`, 422},
	{"user who exists", "POST", "/v1/admin/users", `{"name":"root"}`, 409},
	{"token that has expired", "POST", "/v1/admin/users/ROOT/tokens", `{"name":"x","expiresAt":"2001-01-01T00:00:00Z"}`, 422},
	{"token that never was", "DELETE", "/v1/admin/users/ROOT/tokens/x", ``, 404},
	{"domain that is no slug", "PUT", "/v1/admin/domains/Not%20A%20Slug", `{"name":"x"}`, 422},
	{"search for nothing", "POST", "/v1/admin/embeddings/search", `{"query":" "}`, 422},
}

// TestBadInput: each has a clear error. The bodies are in testdata/problems.txt.
func TestBadInput(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "echoes", upstreamServer(t), "")
	var users rest.List[rest.User]
	r.want(t, 200, &users, r.admin, "GET", "/v1/admin/users", "")
	var all bytes.Buffer
	for _, b := range badInputs {
		path := strings.Replace(b.path, "ROOT", users.Items[0].ID, 1)
		a := r.do(t, r.admin, b.method, path, strings.Replace(b.body, `"ROOT"`, `"`+users.Items[0].ID+`"`, 1))
		if a.status != b.status {
			t.Errorf("%s: got %d %s, want %d", b.name, a.status, a.body, b.status)
		}
		fmt.Fprintf(&all, "# %s\n%s %s %s\n%s\n\n", b.name, b.method, b.path, shortened(b.body), withoutIDs(t, a.body))
	}
	golden(t, "testdata/problems.txt", all.String())
}

func shortened(body string) string {
	if len(body) > 100 {
		body = body[:60] + "…"
	}
	return strings.ToValidUTF8(body, "�")
}

// withoutIDs takes out of a problem what differs from run to run.
func withoutIDs(t *testing.T, body []byte) string {
	t.Helper()
	var p rest.Problem
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if p.RequestID == "" || p.Type != "about:blank" || p.Title != http.StatusText(p.Status) || p.Kind == "" {
		t.Errorf("incomplete problem %s", body)
	}
	p.RequestID = ""
	if p.ToolID != "" {
		p.ToolID = "TOOL"
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(p); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// TestBadInputIsAudited: an attempt to run or change something leaves a row even
// when it is refused before anybody looked at it.
func TestBadInputIsAudited(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct{ method, path, body, level, action string }{
		{"POST", servers, `{"nmae":1}`, core.LevelConfig, "server.create"},
		{"POST", "/v1/tools/x", `{"args":`, core.LevelHTTP, "execute_tool"},
		{"POST", "/v1/tools/x", `{"args":[]}`, core.LevelHTTP, "execute_tool"},
		{"GET", "/v1/tools?limit=0", ``, core.LevelHTTP, "list_tools"},
		{"PUT", "/v1/servers/x/preference", `{"enabled":0}`, core.LevelConfig, "set_preference"},
	} {
		a := r.do(t, r.admin, c.method, c.path, c.body)
		r.flush(t)
		var rows rest.List[rest.AuditEntry]
		r.want(t, 200, &rows, r.admin, "GET", "/v1/admin/audit?requestId="+a.header.Get("X-Request-Id"), "")
		if len(rows.Items) != 1 || rows.Items[0].Action != c.action || rows.Items[0].Level != c.level || rows.Items[0].Outcome != core.OutcomeInvalid {
			t.Errorf("%s %s: got %+v", c.method, c.path, rows.Items)
		}
	}
}

// TestContentTypes: JSON, or nothing said, is taken; anything else is 415.
func TestContentTypes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for contentType, want := range map[string]int{"": 201, "application/json": 201, "application/json; charset=utf-8": 201,
		"text/plain": 415, "application/x-www-form-urlencoded": 415, "application/xml": 415, "nonsense;;": 415, "application/merge-patch+json": 415} {
		a := r.send(t, r.admin, "POST", "/v1/admin/users", contentType, fmt.Sprintf(`{"name":"user %d"}`, len(contentType)))
		if a.status != want {
			t.Errorf("%q: got %d %s, want %d", contentType, a.status, a.body, want)
		}
	}
}

// TestLargeBody: 413, with and without a length that is known beforehand.
func TestLargeBody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	body := `{"name":"` + strings.Repeat("x", 10<<20) + `"}`
	if a := r.send(t, r.admin, "POST", "/v1/admin/users", "application/json", body); a.status != 413 {
		t.Errorf("with a length: got %d %s", a.status, a.body)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", r.url+"/v1/admin/users", struct{ *strings.Reader }{strings.NewReader(body)})
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.admin)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 413 {
		t.Errorf("without a length: got %d", res.StatusCode)
	}
	r.flush(t)
	var rows rest.List[rest.AuditEntry]
	r.want(t, 200, &rows, r.admin, "GET", "/v1/admin/audit?requestId="+res.Header.Get("X-Request-Id"), "")
	if len(rows.Items) != 1 || rows.Items[0].Outcome != core.OutcomeInvalid {
		t.Errorf("without a length: got %+v in the audit", rows.Items)
	}
}

// TestBehindAnotherRouter: the router in front leaves refusals to this one.
func TestBehindAnotherRouter(t *testing.T) {
	t.Parallel()
	_, h := nobody(t)
	front := chi.NewRouter()
	front.Get("/healthz", func(http.ResponseWriter, *http.Request) {})
	front.NotFound(h.ServeHTTP)
	front.MethodNotAllowed(h.ServeHTTP)
	for route, want := range map[string]string{"POST /healthz": "405 GET", "POST /docs": "405 GET, HEAD", "GET /nowhere": "404 ", "GET /docs": "200 ", "GET /healthz": "200 "} {
		method, path, _ := strings.Cut(route, " ")
		w := ask(t, front, method, path)
		if got := fmt.Sprintf("%d %s", w.Code, w.Header().Get("Allow")); got != want {
			t.Errorf("%s: got %q %s, want %q", route, got, w.Body, want)
		}
	}
}

// TestMethodsAndPaths: 405 names what is possible, 404 is a problem too.
func TestMethodsAndPaths(t *testing.T) {
	t.Parallel()
	_, h := nobody(t)
	for path, want := range map[string]string{"/v1/servers": "GET, HEAD", "/v1/tools/a%2Fb": "GET, HEAD, POST",
		"/v1/admin/servers/x": "GET, HEAD, PATCH, DELETE", "/v1/servers/x/preference": "PUT", "/openapi.json": "GET, HEAD"} {
		w := ask(t, h, "TRACE", path)
		if w.Code != 405 || w.Header().Get("Allow") != want || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("TRACE %s: got %d %q %s, want 405 %q", path, w.Code, w.Header().Get("Allow"), w.Body, want)
		}
	}
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/server", "/v1/admin", "/v1/servers/", "/v1/admin/users/x/y"} {
		w := ask(t, h, "GET", path)
		if w.Code != 404 || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("GET %s: got %d %s", path, w.Code, w.Body)
		}
	}
}
