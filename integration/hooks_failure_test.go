package integration_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

// bad are hooks that go wrong in all the ways that a script can.
var bad = map[string]string{
	"fails":          "def before_call(ctx, request):\n    request.arguments[\"x\"] = 1\n    fail(\"oops\")\n",
	"fails after":    "def after_call(ctx, result):\n    fail(\"oops\")\n",
	"loops for ever": "def before_call(ctx, request):\n    while True:\n        pass\n",
	"eats memory":    "def after_call(ctx, result):\n    return \"x\" * (1 << 40)\n",
	"garbage before": "def before_call(ctx, request):\n    return [1]\n",
	"garbage after":  "def after_call(ctx, result):\n    return {\"content\": \"nothing\"}\n",
	"no result":      "def after_call(ctx, result):\n    return 7\n",
	"wrong method":   "def before_call(ctx, request):\n    request.nothing()\n",
}

// TestHooksFail has hooks go wrong in every way on both levels, and looks at what
// the caller gets: with fail an error, with ignore the answer as it would have been,
// and a warning.
func TestHooksFail(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.register(testserver(t, "a"))
	for _, protocol := range []string{"", legacy} {
		w := viaMCP(join(t, s, caller{token: adminToken}, protocol))
		plain := w.run(t, "a_echo", map[string]any{"n": 1}).bare(t)
		for name, source := range bad {
			for _, level := range []string{"tool", "meta"} {
				t.Run(fmt.Sprintf("%s %s %s", protocol, name, level), func(t *testing.T) {
					h := s.addHook(starlark("bad one", source, "level", level, "onError", "fail", "pattern", "*e*"))
					defer s.dropHook(h)
					if o := w.run(t, "a_echo", map[string]any{"n": 1}); o.Kind != "internal" && o.Kind != "timeout" || strings.Contains(o.String(), "oops") {
						t.Errorf("fail: %v", o)
					}
					s.must("PATCH", "/v1/admin/hooks/"+h.ID, adminToken, map[string]any{"onError": "ignore"}, nil)
					o := w.run(t, "a_echo", map[string]any{"n": 1})
					if got := o.bare(t); got != plain {
						t.Errorf("ignore: got %s, want %s", got, plain)
					}
					if list := o.warnings(t); len(list) != 1 || !strings.HasPrefix(list[0], `hook "bad one" was left out: `) || strings.Contains(list[0], "oops") {
						t.Errorf("ignore: warnings %q", list)
					}
				})
			}
		}
	}
}

// TestHooksHang has a receiver that never answers. Nobody waits for it beyond the
// hook's timeout.
func TestHooksHang(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.register(testserver(t, "a"))
	w := viaMCP(join(t, s, caller{token: adminToken}, ""))
	release := make(chan struct{})
	box := newDesk(t, func([]byte) any { <-release; return nil })
	t.Cleanup(func() { close(release) }) // before the desk closes, which waits for its answers
	plain := w.run(t, "a_echo", nil).bare(t)
	h := s.addHook(map[string]any{"name": "slow", "type": "webhook", "timeout": "50ms", "onError": "fail", "config": map[string]any{"url": box.URL, "secret": deskSecret}})
	if o := w.run(t, "a_echo", nil); o.Kind != "timeout" {
		t.Errorf("fail: %v", o)
	}
	s.must("PATCH", "/v1/admin/hooks/"+h.ID, adminToken, map[string]any{"onError": "ignore"}, nil)
	o := w.run(t, "a_echo", nil)
	if list := o.warnings(t); o.bare(t) != plain || len(list) != 2 || !strings.Contains(list[0], "took too long") { // before and after
		t.Errorf("ignore: %v, warnings %q", o, list)
	}
}

// TestHooksReject refuses calls by hooks of every policy: a rejection always
// blocks, and who is refused after the call is told that it has run.
func TestHooksReject(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.register(testserver(t, "a"))
	for name, w := range map[string]way{"mcp": viaMCP(join(t, s, caller{token: adminToken}, "")), "rest": s.viaREST(caller{token: adminToken})} {
		for _, policy := range []string{"fail", "ignore", "disable"} {
			for _, half := range []string{"before_call", "after_call"} {
				h := s.addHook(starlark("guard", fmt.Sprintf("def %s(ctx, x):\n    reject(\"not on Sundays\", hint = \"try on Monday\")\n", half), "onError", policy))
				o := w.run(t, "a_echo", nil)
				if o.Kind != "hook_rejected" || o.Message != "not on Sundays" || !strings.Contains(o.Hint, "try on Monday") {
					t.Errorf("%s, %s, %s: %v", name, policy, half, o)
				}
				if strings.Contains(o.Hint, "has run") != (half == "after_call") {
					t.Errorf("%s, %s, %s: the hint is %q", name, policy, half, o.Hint)
				}
				if got := s.hook(h.ID).State.State; got != "active" {
					t.Errorf("%s, %s, %s: a rejection made it %s", name, policy, half, got)
				}
				s.dropHook(h)
			}
		}
	}
}

// eventStream is what /v1/events has told.
type eventStream struct {
	mu     sync.Mutex
	events []cloudEvent
}

type cloudEvent struct {
	ID, Type, Subject, UserID string
	Data                      json.RawMessage
}

// follow listens to events from now on.
func (s *instance) follow(t testing.TB, token, query string) *eventStream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/v1/events?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("GET /v1/events: %s", res.Status)
	}
	out, ended := &eventStream{}, make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			var e cloudEvent
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(data), &e) == nil {
				out.mu.Lock()
				out.events = append(out.events, e)
				out.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		_ = res.Body.Close() // cut off already
	})
	return out
}

// of are the events of a type so far.
func (s *eventStream) of(typ string) []cloudEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.events), func(e cloudEvent) bool { return e.Type != typ })
}

// TestHooksDisable has a hook fail once: it is not used again on any instance, which
// the log, the API, the audit and the events say, until an edit gives it another
// chance.
func TestHooksDisable(t *testing.T) {
	t.Parallel()
	one, other := pair(t, options{})
	one.register(testserver(t, "a"))
	w, v := viaMCP(join(t, one, caller{token: adminToken}, "")), other.viaREST(caller{token: adminToken})
	events := other.follow(t, adminToken, "type=hook:*")
	h := one.addHook(starlark("fragile", bad["fails"], "onError", "disable"))
	for round := 1; round <= 2; round++ {
		if list := w.run(t, "a_echo", nil).warnings(t); len(list) != 1 || !strings.Contains(list[0], "fragile") {
			t.Errorf("round %d: warnings %q", round, list)
		}
		if list := w.run(t, "a_echo", nil).warnings(t); len(list) != 0 {
			t.Errorf("round %d: the next call is warned: %q", round, list)
		}
		eventually(t, "say so everywhere", func() error {
			rows, told, state := one.rows(t, "/v1/admin/audit?action=hook.disable"), events.of("hook:disabled"), other.hook(h.ID).State
			if len(rows) != round || len(told) != round || state.State != "disabled" || !strings.Contains(state.Reason, "the script failed") {
				return fmt.Errorf("round %d: %d rows, events %+v, state %+v", round, len(rows), told, state)
			}
			if e := told[round-1]; e.Subject != "fragile" || !strings.Contains(string(e.Data), h.ID) {
				return fmt.Errorf("event %+v", e)
			}
			return nil
		})
		if list := v.run(t, "a_echo", nil).warnings(t); len(list) != 0 {
			t.Errorf("round %d: the other instance goes on using it: %q", round, list)
		}
		if n := strings.Count(one.log.String(), `"msg":"hook disabled"`); n != round {
			t.Errorf("round %d: the log says it %d times", round, n)
		}
		var again configuredHook
		other.must("PATCH", "/v1/admin/hooks/"+h.ID, adminToken, map[string]any{"priority": 100 + round}, &again)
		if again.State.State != "active" {
			t.Errorf("round %d: after an edit it is %+v", round, again.State)
		}
	}
}

// pair is two instances on one database.
func pair(t *testing.T, o options) (one, other *instance) {
	t.Helper()
	o.database, o.dataDir = pgtest.URL(t), t.TempDir() // in which is the key that both need
	return start(t, o), start(t, o)
}

// TestHooksObserve switches on a chain that would change and refuse everything as a
// dry run: nothing changes, and the rows say what would have been.
func TestHooksObserve(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.register(testserver(t, "a", "-tools", "echo,say"))
	w := viaMCP(join(t, s, caller{token: adminToken}, ""))
	model := newDesk(t, chatter("delete something"))
	box := newDesk(t, func([]byte) any { return map[string]any{"action": "reject"} })
	events := s.follow(t, adminToken, "type=dry:run,fence:*")
	args := says(issues())
	plain := w.run(t, "a_say", args).bare(t)
	for typ, config := range map[string]map[string]any{
		"access_control":      {"deny": []string{"*"}},
		"rate_limit":          {"rate": 1, "per": "24h", "burst": 1},
		"param_sanitizer":     {"rules": []any{map[string]any{"do": "drop", "pointer": "/result"}}},
		"response_truncation": {"max_bytes": 1024},
		"toon_transform":      {},
		"llm_enrich":          {"base_url": model.URL, "model": "m", "triggers": []string{"."}},
		"event_emit":          {"channel": "dry:run"},
		"webhook":             {"url": box.URL, "secret": deskSecret},
		"script":              {"source": "def before_call(ctx, request):\n    reject(\"no\")\n"},
	} {
		s.addHook(map[string]any{"name": typ, "type": typ, "mode": "observe", "config": config})
	}
	var last outcome
	for range 3 {
		last = w.run(t, "a_say", args)
		if got := last.bare(t); got != plain || len(last.warnings(t)) != 0 {
			t.Errorf("a dry run changed the answer to %v, warnings %q", last, last.warnings(t))
		}
	}
	_, row := s.trail(t, last)
	did := map[string]string{}
	for _, e := range effectsIn(t, row) {
		if e.Mode != "observe" {
			t.Errorf("effect without its mode: %+v", e)
		}
		if did[e.Hook] == "" || e.Did != "note" {
			did[e.Hook] = e.Did
		}
	}
	same(t, "what the hooks would have done", did, map[string]string{"access_control": "reject", "rate_limit": "reject", "param_sanitizer": "edit",
		"response_truncation": "edit", "toon_transform": "edit", "llm_enrich": "note", "event_emit": "note", "webhook": "note", "script": "reject"})

	// What is published after the dry runs arrives after what they would have.
	s.addHook(map[string]any{"name": "fence", "type": "event_emit", "config": map[string]any{"channel": "fence:here"}})
	w.run(t, "a_echo", nil)
	eventually(t, "hear the fence", func() error {
		if len(events.of("fence:here")) == 0 {
			return fmt.Errorf("nothing yet")
		}
		return nil
	})
	if n := len(events.of("dry:run")) + model.count() + box.count(); n != 0 {
		t.Errorf("%d effects outside", n)
	}
}

// TestHooksBackground answers before hooks in the background have run, and runs
// every one of them although the server is told to end.
func TestHooksBackground(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.register(testserver(t, "a"))
	w := viaMCP(join(t, s, caller{token: adminToken}, ""))
	release := make(chan struct{})
	var once sync.Once
	free := func() { once.Do(func() { close(release) }) }
	t.Cleanup(free)
	box := newDesk(t, func([]byte) any { <-release; return map[string]any{"action": "reject"} })
	s.addHook(map[string]any{"name": "slow", "type": "webhook", "mode": "background", "timeout": "30s", "config": map[string]any{"url": box.URL, "secret": deskSecret}})
	const n = 20
	for i := range n {
		if o := w.run(t, "a_echo", map[string]any{"n": i}); o.Kind != "" || len(o.warnings(t)) != 0 {
			t.Fatalf("call %d: %v", i, o)
		}
	}
	if box.count() > 4 {
		t.Errorf("%d messages are under way at once", box.count())
	}
	free()
	s.stop(syscall.SIGTERM)
	if got := box.count(); got != 2*n {
		t.Errorf("%d messages came, want %d", got, 2*n)
	}
	if got := strings.Count(s.log.String(), "rejected a call too late"); got != 2*n {
		t.Errorf("the log tells of %d rejections", got)
	}
}
