package rest_test

import (
	"crypto/sha256"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/mcpserver/rest"
)

const (
	myHooks  = "/v1/hooks"
	allHooks = "/v1/admin/hooks"
)

// says are the warnings that a caller of echo gets.
func (r *rig) says(t *testing.T, token string) []string {
	t.Helper()
	var result struct {
		Meta struct {
			Warnings []string `json:"toolscout/warnings"`
		} `json:"_meta"`
	}
	r.want(t, 200, &result, token, "POST", "/v1/tools/echo", `{"args":{"message":"hi"}}`)
	return result.Meta.Warnings
}

// TestHooksActAtTheNextCall, in all four scopes and for those alone whom they are
// for; an edit acts, and so does the end of a hook.
func TestHooksActAtTheNextCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server := r.register(t, "echoes", upstreamServer(t), "")
	adaID, ada := r.user(t, "ada")
	_, bob := r.user(t, "bob")
	newHook := func(token, path, text, scope string) rest.Hook {
		t.Helper()
		var h rest.Hook
		a := r.want(t, 201, &h, token, "POST", path, `{"name":"`+text+`","type":"say","config":{"text":"`+text+`"}`+scope+`}`)
		if a.header.Get("Location") != path+"/"+h.ID {
			t.Errorf("it is at %q", a.header.Get("Location"))
		}
		return h
	}
	global := newHook(r.admin, allHooks, "global", "")
	newHook(r.admin, allHooks, "server", `,"serverId":"`+server.ID+`"`)
	newHook(r.admin, allHooks, "user", `,"userId":"`+adaID+`"`)
	own := newHook(ada, myHooks, "own", `,"serverId":"`+server.ID+`"`)
	// After-hooks run from the inside out.
	if got := r.says(t, ada); !slices.Equal(got, []string{"own", "user", "server", "global"}) {
		t.Errorf("ada hears %q", got)
	}
	if got := r.says(t, bob); !slices.Equal(got, []string{"server", "global"}) {
		t.Errorf("bob hears %q", got)
	}
	r.want(t, 200, nil, r.admin, "PATCH", allHooks+"/"+global.ID, `{"config":{"text":"changed"}}`)
	r.want(t, 200, nil, ada, "PATCH", myHooks+"/"+own.ID, `{"enabled":false}`)
	if got := r.says(t, ada); !slices.Equal(got, []string{"user", "server", "changed"}) {
		t.Errorf("ada hears %q", got)
	}
	r.want(t, 204, nil, r.admin, "DELETE", allHooks+"/"+global.ID, "")
	r.want(t, 204, nil, ada, "DELETE", myHooks+"/"+own.ID, "")
	r.want(t, 404, nil, ada, "GET", myHooks+"/"+own.ID, "")
	if got := r.says(t, bob); !slices.Equal(got, []string{"server"}) {
		t.Errorf("bob hears %q", got)
	}
}

// TestHooksActOnEveryInstance at the next call, whichever made the change.
func TestHooksActOnEveryInstance(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	instance := func() *rig {
		store, err := postgres.Open(t.Context(), database, postgres.Options{MaxConns: 8, Lease: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(store.Close)
		if err := store.EnsureAdmin(t.Context(), "root", sha256.Sum256([]byte(adminToken))); err != nil {
			t.Fatal(err)
		}
		return newInstance(t, store)
	}
	here, there := instance(), instance()
	here.register(t, "echoes", upstreamServer(t), "")
	for range 5 {
		here.says(t, adminToken) // leases are held
		there.says(t, adminToken)
		var h rest.Hook
		here.want(t, 201, &h, adminToken, "POST", allHooks, `{"name":"a","type":"say","config":{"text":"one"}}`)
		if got := there.says(t, adminToken); !slices.Equal(got, []string{"one"}) {
			t.Errorf("there: %q", got)
		}
		there.want(t, 200, nil, adminToken, "PATCH", allHooks+"/"+h.ID, `{"config":{"text":"two"}}`)
		if got := here.says(t, adminToken); !slices.Equal(got, []string{"two"}) {
			t.Errorf("here: %q", got)
		}
		here.want(t, 204, nil, adminToken, "DELETE", allHooks+"/"+h.ID, "")
		if got := there.says(t, adminToken); len(got) != 0 {
			t.Errorf("there: %q", got)
		}
	}
}

// TestUsersKeepTheirHooksApart: nobody sees or touches another's, and what the
// admin made for one is theirs to read alone.
func TestUsersKeepTheirHooksApart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	adaID, ada := r.user(t, "ada")
	_, bob := r.user(t, "bob")
	var own, given rest.Hook
	r.want(t, 201, &own, ada, "POST", myHooks, `{"name":"own","type":"say","config":{"text":"own","secret":"hush-hush"}}`)
	r.want(t, 201, &given, r.admin, "POST", allHooks, `{"name":"given","type":"say","userId":"`+adaID+`","config":{"text":"given","secret":"hush-hush"}}`)
	if !own.Owned || own.UserID != adaID || own.Scope != "user" || given.Owned {
		t.Errorf("got %+v and %+v", own, given)
	}
	for _, id := range []string{own.ID, given.ID, "file:declared", "x"} {
		path := myHooks + "/" + url.PathEscape(id)
		r.want(t, 404, nil, bob, "GET", path, "")
		r.want(t, 404, nil, bob, "PATCH", path, `{"enabled":false}`)
		r.want(t, 404, nil, bob, "DELETE", path, "")
	}
	r.want(t, 200, nil, ada, "GET", myHooks+"/"+given.ID, "")
	r.want(t, 403, nil, ada, "PATCH", myHooks+"/"+given.ID, `{"enabled":false}`)
	r.want(t, 403, nil, ada, "DELETE", myHooks+"/"+given.ID, "")
	var list rest.List[rest.Hook]
	a := r.want(t, 200, &list, ada, "GET", myHooks, "")
	if len(list.Items) != 2 || strings.Contains(string(a.body), "hush") || !strings.Contains(string(a.body), `"***"`) {
		t.Errorf("got %s", a.body)
	}
	r.want(t, 200, &list, bob, "GET", myHooks, "")
	if len(list.Items) != 0 {
		t.Errorf("bob has %+v", list.Items)
	}
}

// TestNobodyLocksThemselvesOut: what a user's own hook refuses is anything but
// editing hooks.
func TestNobodyLocksThemselvesOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, ada := r.user(t, "ada")
	_, bob := r.user(t, "bob")
	var h rest.Hook
	r.want(t, 201, &h, ada, "POST", myHooks, `{"name":"never","type":"say","level":"meta","onError":"fail","config":{"text":"!"}}`)
	r.want(t, 500, nil, ada, "GET", "/v1/servers", "")
	r.want(t, 200, nil, bob, "GET", "/v1/servers", "")
	r.want(t, 200, nil, ada, "GET", myHooks, "")
	r.want(t, 200, nil, ada, "PATCH", myHooks+"/"+h.ID, `{"enabled":false}`)
	r.want(t, 200, nil, ada, "GET", "/v1/servers", "")
}

// TestClosedTypesAreDenied, with a hint at the setting; types say what is open.
func TestClosedTypesAreDenied(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, ada := r.user(t, "ada")
	var p rest.Problem
	r.want(t, 403, &p, ada, "POST", myHooks, `{"name":"a","type":"stop"}`)
	if p.Kind != core.Denied || !strings.Contains(p.Hint, "open_to_users") || !strings.Contains(p.Hint, "[hooks]") {
		t.Errorf("got %+v", p)
	}
	var types rest.List[rest.HookType]
	r.want(t, 200, &types, ada, "GET", myHooks+"/types?limit=1", "")
	if len(types.Items) != 1 || !types.Items[0].OpenToMe || types.Items[0].Defaults.Timeout != "5s" || types.NextCursor == "" {
		t.Errorf("got %+v", types)
	}
	r.want(t, 200, &types, ada, "GET", myHooks+"/types?cursor="+types.NextCursor, "")
	if len(types.Items) != 1 || types.Items[0].OpenToMe || !slices.Equal(types.Items[0].Scopes, []string{"global"}) {
		t.Errorf("got %+v", types)
	}
}

// TestLostRoleBites: who is no admin any more sees and changes no hooks but their
// own, from the next request on.
func TestLostRoleBites(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id, eve := r.user(t, "eve", core.RoleAdmin)
	var h rest.Hook
	r.want(t, 201, &h, eve, "POST", allHooks, `{"name":"a","type":"say","config":{"text":"a"}}`)
	r.want(t, 200, nil, r.admin, "PATCH", "/v1/admin/users/"+id, `{"roles":[]}`)
	r.want(t, 403, nil, eve, "GET", allHooks, "")
	r.want(t, 403, nil, eve, "PATCH", allHooks+"/"+h.ID, `{"enabled":false}`)
	r.want(t, 403, nil, eve, "DELETE", allHooks+"/"+h.ID, "")
	r.want(t, 403, nil, eve, "GET", allHooks+"/effective", "")
	r.want(t, 404, nil, eve, "GET", myHooks+"/"+h.ID, "")
}

// TestSecretsOfHooksStayWhereTheyAre: neither the audit nor another hook learns of
// a user's secret, however the attempt ends.
func TestSecretsOfHooksStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, ada := r.user(t, "ada")
	r.want(t, 201, nil, r.admin, "POST", allHooks, `{"name":"spy","type":"say","level":"meta","config":{"text":"spy"}}`)
	var h rest.Hook
	r.want(t, 201, &h, ada, "POST", myHooks, `{"name":"a","type":"say","config":{"text":"a","secret":"hush-hush"}}`)
	r.want(t, 422, nil, ada, "POST", myHooks, `{"name":"b","type":"say","config":{"text":1,"secret":"hush-hush"}}`)
	r.want(t, 409, nil, ada, "POST", myHooks, `{"name":"a","type":"say","config":{"text":"a","secret":"hush-hush"}}`)
	r.want(t, 200, nil, ada, "PATCH", myHooks+"/"+h.ID, `{"config":{"text":"b","secret":"hush-hush-again"}}`)
	r.flush(t)
	a := r.want(t, 200, nil, r.admin, "GET", "/v1/admin/audit?limit=200", "")
	if strings.Contains(string(a.body), "hush") {
		t.Errorf("the audit has %s", a.body)
	}
	var rows rest.List[rest.AuditEntry]
	for action, want := range map[string]int{"create_hook": 3, "update_hook": 1, "hook.create": 1} {
		r.want(t, 200, &rows, r.admin, "GET", "/v1/admin/audit?action="+action, "")
		if len(rows.Items) != want {
			t.Errorf("%s left %d rows, want %d", action, len(rows.Items), want)
		}
	}
	for _, seen := range r.seen() {
		if strings.Contains(seen, "hush") {
			t.Errorf("a hook saw %s", seen)
		}
	}
	if len(r.seen()) == 0 {
		t.Error("the spy saw nothing")
	}
}
