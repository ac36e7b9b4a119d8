package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/access"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/core/postgres"
)

func TestDiscover(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	s, ids := w.server(core.Server{Name: "up", Description: "Talks back.", Domain: "talk"})
	raw, req, err := w.traced(ann, gateway.DiscoverTools, `{"query":"repeat a text"}`)
	if err != nil {
		t.Fatal(err)
	}
	var got gateway.Discovery
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Tools) == 0 || got.Tools[0].ID != ids["echo"] {
		t.Fatalf("got %s", raw)
	}
	first := got.Tools[0]
	if first.Signature != "(text: string, n?: integer)" || first.Domain != "talk" || first.ServerID != s.ID || first.Score == nil ||
		first.InputSchema != nil || len(first.Description) > 300 || !strings.HasSuffix(first.Description, "again.") {
		t.Errorf("got %+v", first)
	}
	if diff := cmp.Diff(got.Servers, map[string]gateway.ToolServer{s.ID: {ID: s.ID, Name: "up", Description: "Talks back."}}); diff != "" {
		t.Error(diff)
	}
	if got.Degraded != "vectors" {
		t.Errorf("degraded is %q, want vectors", got.Degraded)
	}
	if got, want := w.trace(req), "meta discover_tools ok  / by ann with agent-of-ann"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDiscoverDetail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	w.server(core.Server{Name: "up"})
	for detail, want := range map[string]string{
		"brief":     "signature false schema false",
		"signature": "signature true schema false",
		"full":      "signature false schema true",
	} {
		raw, err := w.call(ann, gateway.DiscoverTools, fmt.Sprintf(`{"query":"repeat","top_k":1,"detail":%q}`, detail))
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("signature %v schema %v", strings.Contains(string(raw), `"signature":`), strings.Contains(string(raw), `"inputSchema":`+echoSchema))
		if got != want {
			t.Errorf("%s: got %s, want %s in %s", detail, got, want, raw)
		}
	}
}

// TestNumbersInAnySpelling: a whole number is one however a client writes it.
func TestNumbersInAnySpelling(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	w.server(core.Server{Name: "up", Domain: "talk"})
	for _, two := range []string{"2", "2.0", "2e0", "0.2e1"} {
		for action, args := range map[string]string{
			gateway.DiscoverTools:    `{"query":"a text","top_k":` + two + `}`,
			gateway.BrowseToolDomain: `{"domain_id":"talk","limit":` + two + `}`,
			gateway.ListTools:        `{"limit":` + two + `}`,
		} {
			raw, err := w.call(ann, action, args)
			if err != nil {
				t.Errorf("%s %s: %v", action, args, err)
			} else if got := strings.Count(string(raw), `"signature":`); got != 2 {
				t.Errorf("%s %s gives %d tools, want 2", action, args, got)
			}
		}
	}
}

func TestDiscoverFindsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	raw, err := w.call(ann, gateway.DiscoverTools, `{"query":"anything"}`)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(raw), `{"tools":[],"servers":{},"suggestion":"`) {
		t.Errorf("got %s", raw)
	}
}

func TestToolSchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	s, ids := w.server(core.Server{Name: "up", Domain: "talk"}, tool{"echo", `{"type":"object","properties":{"a":{"const":9007199254740993,"title":"<b>"}}}`, "Repeats."})
	raw, err := w.call(ann, gateway.GetToolSchema, fmt.Sprintf(`{"tool_id":%q}`, ids["echo"]))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"id": `"` + ids["echo"] + `"`, "name": `"echo"`, "description": `"Repeats."`, "domain": `"talk"`,
		"serverId": `"` + s.ID + `"`, "serverName": `"up"`, "annotations": `{"readOnlyHint":true,"x-n":1.0}`,
		"inputSchema": `{"type":"object","properties":{"a":{"const":9007199254740993,"title":"<b>"}}}`}
	for key, value := range want {
		if string(got[key]) != value {
			t.Errorf("%s is %s, want %s", key, got[key], value)
		}
	}
	if len(got) != len(want)+1 || len(got["schemaHash"]) != 66 {
		t.Errorf("got %s", raw)
	}
}

func TestBrowse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	var tools []tool
	for i := range 25 {
		tools = append(tools, tool{fmt.Sprintf("t%02d", i), `{"type":"object"}`, "A tool."})
	}
	w.server(core.Server{Name: "up", Domain: "many"}, tools...)
	var all []string
	cursor, pages := "", 0
	for pages < 10 {
		raw, err := w.call(ann, gateway.BrowseToolDomain, fmt.Sprintf(`{"domain_id":"many","limit":10,"cursor":%q}`, cursor))
		if err != nil {
			t.Fatal(err)
		}
		var page gateway.Browsing
		if err := json.Unmarshal(raw, &page); err != nil {
			t.Fatal(err)
		}
		pages++
		for _, tool := range page.Tools {
			all = append(all, tool.Name)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if pages != 3 || len(all) != 25 || all[0] != "t00" || all[24] != "t24" {
		t.Errorf("%d pages: %v", pages, all)
	}
	for args, kind := range map[string]core.Kind{
		`{"domain_id":"nowhere"}`:             core.NotFound,
		`{"domain_id":"many","limit":0}`:      core.InvalidParams,
		`{"domain_id":"many","limit":201}`:    core.InvalidParams,
		`{"domain_id":"many","cursor":"x"}`:   core.InvalidParams,
		`{"domain_id":"many","cursor":"e30"}`: core.InvalidParams,
		`{}`:                                  core.InvalidParams,
	} {
		if _, err := w.call(ann, gateway.BrowseToolDomain, args); !errors.Is(err, kind) {
			t.Errorf("%s: got %v, want %s", args, err, kind)
		}
	}
}

func TestListServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	for _, name := range []string{"c", "a", "b"} {
		w.server(core.Server{Name: name, URL: "http://127.0.0.1:1/secret", Headers: map[string]string{"Authorization": "Bearer secret"}}, usualTools[0])
	}
	w.server(core.Server{Name: "hidden", Visibility: core.Hidden})
	var names []string
	cursor := ""
	for range 4 {
		raw, err := w.call(ann, gateway.ListServers, fmt.Sprintf(`{"limit":2,"cursor":%q}`, cursor))
		if err != nil || strings.Contains(string(raw), "secret") {
			t.Fatalf("%s, %v", raw, err)
		}
		var page core.List[gateway.Server]
		if err := json.Unmarshal(raw, &page); err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Items {
			names = append(names, fmt.Sprintf("%s %v %d", s.Name, s.Enabled, s.ToolCount))
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(names, []string{"a true 1", "b true 1", "c true 1"}); diff != "" {
		t.Error(diff)
	}
	if _, err := w.call(ann, gateway.ListServers, `{"cursor":"!"}`); !errors.Is(err, core.InvalidParams) {
		t.Errorf("bad cursor: %v", err)
	}
}

func TestMetaToolsNameTheDomains(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	w.server(core.Server{Name: "one", Domain: "small"}, usualTools[0])
	w.server(core.Server{Name: "two", Domain: "large"}, usualTools...)
	w.server(core.Server{Name: "three", Domain: "private", Visibility: core.Owned, OwnerID: bob.ID})
	describe := func(p person) string {
		tools, err := w.gateway.MetaTools(t.Context(), w.request(p).Principal)
		if err != nil || len(tools) != 5 {
			t.Fatalf("%d tools, %v", len(tools), err)
		}
		return tools[0].Description
	}
	if got := describe(ann); !strings.HasSuffix(got, "Largest domains: large, small.") {
		t.Error(got)
	}
	if got := describe(bob); !strings.HasSuffix(got, "Largest domains: large, private, small.") || got != describe(bob) {
		t.Error(got)
	}
}

func TestUnknownAction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, req, err := w.traced(w.person("ann"), "delete_everything", `{}`)
	if !errors.Is(err, core.NotFound) {
		t.Errorf("got %v", err)
	}
	if got := w.trace(req); !strings.Contains(got, "delete_everything denied not_found") {
		t.Error(got)
	}
}

func TestNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.gateway.Call(t.Context(), core.Request{ID: "r"}, gateway.Call{Action: gateway.ListToolDomains, Via: core.LevelMeta})
	if !errors.Is(err, core.Unauthenticated) {
		t.Errorf("got %v", err)
	}
}

func TestAccessFailsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *gateway.Config) {
		gone, err := postgres.Open(t.Context(), "postgres://nobody@127.0.0.1:1/nowhere", postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(gone.Close)
		c.Access = access.New(access.Config{Store: gone})
	})
	ann := w.person("ann")
	_, ids := w.server(core.Server{Name: "up"})
	_, req, err := w.traced(ann, gateway.ExecuteTool, asked(ids["echo"], `{"text":"x"}`))
	if !errors.Is(err, core.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	if got := w.trace(req); !strings.Contains(got, "failed unavailable") {
		t.Error(got)
	}
}
