package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/mcpserver/rest"
)

// TestAdminRoutesAreForAdmins: everybody else gets 403 before anything of the
// request is read, and leaves a row.
func TestAdminRoutesAreForAdmins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, ada := r.user(t, "ada", "engineer")
	api, _ := nobody(t)
	seen := 0
	for _, route := range routes(t, api) {
		method, path, _ := strings.Cut(route, " ")
		if !strings.HasPrefix(path, "/v1/admin/") {
			continue
		}
		seen++
		a := r.send(t, ada, method, path, "application/json", `{"not":"read`)
		var p rest.Problem
		if err := json.Unmarshal(a.body, &p); err != nil || a.status != 403 || p.Kind != core.Denied {
			t.Errorf("%s: got %d %s", route, a.status, a.body)
		}
	}
	r.flush(t)
	var rows rest.List[rest.AuditEntry]
	r.want(t, 200, &rows, r.admin, "GET", "/v1/admin/audit?limit=200&outcome=denied&level=config", "")
	if len(rows.Items) != seen {
		t.Errorf("%d attempts left %d rows", seen, len(rows.Items))
	}
}

// TestPaging walks every list in parts of two and meets each item once.
func TestPaging(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	adaID, ada := r.user(t, "ada")
	for i := range 4 {
		r.register(t, fmt.Sprintf("s%d", i), upstreamServer(t), fmt.Sprintf(`,"domain":"d%d","prefix":"p%d_"`, i, i))
		r.want(t, 201, nil, r.admin, "POST", "/v1/admin/users/"+adaID+"/tokens", fmt.Sprintf(`{"name":"t%d"}`, i))
	}
	var servers rest.List[rest.Server]
	r.want(t, 200, &servers, r.admin, "GET", "/v1/admin/servers", "")
	r.flush(t)
	for path, want := range map[string]int{"/v1/admin/servers": 4, "/v1/admin/users": 2, "/v1/admin/users/" + adaID + "/tokens": 5,
		"/v1/servers": 4, "/v1/tools": 8, "/v1/tools?server=" + servers.Items[0].ID: 2, "/v1/tools?domain=d1": 2,
		"/v1/servers/" + servers.Items[1].ID + "/tools": 2, "/v1/admin/audit?level=config": 10} {
		token := ada
		if strings.HasPrefix(path, "/v1/admin/") {
			token = r.admin
		}
		if got := r.walk(t, token, path); len(got) != want {
			t.Errorf("%s: walked over %d items, want %d", path, len(got), want)
		}
	}
	if got := r.walk(t, r.admin, "/v1/admin/domains"); len(got) < 4 || !slices.IsSorted(got) {
		t.Errorf("domains come as %v", got)
	}
}

// walk collects the ids of a list, two at a time.
func (r *rig) walk(t *testing.T, token, path string) []string {
	t.Helper()
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	var ids []string
	for cursor := ""; ; {
		var page rest.List[struct{ ID string }]
		r.want(t, 200, &page, token, "GET", path+separator+"limit=2"+cursor, "")
		for _, item := range page.Items {
			if slices.Contains(ids, item.ID) {
				t.Fatalf("%s: %s comes twice", path, item.ID)
			}
			ids = append(ids, item.ID)
		}
		if page.NextCursor == "" {
			return ids
		}
		if len(page.Items) != 2 {
			t.Fatalf("%s: a part of %d items is not the last", path, len(page.Items))
		}
		cursor = "&cursor=" + page.NextCursor
	}
}

// TestPatch: what is given is set, null is the default, the rest stays.
func TestPatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var s rest.Server
	r.want(t, 201, &s, r.admin, "POST", "/v1/admin/servers", `{"name":"a","transport":"stdio","command":"true","args":["1"],"env":{"A":"${A}","B":"${B}"},
		"tags":["x"],"timeout":"90s","isolation":"user","status":"inactive","description":"before"}`)
	if s.Timeout != "1m30s" || s.Isolation != core.PerUser || s.Status != core.Inactive {
		t.Fatalf("got %+v", s)
	}
	path := "/v1/admin/servers/" + s.ID
	var got rest.Server
	r.want(t, 200, &got, r.admin, "PATCH", path, `{"description":"after","env":{"A":"${A}"},"timeout":null,"isolation":null,"tags":null}`)
	want := s
	want.Description, want.Env, want.Timeout, want.Isolation, want.Tags = "after", map[string]string{"A": "${A}"}, "30s", core.Shared, []string{}
	want.Version, want.UpdatedAt, want.Health = got.Version, got.UpdatedAt, got.Health
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("(-got +want)\n%s", d)
	}
	if got.Version <= s.Version {
		t.Errorf("version %d does not follow %d", got.Version, s.Version)
	}
	r.want(t, 204, nil, r.admin, "DELETE", path, "")
	r.want(t, 404, nil, r.admin, "GET", path, "")

	id, _ := r.user(t, "ada", "engineer")
	var u rest.User
	r.want(t, 200, &u, r.admin, "PATCH", "/v1/admin/users/"+id, `{"email":"ada@example.com"}`)
	if u.Name != "ada" || u.Email != "ada@example.com" || len(u.Roles) != 1 {
		t.Errorf("got %+v", u)
	}
	var plain rest.User
	r.want(t, 200, &plain, r.admin, "PATCH", "/v1/admin/users/"+id, `{"email":null,"roles":null}`)
	if plain.Email != "" || len(plain.Roles) != 0 {
		t.Errorf("got %+v", plain)
	}
}

// TestTokens: the secret is shown once, and not to caches; a token that is revoked
// or expired is no good at once.
func TestTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id, _ := r.user(t, "ada")
	path := "/v1/admin/users/" + id + "/tokens"
	var made rest.NewToken
	a := r.want(t, 201, &made, r.admin, "POST", path, `{"name":"laptop","agent":"ide","expiresAt":"`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
	if a.header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(made.Secret, "ts_") || made.Agent != "ide" || made.ExpiresAt == nil {
		t.Errorf("got %s", a.body)
	}
	r.want(t, 200, nil, made.Secret, "GET", "/v1/servers", "")
	if list := r.want(t, 200, nil, r.admin, "GET", path, ""); bytes.Contains(list.body, []byte("ts_")) {
		t.Errorf("the list shows secrets: %s", list.body)
	}
	r.want(t, 204, nil, r.admin, "DELETE", a.header.Get("Location"), "")
	var p rest.Problem
	refused := r.want(t, 401, &p, made.Secret, "GET", "/v1/servers", "")
	if p.Kind != core.Unauthenticated || refused.header.Get("WWW-Authenticate") == "" {
		t.Errorf("got %s", refused.body)
	}
}

// TestTryServer says what was found, or where it failed, and saves nothing.
func TestTryServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var works, fails rest.TestResult
	r.want(t, 200, &works, r.admin, "POST", "/v1/admin/servers/test", `{"transport":"http","url":"`+upstreamServer(t)+`"}`)
	if !works.OK || works.Name != "echoes" || works.ToolCount != 2 || works.Protocol == "" {
		t.Errorf("got %+v", works)
	}
	r.want(t, 200, &fails, r.admin, "POST", "/v1/admin/servers/test", `{"transport":"http","url":"http://127.0.0.1:1/mcp"}`)
	if fails.OK || fails.Stage == "" || fails.Message == "" {
		t.Errorf("got %+v", fails)
	}
	var none rest.List[rest.Server]
	r.want(t, 200, &none, r.admin, "GET", "/v1/admin/servers", "")
	if len(none.Items) != 0 {
		t.Errorf("the trial was saved: %+v", none.Items)
	}
}

// TestIndex: status, models, domains, a search to try.
func TestIndex(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "echoes", upstreamServer(t), `,"domain":"talk"`)
	var status rest.IndexStatus
	r.want(t, 202, nil, r.admin, "POST", "/v1/admin/embeddings/index", ``)
	r.want(t, 200, &status, r.admin, "GET", "/v1/admin/embeddings/index", "")
	if status.Total != 2 || status.Failed != 0 {
		t.Errorf("got %+v", status)
	}
	var models rest.List[rest.Model]
	r.want(t, 200, &models, r.admin, "GET", "/v1/admin/embeddings/models", "")
	if len(models.Items) != 1 || !models.Items[0].Active || models.Items[0].Dimensions == 0 {
		t.Errorf("got %+v", models.Items)
	}
	var found rest.TrialAnswer
	r.want(t, 200, &found, r.admin, "POST", "/v1/admin/embeddings/search", `{"query":"say a message back","topK":1}`)
	if len(found.Items) != 1 || found.Items[0].Name != "echo" || found.Items[0].ServerName != "echoes" {
		t.Errorf("got %+v", found)
	}
	var d rest.Domain
	r.want(t, 200, &d, r.admin, "PUT", "/v1/admin/domains/talk", `{"name":"Talking","description":"Tools that speak"}`)
	var domains rest.List[rest.Domain]
	r.want(t, 200, &domains, r.admin, "GET", "/v1/admin/domains", "")
	if !slices.Contains(domains.Items, rest.Domain{ID: "talk", Name: "Talking", Description: "Tools that speak", ToolCount: 2}) {
		t.Errorf("got %+v", domains.Items)
	}
}

// TestRegisterAnswersAtOnce: what cannot be reached is registered all the same.
func TestRegisterAnswersAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var s rest.Server
	r.want(t, 201, &s, r.admin, "POST", "/v1/admin/servers", `{"name":"nobody","transport":"http","url":"http://127.0.0.1:1/mcp"}`)
	r.want(t, 200, &s, r.admin, "POST", "/v1/admin/servers/"+s.ID+"/refresh?wait=30s", "")
	if s.Health.State != core.Down || s.Health.Message == "" || s.Health.Stage == "" {
		t.Errorf("got %+v", s.Health)
	}
	r.want(t, 409, nil, r.admin, "POST", "/v1/admin/servers", `{"name":"nobody","transport":"http","url":"http://127.0.0.1:1/mcp"}`)
}
