package door_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/mcpserver/door"
)

func TestAuthenticated(t *testing.T) {
	t.Parallel()
	const meta = `Bearer resource_metadata="http://127.0.0.1:8080/.well-known/oauth-protected-resource/mcp"`
	d := newDoor(t, door.Config{})
	for _, c := range []struct {
		name      string
		header    http.Header
		status    int
		user      string
		agent     string
		challenge string
	}{
		{"no token", http.Header{}, 401, "", "", meta},
		{"unknown", http.Header{"Authorization": {"Bearer ts_nobody"}}, 401, "", "", meta + `, error="invalid_token"`},
		{"another scheme", http.Header{"Authorization": {"Basic ts_ann"}}, 401, "", "", meta + `, error="invalid_token"`},
		{"no secret", http.Header{"Authorization": {"Bearer "}}, 401, "", "", meta + `, error="invalid_token"`},
		{"two headers", http.Header{"Authorization": {"Bearer ts_ann", "Bearer ts_ann"}}, 401, "", "", meta + `, error="invalid_token"`},
		{"database down", http.Header{"Authorization": {"Bearer ts_down"}}, 503, "", "", ""},
		{"good", http.Header{"Authorization": {"Bearer ts_ann"}}, 200, "ann", "", ""},
		{"scheme in small letters", http.Header{"Authorization": {"bearer  ts_ann"}}, 200, "ann", "", ""},
		{"agent named", http.Header{"Authorization": {"Bearer ts_ann"}, "X-Agent-Name": {"ide"}}, 200, "ann", "ide", ""},
		{"agent bound", http.Header{"Authorization": {"Bearer ts_bot"}}, 200, "ann", "bot", ""},
		{"agent bound and named", http.Header{"Authorization": {"Bearer ts_bot"}, "X-Agent-Name": {"bot"}}, 200, "ann", "bot", ""},
		{"agent bound, another named", http.Header{"Authorization": {"Bearer ts_bot"}, "X-Agent-Name": {"ide"}}, 403, "", "", ""},
		{"agent with a control character", http.Header{"Authorization": {"Bearer ts_ann"}, "X-Agent-Name": {"a\tb"}}, 422, "", "", ""},
		{"agent too long", http.Header{"Authorization": {"Bearer ts_ann"}, "X-Agent-Name": {strings.Repeat("a", 129)}}, 422, "", "", ""},
		{"two agents", http.Header{"Authorization": {"Bearer ts_ann"}, "X-Agent-Name": {"a", "b"}}, 422, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := serve(d, d.Authenticated(echo), func(r *http.Request) { r.Header = c.header })
			if w.Code != c.status {
				t.Fatalf("status %d, want %d: %s", w.Code, c.status, w.Body)
			}
			if got := w.Header().Get("WWW-Authenticate"); got != c.challenge {
				t.Errorf("challenge %q, want %q", got, c.challenge)
			}
			if c.status == 401 && document(t, w).Detail != "a valid bearer token is needed" {
				t.Errorf("body %s, want the constant message", w.Body)
			}
			if strings.Contains(w.Body.String(), "10.0.0.1") {
				t.Errorf("the body tells the cause: %s", w.Body)
			}
			if c.status != 200 {
				return
			}
			var got struct {
				User, Agent string
				Named       bool
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if got.User != c.user || got.Agent != c.agent || got.Named != (c.name == "agent named") {
				t.Errorf("principal %+v, want %s/%s", got, c.user, c.agent)
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/.well-known/oauth-protected-resource":     "https://tools.example.com",
		"/.well-known/oauth-protected-resource/mcp": "https://tools.example.com/mcp",
	} {
		d := newDoor(t, door.Config{PublicURL: "https://tools.example.com/"})
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "tools.example.com"
		d.Guard(d.ProtectedResourceMetadata()).ServeHTTP(w, r)
		var got map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{
			"resource":                 want,
			"resource_name":            "Toolscout",
			"bearer_methods_supported": []any{"header"},
		}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestProblem(t *testing.T) {
	t.Parallel()
	e := core.Errorf(core.InvalidParams, "the arguments do not match").Because(fmt.Errorf("secret cause"))
	e.Faults = []core.Fault{{Pointer: "/a", Message: "is missing"}}
	e.InputSchema = json.RawMessage(`{"type":"object"}`)
	e.RetryAfter = 1500_000_000
	w := httptest.NewRecorder()
	door.Problem(w, fmt.Errorf("call: %w", e))
	const want = `{"type":"about:blank","title":"Unprocessable Entity","status":422,"detail":"the arguments do not match",` +
		`"kind":"invalid_params","errors":[{"pointer":"/a","message":"is missing"}],"inputSchema":{"type":"object"}}`
	if got := w.Body.String(); got != want || w.Code != 422 || w.Header().Get("Retry-After") != "2" {
		t.Errorf("status %d, retry after %q, body\n%s, want\n%s", w.Code, w.Header().Get("Retry-After"), got, want)
	}
}

func TestStatus_knows_every_kind(t *testing.T) {
	t.Parallel()
	got := map[core.Kind]int{}
	for _, k := range core.Kinds() {
		got[k] = door.Status(k)
	}
	want := map[core.Kind]int{
		core.InvalidParams: 422, core.Unauthenticated: 401, core.Denied: 403, core.HookRejected: 403,
		core.NotFound: 404, core.Conflict: 409, core.RateLimited: 429, core.Timeout: 504,
		core.Unavailable: 503, core.UpstreamError: 502, core.Internal: 500,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
