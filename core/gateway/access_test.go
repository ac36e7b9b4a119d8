package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/gateway"
)

// names calls an action that gives tools, and gives their names.
func (w *world) names(p person, action, args string) []string {
	w.t.Helper()
	raw, err := w.call(p, action, args)
	if err != nil {
		w.t.Fatalf("%s %s: %v", action, args, err)
	}
	var got struct{ Tools, Items []gateway.Tool }
	if err := json.Unmarshal(raw, &got); err != nil {
		w.t.Fatal(err)
	}
	names := []string{}
	for _, t := range append(got.Tools, got.Items...) {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

// domains gives what list_tool_domains counts.
func (w *world) domains(p person) map[string]int {
	w.t.Helper()
	raw, err := w.call(p, gateway.ListToolDomains, `{}`)
	if err != nil {
		w.t.Fatal(err)
	}
	var got gateway.Domains
	if err := json.Unmarshal(raw, &got); err != nil {
		w.t.Fatal(err)
	}
	counts := map[string]int{}
	for _, d := range got.Domains {
		counts[d.ID] = d.ToolCount
	}
	return counts
}

// sees is everything that shows a person which tools there are, by path.
func (w *world) sees(p person) map[string][]string {
	w.t.Helper()
	seen := map[string][]string{
		"search":  w.names(p, gateway.DiscoverTools, `{"query":"weather forecast","top_k":50}`),
		"rest":    w.names(p, gateway.ListTools, `{}`),
		"rest ?q": w.names(p, gateway.ListTools, `{"query":"weather forecast","limit":50}`),
	}
	for id, n := range w.domains(p) {
		seen["domain "+id] = w.names(p, gateway.BrowseToolDomain, fmt.Sprintf(`{"domain_id":%q}`, id))
		if len(seen["domain "+id]) != n {
			w.t.Errorf("domain %s counts %d and lists %v", id, n, seen["domain "+id])
		}
	}
	return seen
}

// TestTwoUsers: every path shows each user their own tools and no others, and
// what they may not see is as if it did not exist.
func TestTwoUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, bob := w.person("ann", "ops"), w.person("bob", "admin")
	forecast := func(name string) tool { return tool{name, `{"type":"object"}`, "The weather forecast of " + name} }
	url := newRawUpstream(t, func(json.RawMessage) string { return `{"content":[]}` })
	add := func(s core.Server, name string) (core.Server, string) {
		s.URL, s.Name = url, name
		s, ids := w.server(s, forecast(name))
		return s, ids[name]
	}
	open, openID := add(core.Server{Domain: "a"}, "open")
	hidden, hiddenID := add(core.Server{Domain: "a", Visibility: core.Hidden}, "hidden")
	_, annsID := add(core.Server{Domain: "b", Visibility: core.Owned, OwnerID: ann.ID}, "anns")
	_, opsID := add(core.Server{Domain: "c", RequiredRoles: []string{"ops"}}, "ops")
	_, agentID := add(core.Server{Domain: "c", AgentAllowlist: []string{"agent-of-bob"}}, "agents")
	_, goneID := add(core.Server{Domain: "d", Status: core.Inactive}, "gone")

	everywhere := func(all []string, byDomain map[string][]string) map[string][]string {
		m := map[string][]string{"search": all, "rest": all, "rest ?q": all}
		for d, names := range byDomain {
			m["domain "+d] = names
		}
		return m
	}
	check := func(step string, p person, want map[string][]string) {
		t.Helper()
		if diff := cmp.Diff(w.sees(p), want); diff != "" {
			t.Errorf("%s: %s sees (-got +want):\n%s", step, p.Name, diff)
		}
	}
	check("at first", ann, everywhere([]string{"anns", "open", "ops"}, map[string][]string{"a": {"open"}, "b": {"anns"}, "c": {"ops"}}))
	check("at first", bob, everywhere([]string{"agents", "open"}, map[string][]string{"a": {"open"}, "c": {"agents"}}))

	may := func(p person, id string, want string) {
		t.Helper()
		for _, action := range []string{gateway.ExecuteTool, gateway.GetToolSchema} {
			_, err := w.call(p, action, fmt.Sprintf(`{"tool_id":%q}`, id))
			got := "on"
			if err != nil {
				got = strings.ReplaceAll(core.Public(err).Error()+" "+core.Public(err).Hint+core.Public(err).ToolID, id, "ID")
			}
			if got != want {
				t.Errorf("%s %s: got %q, want %q", p.Name, action, got, want)
			}
		}
	}
	const nowhere = "01234567-89ab-7def-8123-456789abcdef"
	const notFound = `not_found: there is no tool "ID" find tools with discover_tools`
	may(ann, nowhere, notFound)
	for _, id := range []string{hiddenID, agentID, goneID} {
		may(ann, id, notFound)
		may(ann, strings.ToUpper(id), notFound)
	}
	for _, id := range []string{hiddenID, annsID, opsID, goneID} {
		may(bob, id, notFound)
	}
	for name, id := range map[string]string{"hidden": hiddenID, "agents": agentID, "gone": goneID} {
		if _, err := w.call(ann, gateway.ExecuteTool, fmt.Sprintf(`{"tool_id":%q}`, name)); !errors.Is(err, core.NotFound) {
			t.Errorf("%s (%s) by name: %v", name, id, err)
		}
	}
	may(ann, openID, "on")

	// Ann switches a server off for herself: at her next call, and for her alone.
	if _, err := w.call(ann, gateway.SetPreference, fmt.Sprintf(`{"server_id":%q,"enabled":false}`, open.ID)); err != nil {
		t.Fatal(err)
	}
	off := fmt.Sprintf(`denied: the server "open" is switched off for you switch it on with PUT /v1/servers/%s/preference {"enabled": true}ID`, open.ID)
	check("switched off", ann, everywhere([]string{"anns", "ops"}, map[string][]string{"b": {"anns"}, "c": {"ops"}}))
	may(ann, openID, off)
	may(bob, openID, "on")
	if _, err := w.call(ann, gateway.ServerTools, fmt.Sprintf(`{"server_id":%q}`, open.ID)); !errors.Is(err, core.Denied) {
		t.Errorf("tools of a server that is off: %v", err)
	}
	if _, err := w.call(ann, gateway.SetPreference, fmt.Sprintf(`{"server_id":%q,"enabled":true}`, open.ID)); err != nil {
		t.Fatal(err)
	}
	may(ann, openID, "on")

	// An admin grants the hidden server to Ann, she switches it off: off, not invisible.
	if _, err := w.call(ann, gateway.SetPreference, fmt.Sprintf(`{"server_id":%q,"enabled":true}`, hidden.ID)); !errors.Is(err, core.NotFound) {
		t.Errorf("ann grants herself a hidden server: %v", err)
	}
	on, no := true, false
	if err := w.store.SetPreference(t.Context(), by, ann.ID, hidden.ID, core.Preference{Granted: true, Enabled: &on}); err != nil {
		t.Fatal(err)
	}
	may(ann, hiddenID, "on")
	if err := w.store.SetPreference(t.Context(), by, ann.ID, hidden.ID, core.Preference{Granted: true, Enabled: &no}); err != nil {
		t.Fatal(err)
	}
	may(ann, hiddenID, strings.ReplaceAll(strings.ReplaceAll(off, `"open"`, `"hidden"`), open.ID, hidden.ID))

	// A role that is taken away bites at the next call.
	ann.Roles = nil
	if _, err := w.store.UpdateUser(t.Context(), by, ann.User); err != nil {
		t.Fatal(err)
	}
	may(ann, opsID, notFound)

	// So does a server that is deactivated.
	open.Status = core.Inactive
	if _, err := w.store.UpdateServer(t.Context(), by, open); err != nil {
		t.Fatal(err)
	}
	may(bob, openID, notFound)
	check("at last", bob, everywhere([]string{"agents"}, map[string][]string{"c": {"agents"}}))
}

// TestDeniedCallsAreAudited: whom the row names is the truth, even about what the
// caller may not see.
func TestDeniedCallsAreAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	hidden, ids := w.server(core.Server{Name: "up", Visibility: core.Hidden})
	_, req, err := w.traced(ann, gateway.ExecuteTool, asked(ids["echo"], `{"text":"x"}`))
	if !errors.Is(err, core.NotFound) {
		t.Fatal(err)
	}
	if got, want := w.trace(req), "meta execute_tool denied not_found up/echo by ann with agent-of-ann"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, req, err = w.traced(ann, gateway.SetPreference, fmt.Sprintf(`{"server_id":%q,"enabled":true}`, hidden.ID))
	if !errors.Is(err, core.NotFound) {
		t.Fatal(err)
	}
	if got, want := w.trace(req), "config set_preference denied not_found / by ann with agent-of-ann"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPreferenceIsOneConfigRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	s, _ := w.server(core.Server{Name: "up"})
	raw, req, err := w.traced(ann, gateway.SetPreference, fmt.Sprintf(`{"server_id":%q,"enabled":false}`, s.ID))
	if err != nil || !strings.Contains(string(raw), `"enabled":false`) {
		t.Fatalf("got %s, %v", raw, err)
	}
	if got, want := w.trace(req), "config set_preference ok  up/ by ann with agent-of-ann"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAmbiguousNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	one, first := w.server(core.Server{Name: "one"})
	_, second := w.server(core.Server{Name: "two"})
	_, third := w.server(core.Server{Name: "three", Visibility: core.Hidden})
	_, err := w.call(ann, gateway.ExecuteTool, asked("echo", `{"text":"x"}`))
	var e *core.Error
	if !errors.As(err, &e) || e.Kind != core.Conflict {
		t.Fatalf("got %v", err)
	}
	want := []string{first["echo"], second["echo"]}
	slices.Sort(want)
	if diff := cmp.Diff(e.Candidates, want); diff != "" || slices.Contains(e.Candidates, third["echo"]) {
		t.Error(diff)
	}
	if _, err := w.call(ann, gateway.SetPreference, fmt.Sprintf(`{"server_id":%q,"enabled":false}`, one.ID)); err != nil {
		t.Fatal(err)
	}
	raw, err := w.call(ann, gateway.GetToolSchema, `{"tool_id":"echo"}`)
	if err != nil || !strings.Contains(string(raw), second["echo"]) {
		t.Errorf("got %s, %v", raw, err)
	}
}
