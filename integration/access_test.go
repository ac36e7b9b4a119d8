package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

// ways are all ways to the gateway of one caller, sessions already open.
func (s *instance) ways(t *testing.T, who caller) map[string]way {
	t.Helper()
	return map[string]way{
		"modern": viaMCP(join(t, s, who, "")),
		"legacy": viaMCP(join(t, s, who, legacy)),
		"sse":    viaMCP(join(t, s, who, oldest)),
		"rest":   s.viaREST(who),
	}
}

// eachWay runs f for every way; they are taken in turn.
func eachWay(t *testing.T, ways map[string]way, f func(t *testing.T, name string, w way)) {
	t.Helper()
	for _, name := range []string{"modern", "legacy", "sse", "rest"} {
		t.Run(name, func(t *testing.T) { f(t, name, ways[name]) })
	}
}

// realm is a registry with one server of each kind of visibility. Each offers one
// tool, NAME_echo, in a domain of its own, zone-NAME.
type realm struct {
	*instance
	ids      map[string]string // of the servers
	tools    map[string]string // their tools' ids
	ann, bob string            // ids of the users
	annToken string
	bobToken string
}

func newRealm(t *testing.T) *realm {
	t.Helper()
	r := &realm{instance: start(t, options{}), ids: map[string]string{}, tools: map[string]string{}}
	r.ann, r.annToken = r.user("ann", "dev")
	r.bob, r.bobToken = r.user("bob", "ops")
	for name, fields := range map[string][]any{
		"open":   nil,
		"roles":  {"requiredRoles", []string{"ops"}},
		"agents": {"agentAllowlist", []string{"claude"}},
		"hidden": {"visibility", "hidden"},
		"anns":   {"visibility", "user", "ownerId", r.ann},
		"asleep": nil,
	} {
		// All can see it while its tool's id is read.
		config := with(testserver(t, name), "domain", zone(name))
		r.ids[name] = r.register(config).ID
		r.tools[name] = r.toolID(name + "_echo")
		if len(fields) > 0 {
			r.must("PATCH", "/v1/admin/servers/"+r.ids[name], adminToken, with(nil, fields...), nil)
		}
	}
	r.must("PATCH", "/v1/admin/servers/"+r.ids["asleep"], adminToken, map[string]any{"status": "inactive"}, nil)
	r.grant(r.ann, "hidden", true)
	return r
}

func zone(server string) string { return "zone-" + server }

// grant switches a server for a user as an admin does.
func (r *realm) grant(user, server string, on bool) {
	r.t.Helper()
	r.must("PUT", "/v1/admin/users/"+user+"/servers/"+r.ids[server]+"/preference", adminToken, map[string]any{"enabled": on}, nil)
}

// flip switches a server for its user.
func (r *realm) flip(token, server string, on bool) {
	r.t.Helper()
	r.must("PUT", "/v1/servers/"+r.ids[server]+"/preference", token, map[string]any{"enabled": on}, nil)
}

// TestAccess holds what each caller sees against the rule, by every way.
func TestAccess(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	for _, tt := range []struct {
		name string
		who  caller
		sees []string
	}{
		{"ann", caller{r.annToken, ""}, []string{"anns", "hidden", "open"}},
		{"ann's agent", caller{r.annToken, "claude"}, []string{"agents", "anns", "hidden", "open"}},
		{"bob", caller{r.bobToken, ""}, []string{"open", "roles"}},
		{"bob's other agent", caller{r.bobToken, "cursor"}, []string{"open", "roles"}},
		{"an admin is no exception", caller{adminToken, ""}, []string{"open"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachWay(t, r.ways(t, tt.who), func(t *testing.T, name string, w way) { r.checkSees(t, w, name == "rest", tt.sees) })
			r.checkServers(t, tt.who, tt.sees)
			r.checkOffer(t, tt.who, tt.sees)
		})
	}
}

// checkSees wants a way to show these servers and nothing of the others.
func (r *realm) checkSees(t *testing.T, w way, rest bool, sees []string) {
	t.Helper()
	names := []string{}
	for _, s := range sees {
		names = append(names, s+"_echo")
	}
	if d := cmp.Diff(names, w.find(t, "answers with the arguments it was given")); d != "" {
		t.Errorf("found: %s", d)
	}
	if !rest {
		got := map[string]int{}
		for _, d := range w.try(t, "list_tool_domains", nil).listing(t).Domains {
			got[d.ID] = d.ToolCount
		}
		want := map[string]int{}
		for _, s := range sees {
			want[zone(s)] = 1
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("domains: %s", d)
		}
	}
	for server, id := range r.tools {
		browsed := w.try(t, "browse_tool_domain", map[string]any{"domain_id": zone(server)})
		if slices.Contains(sees, server) {
			if got := browsed.listing(t).names(); len(got) != 1 || got[0] != server+"_echo" {
				t.Errorf("domain %s has %v", server, got)
			}
			if o := w.try(t, "get_tool_schema", map[string]any{"tool_id": id}); o.Kind != "" {
				t.Errorf("schema of %s: %v", server, o)
			}
			if o := w.run(t, id, map[string]any{"x": 1}); o.Kind != "" || o.Text != "echo" {
				t.Errorf("call of %s: %v", server, o)
			}
			continue
		}
		if browsed.Kind != "not_found" && (!rest || len(browsed.listing(t).Tools) > 0) {
			t.Errorf("domain of invisible %s: %v", server, browsed)
		}
		checkUnknown(t, w, "get_tool_schema", id, server+"_echo")
		checkUnknown(t, w, "execute_tool", id, server+"_echo")
	}
}

// checkUnknown wants a tool that cannot be seen to be refused in the very words of
// one that does not exist.
func checkUnknown(t *testing.T, w way, action, id, name string) {
	t.Helper()
	ask := func(ref string) outcome {
		o := w.about(t, action, ref)
		o.Message = strings.ReplaceAll(o.Message, ref, "REF")
		return o
	}
	for hidden, unknown := range map[string]string{id: uuid.NewString(), name: "nobody_has_this"} {
		got, want := ask(hidden), ask(unknown)
		if got.Kind != "not_found" {
			t.Errorf("%s of invisible %s: %v", action, hidden, got)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s tells invisible %s from unknown: %s", action, hidden, d)
		}
	}
}

// about asks for a tool's schema, or runs it without arguments.
func (w way) about(t *testing.T, action, ref string) outcome {
	t.Helper()
	if action == "execute_tool" {
		return w.run(t, ref, nil)
	}
	return w.try(t, action, map[string]any{"tool_id": ref})
}

// checkServers wants REST to list these servers, and to deny that there are others.
func (r *realm) checkServers(t *testing.T, who caller, sees []string) {
	t.Helper()
	client := &http.Client{Transport: who}
	get := func(method, path string, body any) (int, string) {
		status, raw, err := sendBy(context.Background(), client, method, r.url+path, "", body)
		if err != nil {
			t.Fatal(err)
		}
		return status, string(raw)
	}
	_, raw := get("GET", "/v1/servers", nil)
	var names []string
	for _, s := range decode[struct{ Items []struct{ Name string } }](t, []byte(raw)).Items {
		names = append(names, s.Name)
	}
	if d := cmp.Diff(sees, names); d != "" {
		t.Errorf("servers: %s", d)
	}
	for server, id := range r.ids {
		if slices.Contains(sees, server) {
			continue
		}
		for _, q := range []struct {
			method, before, after string
			body                  any
		}{
			{"GET", "/v1/servers/", "/tools", nil},
			{"GET", "/v1/tools?server=", "", nil},
			{"PUT", "/v1/servers/", "/preference", map[string]any{"enabled": true}},
		} {
			unknown := uuid.NewString()
			status, got := get(q.method, q.before+id+q.after, q.body)
			_, want := get(q.method, q.before+unknown+q.after, q.body)
			if status != http.StatusNotFound {
				t.Errorf("%s %s%s%s: %d %s", q.method, q.before, server, q.after, status, got)
			}
			if d := cmp.Diff(withoutRequestID(strings.ReplaceAll(want, unknown, id)), withoutRequestID(got)); d != "" {
				t.Errorf("%s %s%s%s tells invisible from unknown: %s", q.method, q.before, server, q.after, d)
			}
		}
	}
}

// checkOffer wants the descriptions of the meta-tools to name these domains alone.
func (r *realm) checkOffer(t *testing.T, who caller, sees []string) {
	t.Helper()
	list, err := join(t, r.instance, who, legacy).ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	for server := range r.ids {
		if named, want := strings.Contains(string(raw), zone(server)), slices.Contains(sees, server); named != want {
			t.Errorf("tools/list names the domain of %s: %t, want %t", server, named, want)
		}
	}
}

func withoutRequestID(problem string) string {
	before, after, found := strings.Cut(problem, `"requestId":"`)
	if !found {
		return problem
	}
	_, after, _ = strings.Cut(after, `"`)
	return before + after
}

// TestSwitch switches servers while sessions are open: each change holds at the
// very next call, by every way.
func TestSwitch(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	ways := r.ways(t, caller{token: r.annToken})
	seen := func(t *testing.T, sees ...string) {
		t.Helper()
		eachWay(t, ways, func(t *testing.T, name string, w way) { r.checkSees(t, w, name == "rest", sees) })
	}
	seen(t, "anns", "hidden", "open")

	r.flip(r.annToken, "open", false)
	eachWay(t, ways, func(t *testing.T, name string, w way) { r.checkOff(t, w, name == "rest", "open") })
	for _, s := range r.rowsFor(t, r.annToken, "/v1/servers") {
		if s["name"] == "open" && s["enabled"] != false {
			t.Errorf("the list of servers has %v", s)
		}
	}
	if got := viaMCP(join(t, r.instance, caller{token: r.bobToken}, "")).run(t, r.tools["open"], nil); got.Kind != "" {
		t.Errorf("ann's switch stopped bob: %v", got)
	}
	r.flip(r.annToken, "open", true)
	seen(t, "anns", "hidden", "open")

	// What is switched off by its user stays granted; what an admin takes back is gone.
	r.flip(r.annToken, "hidden", false)
	eachWay(t, ways, func(t *testing.T, name string, w way) { r.checkOff(t, w, name == "rest", "hidden") })
	r.flip(r.annToken, "hidden", true)
	seen(t, "anns", "hidden", "open")

	// Everything else that access depends on.
	change := func(path string, body map[string]any) {
		t.Helper()
		r.must("PATCH", path, adminToken, body, nil)
	}
	change("/v1/admin/users/"+r.ann, map[string]any{"roles": []string{"dev", "ops"}})
	seen(t, "anns", "hidden", "open", "roles")
	change("/v1/admin/users/"+r.ann, map[string]any{"roles": []string{}})
	seen(t, "anns", "hidden", "open")
	change("/v1/admin/servers/"+r.ids["open"], map[string]any{"status": "inactive"})
	seen(t, "anns", "hidden")
	change("/v1/admin/servers/"+r.ids["asleep"], map[string]any{"status": "active"})
	seen(t, "anns", "asleep", "hidden")
	change("/v1/admin/servers/"+r.ids["anns"], map[string]any{"ownerId": r.bob})
	seen(t, "asleep", "hidden")
	change("/v1/admin/servers/"+r.ids["asleep"], map[string]any{"visibility": "hidden"})
	seen(t, "hidden")
	r.must("DELETE", "/v1/admin/servers/"+r.ids["hidden"], adminToken, nil, nil)
	seen(t)
}

// checkOff wants a server that was switched off to be gone from search, browsing
// and counts, and its tool to be refused with advice.
func (r *realm) checkOff(t *testing.T, w way, rest bool, server string) {
	t.Helper()
	if got := w.find(t, "answers with the arguments it was given"); slices.Contains(got, server+"_echo") {
		t.Errorf("found %v", got)
	}
	if !rest {
		for _, d := range w.try(t, "list_tool_domains", nil).listing(t).Domains {
			if d.ID == zone(server) {
				t.Errorf("the domains hold %v", d)
			}
		}
	}
	if o := w.try(t, "browse_tool_domain", map[string]any{"domain_id": zone(server)}); o.Kind != "not_found" && (!rest || len(o.listing(t).Tools) > 0) {
		t.Errorf("browsing: %v", o)
	}
	for _, action := range []string{"get_tool_schema", "execute_tool"} {
		for _, ref := range []string{r.tools[server], server + "_echo"} {
			o := w.about(t, action, ref)
			if o.Kind != "denied" || !strings.Contains(o.Hint, "/v1/servers/"+r.ids[server]+"/preference") {
				t.Errorf("%s of %s: %v", action, ref, o)
			}
		}
	}
}

// rowsFor reads a list that fits one page.
func (s *instance) rowsFor(t *testing.T, token, path string) []map[string]any {
	t.Helper()
	var page struct{ Items []map[string]any }
	s.must("GET", path, token, nil, &page)
	return page.Items
}

// TestInstances runs two on one database: what one saves holds at the very next
// call on the other.
func TestInstances(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	dir := t.TempDir()
	a, b := start(t, options{database: database, dataDir: dir}), start(t, options{database: database, dataDir: dir})
	_, token := a.user("ann")
	file := filepath.Join(t.TempDir(), "tools")
	offer := func(lines string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	offer("weigh Weighs a parcel in grams\n")
	r := a.register(testserver(t, "post", "-file", file, "-tools", "changed"))
	onA, onB := a.ways(t, caller{token: token}), b.ways(t, caller{token: token})
	want := []string{"post_changed", "post_weigh"}
	for range 3 {
		eachWay(t, onB, func(t *testing.T, _ string, w way) {
			if got := w.find(t, "weigh a parcel"); !slices.Equal(got, want) {
				t.Errorf("found %v, want %v", got, want)
			}
		})
		a.must("PUT", "/v1/servers/"+r.ID+"/preference", token, map[string]any{"enabled": false}, nil)
		eachWay(t, onB, func(t *testing.T, _ string, w way) {
			if got := w.find(t, "weigh a parcel"); len(got) > 0 {
				t.Errorf("found %v although it is off", got)
			}
			if o := w.run(t, "post_weigh", nil); o.Kind != "denied" {
				t.Errorf("call although it is off: %v", o)
			}
		})
		b.must("PUT", "/v1/servers/"+r.ID+"/preference", token, map[string]any{"enabled": true}, nil)
		eachWay(t, onA, func(t *testing.T, _ string, w way) {
			if o := w.run(t, "post_weigh", nil); o.Kind != "" {
				t.Errorf("call although it is on: %v", o)
			}
		})
	}
	offer("stamp Puts a stamp on a letter\n")
	onA["modern"].run(t, "post_changed", nil)
	eventually(t, "find the new tool on the other instance", func() error {
		if got := onB["legacy"].find(t, "put a stamp on a letter"); !slices.Contains(got, "post_stamp") || slices.Contains(got, "post_weigh") {
			return fmt.Errorf("found %v", got)
		}
		return nil
	})
	if o := onB["rest"].run(t, "post_stamp", nil); o.Kind != "" {
		t.Errorf("call of the new tool: %v", o)
	}
	if o := onB["modern"].run(t, "post_weigh", nil); o.Kind != "not_found" {
		t.Errorf("call of the removed tool: %v", o)
	}
}
