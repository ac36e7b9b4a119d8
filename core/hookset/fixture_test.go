package hookset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/script"
)

// tag is a hook that puts its mark on arguments and results, and counts how often
// it was made, used after it was closed, and closed.
type tag struct {
	types *types
	text  string
	slow  <-chan struct{}

	mu     sync.Mutex
	closed bool
}

func (h *tag) Before(_ context.Context, c *hooks.Call) error {
	if h.text == "fail" {
		return core.Errorf(core.Internal, "%s", "out of paper")
	}
	if h.text == "quietly" {
		return errors.New("the drawer is stuck")
	}
	if h.slow != nil {
		<-h.slow
	}
	c.Args = fmt.Appendf(nil, "%s+%s", c.Args, h.text)
	return h.use()
}

func (h *tag) After(_ context.Context, c *hooks.Call) error {
	c.Result = fmt.Appendf(nil, "%s-%s", c.Result, h.text)
	return h.use()
}

func (h *tag) use() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		h.types.count("used after close")
	}
	return nil
}

func (h *tag) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		h.types.count("closed twice")
	}
	h.closed = true
	h.types.count("closed")
	return nil
}

// handler is a hook that acts on events outside calls.
type handler struct{ events chan core.Event }

func (handler) Before(context.Context, *hooks.Call) error { return nil }
func (handler) After(context.Context, *hooks.Call) error  { return nil }
func (h handler) Handle(_ context.Context, e core.Event) error {
	h.events <- e
	return nil
}

// types makes hooks for tests, and remembers what became of them.
type types struct {
	events chan core.Event
	slow   chan struct{}
	// handle, if set, is what the type handler does with an event.
	handle func(context.Context, core.Event) error

	mu     sync.Mutex
	counts map[string]int
	seen   []hooks.Instance
}

func newTypes() *types {
	return &types{counts: map[string]int{}, events: make(chan core.Event, 100), slow: make(chan struct{})}
}

func (ts *types) count(what string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.counts[what]++
}

func (ts *types) counted(what string) int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.counts[what]
}

// last is what the newest hook was made of.
func (ts *types) last() hooks.Instance {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.seen[len(ts.seen)-1]
}

const tagSchema = `{"type":"object","additionalProperties":false,"properties":{
	"text":{"type":"string","description":"What to add.","default":"x","maxLength":20},
	"key":{"type":"string","writeOnly":true,"minLength":4,"description":"A secret.","default":""},
	"limits":{"type":"array","description":"Some numbers.","default":[],"items":{"type":"object","additionalProperties":false,"properties":{"rate":{"type":"integer","minimum":1}}}}}}`

func (ts *types) all() []hooks.Type {
	makeTag := func(in hooks.Instance) (hooks.Hook, error) {
		config := struct{ Text string }{"x"}
		if err := json.Unmarshal(in.Config, &config); err != nil {
			return nil, err
		}
		ts.mu.Lock()
		defer ts.mu.Unlock()
		ts.counts["made"]++
		ts.seen = append(ts.seen, in)
		switch config.Text {
		case "refuse":
			e := core.Errorf(core.InvalidParams, "it is not to be")
			e.Faults = []core.Fault{{Pointer: "/text", Message: "is refused"}}
			return nil, e
		case "panic":
			panic("made to")
		case "slow":
			return &tag{types: ts, text: config.Text, slow: ts.slow}, nil
		}
		return &tag{types: ts, text: config.Text}, nil
	}
	return []hooks.Type{
		{Name: "tag", Description: "Puts a mark.", Level: hooks.Tool, OnError: hooks.Ignore, Priority: 100, Inline: true, Schema: json.RawMessage(tagSchema), New: makeTag},
		{Name: "guard", Description: "Is for all.", Scopes: []hooks.Scope{hooks.Global, hooks.Server}, Events: []hooks.Event{hooks.ToolBefore},
			Schema: json.RawMessage(tagSchema), New: makeTag},
		{Name: "pair", Description: "Takes and gives back.", Paired: true, Schema: json.RawMessage(tagSchema), New: makeTag},
		{Name: "handler", Description: "Hears of events.", Schema: json.RawMessage(`{"type":"object"}`), New: func(hooks.Instance) (hooks.Hook, error) {
			if ts.handle != nil {
				return handlerFunc(ts.handle), nil
			}
			return handler{ts.events}, nil
		}},
		script.Type(script.Config{}),
	}
}

// handlerFunc is a handler of one function.
type handlerFunc func(context.Context, core.Event) error

func (handlerFunc) Before(context.Context, *hooks.Call) error        { return nil }
func (handlerFunc) After(context.Context, *hooks.Call) error         { return nil }
func (f handlerFunc) Handle(ctx context.Context, e core.Event) error { return f(ctx, e) }

// newSet makes a set of the types for tests.
func newSet(t testing.TB, ts *types, change ...func(*hookset.Config)) *hookset.Set {
	t.Helper()
	c := hookset.Config{Types: ts.all(), Logger: slog.New(slog.DiscardHandler),
		Lookup: func(name string) (string, bool) { return "value of " + name, name != "MISSING" }}
	for _, f := range change {
		f(&c)
	}
	s, err := hookset.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		if made, closed := ts.counted("made"), ts.counted("closed")+ts.counted("refused"); made != closed {
			t.Errorf("%d hooks were made and %d closed", made, closed)
		}
		if ts.counted("used after close")+ts.counted("closed twice") > 0 {
			t.Errorf("%v", ts.counts)
		}
	})
	return s
}

// declared is a definition as the file has it.
func declared(ts *types, name, typ, config string, change ...func(*hooks.Definition)) hooks.Definition {
	d := hooks.Definition{}
	for _, t := range ts.all() {
		if t.Name == typ {
			d = t.Definition()
		}
	}
	d.Name, d.Type, d.Config, d.Origin = name, typ, json.RawMessage(config), hooks.Origin{Kind: hooks.FromFile, Where: "toolscout.toml:1"}
	for _, f := range change {
		f(&d)
	}
	return d
}

var ann = core.Principal{TenantID: core.DefaultTenant, UserID: "u1", UserName: "ann", Agent: "cli"}

// through sends a call through what is configured, and gives what the work saw and
// what came back.
func through(t testing.TB, s *hookset.Set, p core.Principal) (sent, got string, c *hooks.Call, err error) {
	t.Helper()
	e, err := s.Entries(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Release()
	c = &hooks.Call{RequestID: "r", Level: hooks.Tool, Action: "execute_tool", Principal: p, Args: json.RawMessage("args"),
		Tool: &core.Tool{ID: "t1", ServerID: "s1", Name: "echo"}, Server: &core.Server{ID: "s1", Name: "up"}}
	err = s.Runner().Run(t.Context(), e.Chain(c), c, func(_ context.Context, c *hooks.Call) error {
		sent = string(c.Args)
		c.Result = json.RawMessage("result")
		return nil
	})
	return sent, string(c.Result), c, err
}
