package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/events"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/hooks"
)

// streaming is a world whose gateway has a bus.
func streaming(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, func(c *gateway.Config) { c.Events = runBus(t, events.Config{Store: c.Store}) })
	return w
}

func runBus(t testing.TB, c events.Config) *events.Bus {
	t.Helper()
	bus := events.New(c)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- bus.Run(ctx) }()
	go func() { ended <- c.Store.Listen(ctx, bus.Notice) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, <-ended, bus.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return bus
}

// follow opens a stream for somebody.
func (w *world) follow(p person, args string) *gateway.EventStream {
	w.t.Helper()
	again := func(ctx context.Context) (core.Principal, error) { return w.store.Authenticate(ctx, p.hash) }
	s, err := w.gateway.Events(w.t.Context(), w.request(p), gateway.Call{Via: core.LevelHTTP, Args: json.RawMessage(args)}, again)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(s.Close)
	return s
}

// until gives the events up to the nth of a type, without those of opening streams.
// It reads no further than the batch of that.
func until(t *testing.T, s *gateway.EventStream, typ string, nth int) []core.Event {
	t.Helper()
	var all []core.Event
	for nth > 0 {
		batch, err := s.Next(t.Context())
		if err != nil {
			t.Fatalf("after %v: %v", kinds(all), err)
		}
		for _, e := range batch.Events {
			if e.Subject == gateway.StreamEvents {
				continue
			}
			all = append(all, e)
			if e.Type == typ {
				nth--
			}
		}
	}
	return all
}

func kinds(list []core.Event) []string {
	var types []string
	for _, e := range list {
		types = append(types, e.Type+" "+e.Subject)
	}
	return types
}

func TestAnnounced(t *testing.T) {
	t.Parallel()
	w := streaming(t)
	ann, root := w.person("ann"), w.person("root", core.RoleAdmin)
	server, ids := w.server(core.Server{Name: "one", Prefix: "x_"})
	s := w.follow(ann, `{"types":["meta:*","tool:*"]}`)
	all := w.follow(root, `{"types":["meta:*","tool:*"]}`)

	if _, err := w.call(ann, gateway.ExecuteTool, `{"tool_id":"`+ids["echo"]+`","params":{"text":"hidden word"}}`); err != nil {
		t.Fatal(err)
	}
	got := until(t, s, core.EventMetaAfter, 1)
	want := []string{"meta:before execute_tool", "tool:before x_echo", "tool:after x_echo", "meta:after execute_tool"}
	if d := cmp.Diff(kinds(got), want); d != "" {
		t.Errorf("(-got +want)\n%s", d)
	}
	for _, e := range got {
		if e.UserID != ann.ID || strings.Contains(string(e.Data), "hidden word") {
			t.Errorf("%s: user %q, data %s", e.Type, e.UserID, e.Data)
		}
	}
	var data map[string]any
	if err := json.Unmarshal(got[2].Data, &data); err != nil {
		t.Fatal(err)
	}
	if ms, ok := data["durationMs"].(float64); !ok || ms <= 0 {
		t.Errorf("durationMs is %v", data["durationMs"])
	}
	delete(data, "durationMs")
	if d := cmp.Diff(data, map[string]any{"requestId": data["requestId"], "action": "execute_tool", "agent": "agent-of-ann", "tool": "x_echo",
		"toolId": ids["echo"], "server": "one", "serverId": server.ID, "args": map[string]any{"text": "string(11)"}, "outcome": "ok"}); d != "" {
		t.Errorf("(-got +want)\n%s", d)
	}
	if d := cmp.Diff(kinds(until(t, all, core.EventMetaAfter, 1)), want); d != "" {
		t.Errorf("an admin sees (-got +want)\n%s", d)
	}
}

func TestAnnounced_rejected(t *testing.T) {
	t.Parallel()
	w := streaming(t)
	w.hooks = []hooks.Entry{{Name: "no-fail", Type: "fixture", Level: hooks.Tool, Pattern: "fail", Hook: rejecting{}}}
	ann, root := w.person("ann"), w.person("root", core.RoleAdmin)
	_, ids := w.server(core.Server{Name: "one"})
	_, secret := w.server(core.Server{Name: "two", Visibility: core.Hidden, Prefix: "two_"})
	mine, all := w.follow(ann, `{"types":["tool:*"]}`), w.follow(root, `{"types":["tool:*"]}`)

	if _, err := w.call(ann, gateway.ExecuteTool, `{"tool_id":"`+ids["fail"]+`"}`); !errors.Is(err, core.HookRejected) {
		t.Fatalf("got %v", err)
	}
	if _, err := w.call(ann, gateway.ExecuteTool, `{"tool_id":"`+secret["echo"]+`"}`); !errors.Is(err, core.NotFound) {
		t.Fatalf("got %v", err)
	}
	if _, err := w.call(ann, gateway.ExecuteTool, `{"tool_id":"`+ids["ghost"]+`","params":{}}`); err == nil {
		t.Fatal("the ghost answered")
	}
	rejected := []string{"tool:before fail", "tool:rejected fail", "tool:after fail"}
	unseen := []string{"tool:before two_echo", "tool:rejected two_echo", "tool:after two_echo"}
	ghost := []string{"tool:before ghost", "tool:after ghost"}
	got := until(t, mine, core.EventToolAfter, 2)
	if d := cmp.Diff(kinds(got), append(append([]string{}, rejected...), ghost...)); d != "" {
		t.Errorf("ann sees (-got +want)\n%s", d)
	}
	if data := string(got[1].Data); !strings.Contains(data, `"rejectedBy":["no-fail"]`) || !strings.Contains(data, `"outcome":"rejected","errorKind":"hook_rejected"`) {
		t.Errorf("got %s", data)
	}
	got = until(t, all, core.EventToolAfter, 3)
	if d := cmp.Diff(kinds(got), append(append(append([]string{}, rejected...), unseen...), ghost...)); d != "" {
		t.Errorf("an admin sees (-got +want)\n%s", d)
	}
	for _, e := range got[3:6] {
		if e.UserID != "" || e.ServerID != "" || !strings.Contains(string(e.Data), secret["echo"]) {
			t.Errorf("an event about a hidden tool is of user %q and server %q: %s", e.UserID, e.ServerID, e.Data)
		}
	}
}

// rejecting is a hook that lets nothing through.
type rejecting struct{}

func (rejecting) Before(context.Context, *hooks.Call) error {
	return hooks.Reject(core.HookRejected, "not today")
}

func (rejecting) After(context.Context, *hooks.Call) error { return nil }

// TestVisibleEvents: everybody sees what is theirs and what is nobody's about a
// server that they can see, also one that has just come into their sight. Nobody
// learns of a change but admins and who made it.
func TestVisibleEvents(t *testing.T) {
	t.Parallel()
	w := streaming(t)
	ann, bob, root := w.person("ann"), w.person("bob"), w.person("root", core.RoleAdmin)
	streams := map[string]*gateway.EventStream{}
	for _, p := range []person{ann, bob, root} {
		streams[p.Name] = w.follow(p, `{}`)
	}
	ctx := t.Context()
	open, _ := w.server(core.Server{Name: "open"})
	hidden, _ := w.server(core.Server{Name: "hidden", Visibility: core.Hidden})
	health := core.Health{State: core.Healthy, Since: time.Now()}
	for _, s := range []core.Server{open, hidden} {
		if err := w.own.SetHealth(ctx, s.ID, health); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.own.SetPreference(ctx, core.AuditEntry{Action: "preference.set", ActorID: root.ID}, ann.ID, hidden.ID, core.Preference{Granted: true}); err != nil {
		t.Fatal(err)
	}
	health.State, health.Since = core.Down, time.Now()
	if err := w.own.SetHealth(ctx, hidden.ID, health); err != nil {
		t.Fatal(err)
	}
	for _, e := range []core.Event{{Type: "own", UserID: ann.ID}, {Type: "own", UserID: bob.ID}, {Type: "nobody's"},
		{Type: "about", ServerID: open.ID}, {Type: "end", ServerID: open.ID}} {
		if err := w.gateway.Bus().PublishSync(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string][]string{
		"ann": {"tools:changed open", "tools:changed hidden", "server:connected open", "server:connected hidden",
			"server:failed hidden", "own ", "about ", "end "},
		"bob": {"tools:changed open", "server:connected open", "own ", "about ", "end "},
		"root": {"config:changed open", "tools:changed open", "config:changed hidden", "tools:changed hidden", "server:connected open",
			"server:connected hidden", "config:changed hidden", "server:failed hidden", "own ", "own ", "nobody's ", "about ", "end "},
	} {
		if d := cmp.Diff(kinds(until(t, streams[name], "end", 1)), want); d != "" {
			t.Errorf("%s sees (-got +want)\n%s", name, d)
		}
	}
}

// TestStreamEnds when its reader's token is revoked, and narrows when they lose
// the role that showed more.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	w := streaming(t)
	root, _ := w.person("root", core.RoleAdmin), w.person("other", core.RoleAdmin)
	s := w.follow(root, `{"types":["n"]}`)
	idle, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Next(idle); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	root.Roles = nil
	if _, err := w.store.UpdateUser(t.Context(), by, root.User); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(idle); !errors.Is(err, context.Canceled) { // as at every heartbeat
		t.Fatalf("got %v", err)
	}
	for _, e := range []core.Event{{Type: "n", Subject: "secret"}, {Type: "n", Subject: "own", UserID: root.ID}} {
		if err := w.gateway.Bus().PublishSync(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if batch, err := s.Next(t.Context()); err != nil || len(batch.Events) != 1 || batch.Events[0].Subject != "own" {
		t.Errorf("got %+v, %v", batch, err)
	}
	tokens, err := w.store.Tokens(t.Context(), "", root.ID, core.Page{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.RevokeToken(t.Context(), by, "", root.ID, tokens.Items[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(idle); !errors.Is(err, core.Unauthenticated) {
		t.Errorf("got %v", err)
	}
}

func TestStreams_bounded_and_audited(t *testing.T) {
	t.Parallel()
	w := streaming(t)
	ann, bob := w.person("ann"), w.person("bob")
	again := func(ctx context.Context) (core.Principal, error) { return w.store.Authenticate(ctx, ann.hash) }
	var open []*gateway.EventStream
	for range 16 {
		open = append(open, w.follow(ann, `{}`))
	}
	req := w.request(ann)
	if _, err := w.gateway.Events(t.Context(), req, gateway.Call{Via: core.LevelHTTP}, again); !errors.Is(err, core.RateLimited) {
		t.Errorf("got %v", err)
	}
	if rows, _ := w.rows(req); len(rows) != 1 || rows[0].Action != gateway.StreamEvents || rows[0].Outcome != core.OutcomeRejected || rows[0].Level != core.LevelHTTP {
		t.Errorf("the audit has %+v", rows)
	}
	w.follow(bob, `{}`)
	open[0].Close()
	w.follow(ann, `{}`)
	for _, args := range []string{`{"after":-1}`, `{"after":"x"}`, `{"types":[""]}`, `{"more":1}`} {
		if _, err := w.gateway.Events(t.Context(), w.request(bob), gateway.Call{Args: json.RawMessage(args)}, again); !errors.Is(err, core.InvalidParams) {
			t.Errorf("%s: got %v", args, err)
		}
	}
	if _, err := w.call(bob, gateway.StreamEvents, `{}`); !errors.Is(err, core.Unavailable) {
		t.Errorf("got %v", err)
	}
}

// TestStream_answered_by_a_hook is no stream, and says so.
func TestStream_answered_by_a_hook(t *testing.T) {
	t.Parallel()
	w := streaming(t)
	ann := w.person("ann")
	w.hooks = []hooks.Entry{{Name: "answers", Level: hooks.Meta, Hook: funcs{before: func(_ context.Context, c *hooks.Call) error {
		c.Result = json.RawMessage(`{}`)
		return nil
	}}}}
	_, err := w.gateway.Events(t.Context(), w.request(ann), gateway.Call{Via: core.LevelHTTP}, nil)
	if told := core.Public(err); told.Kind != core.HookRejected || !strings.Contains(told.Hint, gateway.StreamEvents) {
		t.Errorf("got %v", err)
	}
}

// hearing is a hook that passes on the events it is handed.
type hearing struct {
	funcs
	heard chan core.Event
}

func (h hearing) Handle(_ context.Context, e core.Event) error {
	h.heard <- e
	return nil
}

// TestRejectionsReachHooks: a hook can act on calls that others refused, whether
// anybody else listens or not. A user's hook hears of that user's, if the user may
// know of the tool.
func TestRejectionsReachHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	_, ids := w.server(core.Server{Name: "up"})
	_, hidden := w.server(core.Server{Name: "hidden", Prefix: "h_", Visibility: core.Hidden})
	everyones, anns := make(chan core.Event, 10), make(chan core.Event, 10)
	no := func(context.Context, *hooks.Call) error { return hooks.Reject(core.HookRejected, "no") }
	w.hooks = []hooks.Entry{
		{Name: "no", Level: hooks.Tool, Pattern: "fail", Hook: funcs{before: no}},
		{Name: "everyone's", Events: []hooks.Event{core.EventToolRejected}, Hook: hearing{heard: everyones}},
		{Name: "ann's", UserID: ann.ID, Events: []hooks.Event{core.EventToolRejected}, Hook: hearing{heard: anns}},
	}
	for _, call := range []struct {
		by   person
		tool string
	}{{ann, ids["echo"]}, {bob, ids["fail"]}, {ann, hidden["echo"]}, {ann, ids["fail"]}} {
		w.call(call.by, gateway.ExecuteTool, `{"tool_id":"`+call.tool+`","params":{"text":"x"}}`)
	}
	var told []string
	for range 3 {
		e := <-everyones
		var d struct {
			Tool       string
			RejectedBy []string
		}
		if err := json.Unmarshal(e.Data, &d); err != nil || e.Type != core.EventToolRejected || e.Subject != d.Tool {
			t.Errorf("%+v, %v", e, err)
		}
		told = append(told, d.Tool+" by "+strings.Join(d.RejectedBy, " "))
	}
	slices.Sort(told) // hooks are handed events in the background
	if diff := cmp.Diff(told, []string{"fail by no", "fail by no", "h_echo by access_control"}); diff != "" {
		t.Error(diff)
	}
	if e := <-anns; e.UserID != ann.ID || e.Subject != "fail" {
		t.Errorf("%+v", e)
	}
	if err := w.set.Close(t.Context()); err != nil || len(everyones)+len(anns) > 0 {
		t.Errorf("%d and %d more (%v)", len(everyones), len(anns), err)
	}
}

// BenchmarkAnnounce is what announcing adds to a call.
func BenchmarkAnnounce(b *testing.B) {
	for _, listening := range []bool{false, true} {
		b.Run(fmt.Sprintf("listening=%v", listening), func(b *testing.B) {
			w := newWorld(b, func(c *gateway.Config) { c.Events = runBus(b, events.Config{Store: c.Store, Queue: 1 << 20}) })
			server, _ := w.server(core.Server{Name: "one"})
			c := &hooks.Call{RequestID: "r", Level: hooks.Tool, Action: gateway.ExecuteTool, Server: &server, Tool: &core.Tool{ID: "t", Name: "echo"},
				Args: json.RawMessage(`{"owner":"o","repo":"r","title":"something","body":"` + strings.Repeat("x", 1000) + `"}`)}
			c.Principal.Seen.Listening = listening
			b.ReportAllocs()
			for b.Loop() {
				w.gateway.Announced(c)
			}
		})
	}
}
