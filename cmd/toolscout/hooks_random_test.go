package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/hookstest"
)

// world is what random chains run in.
type world struct {
	t      testing.TB
	rand   *rand.Rand
	parts  hookParts
	desk   *httptest.Server // receives webhooks, and is a language model
	person core.User
	server core.Server
	acts   map[string][]hooks.Event // when hooks act, by type

	// Of the present chain.
	plans    map[string]*plan
	order    []*plan // outermost first
	disabled map[string]bool

	mu        sync.Mutex
	diary     []attempt
	published map[string]int            // by type of event
	asked     map[string]int            // messages to the desk, by hook
	stored    map[string]int            // events that event_emit should have published, by hook
	carried   map[string]bool           // hooks whose Before counted, by call and name
	deeds     map[string]map[string]int // by type, of all chains
	events    int
}

// plan is one random hook, and what is known of it.
type plan struct {
	hooks.Definition
	spoils half // the half that fails after all
	panics bool // by a panic
	stores bool // truncation that keeps the whole
	// carries: its After fails unless it finds what its Before left.
	carries bool
	events  []hooks.Event
	// touches are the arguments that the hook may change; "*" is all.
	touches []string
	// replaces: it may put anything in the place of a result.
	replaces bool
}

func (p *plan) String() string {
	text := fmt.Sprintf("%s(%s %s %s %d %s %s", p.Name, p.Type, p.Mode, p.OnError, p.Priority, p.Level, p.Config)
	if p.spoils != "" {
		text += " spoilt " + string(p.spoils)
	}
	return text + ")"
}

func newWorld(t testing.TB, r *rand.Rand) *world {
	t.Helper()
	w := &world{t: t, rand: r, deeds: map[string]map[string]int{}}
	open := egress.New(egress.Config{AllowPrivate: true})
	w.parts = hookParts{store: pgtest.New(t), guarded: open, trusted: open, publish: w.publish, publishSync: w.publish, log: slog.New(slog.DiscardHandler)}
	w.desk = httptest.NewServer(http.HandlerFunc(w.answer))
	t.Cleanup(w.desk.Close)
	by := core.AuditEntry{Level: core.LevelConfig, Action: "test"}
	w.acts = map[string][]hooks.Event{}
	for _, typ := range hookTypes(w.parts) {
		w.acts[typ.Name] = typ.Events
	}
	var err, err2 error
	w.person, err = w.parts.store.CreateUser(t.Context(), by, core.User{Name: "ann"})
	w.server, err2 = w.parts.store.CreateServer(t.Context(), by, core.Server{Name: "up", Transport: core.HTTP, URL: "http://127.0.0.1:1", Domain: "general"})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return w
}

// publish takes the events of hooks, and fails now and then.
func (w *world) publish(_ context.Context, e core.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.events++; w.events%9 == 0 {
		return core.Errorf(core.Unavailable, "there is no bus")
	}
	w.published[e.Type]++
	return nil
}

// answer is the desk: /KIND/HOOK is a webhook's, /chat/HOOK/chat/completions a
// model's.
func (w *world) answer(out http.ResponseWriter, in *http.Request) {
	path := strings.Split(strings.Trim(in.URL.Path, "/"), "/")
	w.mu.Lock()
	w.asked[path[1]]++
	w.mu.Unlock()
	out.Header().Set("Content-Type", "application/json")
	body, _ := io.ReadAll(in.Body) // what cannot be read gets the answer of the other half
	switch early := bytes.Contains(body[:min(len(body), 300)], []byte(`before"`)); {
	case path[0] == "chat":
		fmt.Fprint(out, `{"choices":[{"message":{"role":"assistant","content":"Take a smaller one."}}],"usage":{"prompt_tokens":9,"completion_tokens":4}}`)
	case path[0] == "replace" && early:
		fmt.Fprint(out, `{"action":"replace","args":{ "replaced":1.0 }}`)
	case path[0] == "replace", path[0] == "answer" && early:
		fmt.Fprint(out, `{"action":"replace","result":{ "content":[ {"type":"text","text":"from the desk"} ],"n":1.0 }}`)
	case path[0] == "reject":
		fmt.Fprint(out, `{"action":"reject","message":"not today"}`)
	case path[0] == "garbage":
		fmt.Fprint(out, `{"action":`)
	case path[0] == "fail":
		out.WriteHeader(http.StatusInternalServerError)
	case path[0] == "allow":
		fmt.Fprint(out, `{"action":"allow"}`)
	default:
		out.WriteHeader(http.StatusNoContent)
	}
}

func (w *world) note(a attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.diary = append(w.diary, a)
}

// written is the part of the diary about a call and certain hooks. The work has none.
func (w *world) written(call string, of func(*plan) bool) []attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.diary), func(a attempt) bool { return a.call != call || !of(w.plans[a.hook]) })
}

// acted looks at what one half of a hook did, before it is spoilt: it counts the
// events that are to show outside, and sees that nothing is lost on the way from
// before to after.
func (w *world) acted(p *plan, call string, h half, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.Type == "event_emit" && p.Mode != hooks.Observe && err == nil {
		w.stored[p.Name]++
	}
	switch {
	case !p.carries:
	case h == before:
		w.carried[call+p.Name] = err == nil && p.spoils != before
	case w.carried[call+p.Name] && err != nil:
		w.t.Errorf("%s: %v has lost what it stored: %v", call, p, err)
	}
}

func (w *world) did(typ, did string) {
	if w.deeds[typ] == nil {
		w.deeds[typ] = map[string]int{}
	}
	w.deeds[typ][did]++
}

// invent makes a new chain.
func (w *world) invent(n int) {
	w.plans, w.order, w.disabled = map[string]*plan{}, nil, map[string]bool{}
	w.published, w.asked, w.stored, w.carried, w.diary = map[string]int{}, map[string]int{}, map[string]int{}, map[string]bool{}, nil
	some := slices.Clone(kinds)
	w.rand.Shuffle(len(some), func(a, b int) { some[a], some[b] = some[b], some[a] })
	some = some[:1+w.rand.IntN(len(some))] // with few, there are several of a type
	for i := range w.rand.IntN(9) {
		p := w.randomPlan(fmt.Sprintf("h%d-%d", n, i), one(w, some...))
		w.plans[p.Name] = p
		w.order = append(w.order, p)
	}
	scope := func(p *plan) int {
		n := 0
		if p.ServerID != "" {
			n++
		}
		if p.UserID != "" {
			n += 2
		}
		return n
	}
	slices.SortFunc(w.order, func(a, b *plan) int {
		return cmp.Or(cmp.Compare(scope(a), scope(b)), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Name, b.Name))
	})
}

// definitions are the hooks of the chain as the file would have them, in any order.
func (w *world) definitions() []hooks.Definition {
	var all []hooks.Definition
	for _, p := range w.order {
		all = append(all, p.Definition)
	}
	w.rand.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	return all
}

func (w *world) randomPlan(name string, kind func(*world, *plan)) *plan {
	p := &plan{Definition: hooks.Definition{Name: name, Enabled: true, Priority: w.rand.IntN(4), Timeout: time.Minute,
		Mode:    one(w, hooks.Enforce, hooks.Enforce, hooks.Enforce, hooks.Observe, hooks.Background),
		OnError: one(w, hooks.Ignore, hooks.Ignore, hooks.Ignore, hooks.Fail, hooks.Disable),
		Level:   one(w, hooks.Tool, hooks.Both, hooks.Both, hooks.Both, hooks.Meta),
		Pattern: one(w, "", "*", "*", "*e*", "*e*", "up_*", "nothing"),
		UserID:  one(w, "", "", "", "", "", "ann", w.person.ID, "bob"), ServerID: one(w, "", "", "", "", "", "up", w.server.ID, "other"),
		Servers: one(w, nil, nil, nil, nil, []string{"up"}, []string{"other"}), Agents: one(w, nil, nil, nil, nil, []string{"ide"}, []string{"other"})}}
	if p.Mode == hooks.Background && p.OnError == hooks.Disable {
		p.OnError = hooks.Ignore // when it acts depends on when it runs
	}
	if w.rand.IntN(6) == 0 {
		p.spoils, p.panics = one(w, before, after), w.rand.IntN(2) == 0
	}
	kind(w, p)
	if p.events = p.Events; len(p.events) == 0 {
		p.events = w.acts[p.Type]
	}
	return p
}

// takes reports whether a hook has a half at a level.
func (p *plan) takes(level hooks.Level, h half) bool {
	return len(p.events) == 0 || slices.Contains(p.events, hooks.Event(fmt.Sprintf("%s:%s", level, h)))
}

// applying are the hooks that a call goes through, outermost first.
func (w *world) applying(c *hooks.Call) []*plan {
	name := c.Action
	if c.Level == hooks.Tool {
		name = c.Tool.Name
	}
	in := func(list []string, names ...string) bool {
		return len(list) == 0 || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(list, n) })
	}
	var all []*plan
	for _, p := range w.order {
		matches := map[string]bool{"": true, "*": true, "*e*": strings.Contains(name, "e"), "up_*": strings.HasPrefix(name, "up_")}[p.Pattern]
		user := p.UserID == "" || p.UserID == w.person.ID || p.UserID == w.person.Name
		server := p.ServerID == "" || p.ServerID == w.server.ID || p.ServerID == w.server.Name
		if matches && user && server && (p.Level == hooks.Both || p.Level == c.Level) && in(p.Servers, w.server.Name) && in(p.Agents, "ide") &&
			(p.takes(c.Level, before) || p.takes(c.Level, after)) {
			all = append(all, p)
		}
	}
	return all
}

func (w *world) randomCall(id string) *hooks.Call {
	args := hookstest.Arguments(w.rand)
	c := &hooks.Call{RequestID: id, Level: one(w, hooks.Tool, hooks.Tool, hooks.Meta), Via: core.LevelMeta, Action: "execute_tool", Original: args, Args: args,
		Principal: core.Principal{TenantID: core.DefaultTenant, UserID: w.person.ID, UserName: w.person.Name, Agent: "ide"},
		Server:    &w.server,
		Tool: &core.Tool{ID: "01a1fe9f-0000-7000-8000-000000000001", ServerID: w.server.ID, Name: "up_search", Description: "Searches",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"},"limit":{"type":"integer","default":5},"secret":{}}}`)}}
	if c.Level == hooks.Meta && w.rand.IntN(4) == 0 {
		c.Action = "discover_tools"
	}
	return c
}

// randomFailure is how the work fails, which is seldom.
func (w *world) randomFailure() error {
	return one(w, nil, nil, nil, nil, nil, nil, nil, nil, error(core.Errorf(core.Timeout, "the tool took too long")), errors.New("broken"))
}

func one[T any](w *world, from ...T) T { return from[w.rand.IntN(len(from))] }

// checkOutside compares what shows outside with what should.
func (w *world) checkOutside() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.order {
		if got, want := w.published["used:"+p.Name], w.stored[p.Name]; p.Type == "event_emit" && got != want {
			w.t.Errorf("%v published %d events, want %d", p, got, want)
		}
		if n := w.published["used:"+p.Name] + w.asked[p.Name]; p.Mode == hooks.Observe && n > 0 {
			w.t.Errorf("%v: %d effects outside", p, n)
		}
	}
}

// checkVariety says of what there was too little for the test to mean much.
func checkVariety(t *testing.T, worlds []*world) {
	t.Helper()
	for typ, deeds := range map[string][]string{"access_control": {"reject"}, "rate_limit": {"reject"}, "param_sanitizer": {"edit", "reject"},
		"response_truncation": {"edit"}, "toon_transform": {"edit"}, "test_filter": {"edit"}, "llm_enrich": {"edit"}, "event_emit": {"fail"},
		"script": {"edit", "answer", "reject", "fail"}, "webhook": {"edit", "answer", "reject", "fail"}} {
		for _, did := range deeds {
			n := 0
			for _, w := range worlds {
				n += w.deeds[typ][did]
			}
			if n < 3 {
				t.Errorf("%s came to %s %d times", typ, did, n)
			}
		}
	}
}
