package rest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/mcpserver/rest"
)

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
