package rest_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
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

// TestDeclaredHooksAreShown beside those of the database, and refused with where
// they are.
func TestDeclaredHooksAreShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.declare(t, hooks.Definition{Name: "declared", Type: "say", Enabled: true, Config: json.RawMessage(`{"text":"d","secret":"in-the-file"}`),
		Origin: hooks.Origin{Kind: hooks.FromFile, Where: "toolscout.toml:12"}})
	for _, name := range []string{"b", "a", "c"} {
		r.want(t, 201, nil, r.admin, "POST", allHooks, `{"name":"`+name+`","type":"say","config":{"text":"x"}}`)
	}
	if got := r.walk(t, r.admin, allHooks); len(got) != 4 || got[0] != "file:declared" {
		t.Errorf("got %v", got)
	}
	if got := r.walk(t, r.admin, allHooks+"?type=stop"); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	var h rest.Hook
	a := r.want(t, 200, &h, r.admin, "GET", allHooks+"/file:declared", "")
	if h.Origin.Where != "toolscout.toml:12" || strings.Contains(string(a.body), "in-the-file") {
		t.Errorf("got %s", a.body)
	}
	var p rest.Problem
	r.want(t, 409, &p, r.admin, "PATCH", allHooks+"/file:declared", `{"enabled":false}`)
	if !strings.Contains(p.Detail, "toolscout.toml:12") {
		t.Errorf("got %+v", p)
	}
	r.want(t, 409, nil, r.admin, "DELETE", allHooks+"/file:declared", "")
}

// TestBadRowsDoNotBreakListing: a row that nobody can use is shown as broken, its
// on_error decides, and it can be switched off.
func TestBadRowsDoNotBreakListing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "echoes", upstreamServer(t), "")
	for name, onError := range map[string]hooks.OnError{"ignored": hooks.Ignore, "closed": hooks.Fail} {
		d := hooks.Definition{Name: name, Type: "unheard_of", Level: hooks.Tool, OnError: onError, Enabled: true, Config: json.RawMessage(`["?"]`)}
		if _, err := r.store.CreateHook(t.Context(), core.AuditEntry{Level: core.LevelConfig, Action: "test"}, d); err != nil {
			t.Fatal(err)
		}
	}
	r.want(t, 503, nil, r.admin, "POST", "/v1/tools/echo", `{"args":{"message":"hi"}}`)
	var list rest.List[rest.Hook]
	r.want(t, 200, &list, r.admin, "GET", allHooks, "")
	if len(list.Items) != 2 || list.Items[0].State.State != hookset.Broken || !strings.Contains(list.Items[1].State.Reason, "unheard_of") {
		t.Fatalf("got %+v", list.Items)
	}
	r.want(t, 200, nil, r.admin, "PATCH", allHooks+"/"+list.Items[0].ID, `{"enabled":false}`)
	if got := r.says(t, r.admin); len(got) != 1 || !strings.Contains(got[0], "ignored") {
		t.Errorf("got %q", got)
	}
}

// TestEffectiveHooks says which hooks a call goes through, and why not through the
// others.
func TestEffectiveHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server := r.register(t, "echoes", upstreamServer(t), "")
	hidden := r.register(t, "hidden", upstreamServer(t), `,"prefix":"h_","visibility":"hidden"`)
	adaID, ada := r.user(t, "ada")
	for _, h := range []string{`"name":"all"`, `"name":"adas","userId":"` + adaID + `"`, `"name":"other","pattern":"gh_*"`,
		`"name":"agent","agents":["ide"]`, `"name":"off","enabled":false`, `"name":"here","serverId":"` + server.ID + `"`} {
		r.want(t, 201, nil, r.admin, "POST", allHooks, `{`+h+`,"type":"say","config":{"text":"x"}}`)
	}
	r.want(t, 201, nil, ada, "POST", myHooks, `{"name":"own","type":"say","level":"meta","config":{"text":"x"}}`)
	explain := func(query string) (x rest.EffectiveHooks) {
		t.Helper()
		r.want(t, 200, &x, r.admin, "GET", allHooks+"/effective"+query, "")
		return x
	}
	names := func(list []rest.EffectiveHook) (all []string) {
		for _, h := range list {
			all = append(all, h.Name)
		}
		return all
	}
	x := explain("?user=ada&tool=echo&agent=ide")
	if x.User.ID != adaID || x.Tool.Access != "on" || x.Server.Name != "echoes" || x.Agent != "ide" {
		t.Errorf("got %+v", x)
	}
	if got := names(x.Outer); !slices.Equal(got, []string{"audit", "access_control", "own"}) {
		t.Errorf("outer: %v", got)
	}
	if got := names(x.Inner); !slices.Equal(got, []string{"audit", "access_control", "agent", "all", "here", "adas"}) {
		t.Errorf("inner: %v", got)
	}
	why := map[string]string{}
	for _, h := range x.Skipped {
		why[h.Name] = h.Why
	}
	if len(why) != 2 || !strings.Contains(why["other"], `"gh_*"`) || !strings.Contains(why["off"], "off") {
		t.Errorf("skipped: %v", why)
	}
	x = explain("")
	if x.User.Name != "root" || x.Tool != nil || len(x.Inner) != 0 || !slices.Equal(names(x.Outer), []string{"audit", "access_control"}) {
		t.Errorf("got %+v", x)
	}
	var tools rest.List[struct{ ID string }]
	r.want(t, 200, nil, r.admin, "PUT", "/v1/admin/users/"+adaID+"/servers/"+hidden.ID+"/preference", `{"enabled":true}`)
	r.want(t, 200, &tools, ada, "GET", "/v1/tools?server="+hidden.ID, "")
	if x = explain("?tool=" + tools.Items[0].ID); x.Tool.Access != "invisible" {
		t.Errorf("got %+v", x.Tool)
	}
	r.want(t, 404, nil, r.admin, "GET", allHooks+"/effective?tool=h_echo", "")
	r.want(t, 404, nil, r.admin, "GET", allHooks+"/effective?user=nobody", "")
}

// TestTryHook runs a hook that is not saved.
func TestTryHook(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var got rest.HookTrialResult
	r.want(t, 200, &got, r.admin, "POST", allHooks+"/test", `{"type":"say","config":{"text":"hello"},
		"call":{"tool":{"name":"x"},"args":{"n":12345678901234567890},"result":{"content":[]}}}`)
	if !slices.Equal(got.Warnings, []string{"hello"}) || string(got.After.Args) != `{"n":12345678901234567890}` || got.Rejected != nil {
		t.Errorf("got %+v", got)
	}
	r.want(t, 200, &got, r.admin, "POST", allHooks+"/test", `{"type":"stop","call":{}}`)
	if got.Rejected == nil || got.Rejected.Kind != core.HookRejected {
		t.Errorf("got %+v", got)
	}
	var p rest.Problem
	r.want(t, 422, &p, r.admin, "POST", allHooks+"/test", `{"type":"say","config":{"tetx":1},"call":{}}`)
	if len(p.Errors) == 0 || !strings.HasPrefix(p.Errors[0].Pointer, "/config/") {
		t.Errorf("got %+v", p)
	}
	var none rest.List[rest.Hook]
	r.want(t, 200, &none, r.admin, "GET", allHooks, "")
	if len(none.Items) != 0 {
		t.Errorf("the trial was saved: %+v", none.Items)
	}
}
