package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// hook is a hook of two functions, either of which may be nil.

type hook struct {
	before, after func(context.Context, *hooks.Call) error
}

func (h hook) Before(ctx context.Context, c *hooks.Call) error {
	if h.before == nil {
		return nil
	}
	return h.before(ctx, c)
}

func (h hook) After(ctx context.Context, c *hooks.Call) error {
	if h.after == nil {
		return nil
	}
	return h.after(ctx, c)
}

// diary writes down what happened, in order.

type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, " ")
}

// named is a hook that notes its halves and returns these errors.

func (d *diary) named(name string, before, after error) hooks.Entry {
	return hooks.Entry{Name: name, Hook: hook{
		before: func(context.Context, *hooks.Call) error { d.note("+%s", name); return before },
		after:  func(context.Context, *hooks.Call) error { d.note("-%s", name); return after },
	}}
}

func (d *diary) work(_ context.Context, c *hooks.Call) error {
	d.note("work")
	c.Result = json.RawMessage(`{"done":true}`)
	return nil
}

func newCall() *hooks.Call {
	args := json.RawMessage(`{"a":1}`)
	return &hooks.Call{RequestID: "r1", Level: hooks.Tool, Action: "execute_tool", Original: args, Args: args,
		Principal: core.Principal{UserID: "u1", UserName: "ann", Agent: "cli"},
		Tool:      &core.Tool{ID: "t1", ServerID: "s1", Name: "gh_create_issue"},
		Server:    &core.Server{ID: "s1", Name: "github"}}
}

func newRunner(t testing.TB, c hooks.Config) *hooks.Runner {
	t.Helper()
	r := hooks.NewRunner(c)
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func run(t testing.TB, entries []hooks.Entry, c *hooks.Call, next hooks.Next) error {
	t.Helper()
	return newRunner(t, hooks.Config{}).Run(t.Context(), hooks.Compile(entries, c), c, next)
}

func TestOrder(t *testing.T) {
	t.Parallel()
	var d diary
	entry := func(name, user, server string, priority int) hooks.Entry {
		e := d.named(name, nil, nil)
		e.UserID, e.ServerID, e.Priority = user, server, priority
		return e
	}
	entries := []hooks.Entry{
		entry("both", "u1", "s1", -100), entry("user", "u1", "", -50), entry("server", "", "s1", 1),
		entry("late", "", "", 10), entry("b", "", "", 5), entry("a", "", "", 5), entry("guard", "", "", hooks.Guard),
		entry("audit", "", "", hooks.Outermost), entry("else", "u2", "", 0), entry("elsewhere", "", "s2", 0),
	}
	c := newCall()
	if err := run(t, entries, c, d.work); err != nil {
		t.Fatal(err)
	}
	want := "+audit +guard +a +b +late +server +user +both work -both -user -server -late -b -a -guard -audit"
	if diff := cmp.Diff(d.String(), want); diff != "" {
		t.Error(diff)
	}
}

func TestApplies(t *testing.T) {
	t.Parallel()
	onMeta := func(c *hooks.Call) { c.Level, c.Tool, c.Server = hooks.Meta, nil, nil }
	for _, tc := range []struct {
		name  string
		entry hooks.Entry
		call  func(*hooks.Call)
		want  bool
	}{
		{name: "everything", want: true},
		{name: "its_level", entry: hooks.Entry{Level: hooks.Tool}, want: true},
		{name: "other_level", entry: hooks.Entry{Level: hooks.Meta}},
		{name: "an_event", entry: hooks.Entry{Events: []hooks.Event{hooks.ToolAfter}}, want: true},
		{name: "other_events", entry: hooks.Entry{Events: []hooks.Event{hooks.MetaBefore, hooks.MetaAfter}}},
		{name: "pattern", entry: hooks.Entry{Pattern: "gh_*_is?ue"}, want: true},
		{name: "star", entry: hooks.Entry{Pattern: "*"}, want: true},
		{name: "pattern_is_whole", entry: hooks.Entry{Pattern: "gh_create"}},
		{name: "pattern_on_meta", entry: hooks.Entry{Pattern: "execute_*"}, call: onMeta, want: true},
		{name: "server_id", entry: hooks.Entry{Servers: []string{"x", "s1"}}, want: true},
		{name: "server_name", entry: hooks.Entry{Servers: []string{"github"}}, want: true},
		{name: "other_server", entry: hooks.Entry{Servers: []string{"s2"}}},
		{name: "no_server_yet", entry: hooks.Entry{Servers: []string{"s1"}}, call: onMeta},
		{name: "server_scope_on_meta", entry: hooks.Entry{ServerID: "s1"}, call: onMeta},
		{name: "server_scope_by_name", entry: hooks.Entry{ServerID: "github"}, want: true},
		{name: "other_server_scope", entry: hooks.Entry{ServerID: "s2"}},
		{name: "user_by_id", entry: hooks.Entry{UserID: "u1"}, want: true},
		{name: "user_by_name", entry: hooks.Entry{UserID: "ann"}, want: true},
		{name: "other_user", entry: hooks.Entry{UserID: "bob"}},
		{name: "events_outside_calls", entry: hooks.Entry{Events: []hooks.Event{core.EventServerFailed}}},
		{name: "agent", entry: hooks.Entry{Agents: []string{"cli"}}, want: true},
		{name: "other_agent", entry: hooks.Entry{Agents: []string{"ide"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newCall()
			if tc.call != nil {
				tc.call(c)
			}
			if got := tc.entry.Applies(c); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestRejection(t *testing.T) {
	t.Parallel()
	for _, policy := range []hooks.OnError{hooks.Fail, hooks.Ignore, hooks.Disable} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			var d diary
			guard := d.named("guard", hooks.Reject(core.HookRejected, "not on Sundays"), nil)
			guard.OnError, guard.Priority = policy, 1
			deep := d.named("deep", nil, nil)
			deep.Priority = 2
			c := newCall()
			err := run(t, []hooks.Entry{d.named("audit", nil, nil), guard, deep}, c, d.work)
			if !errors.Is(err, core.HookRejected) || core.Public(err).Message != "not on Sundays" {
				t.Errorf("got %v, want the rejection", err)
			}
			if got, want := d.String(), "+audit +guard -guard -audit"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestAfterRejects(t *testing.T) {
	t.Parallel()
	var d diary
	c := newCall()
	seen := ""
	outer := hooks.Entry{Name: "audit", Hook: hook{after: func(_ context.Context, c *hooks.Call) error {
		seen = fmt.Sprintf("%s %v", core.Public(c.Err).Kind, c.Result == nil)
		return nil
	}}}
	inner := d.named("guard", nil, hooks.Reject(core.Denied, "secret"))
	err := run(t, []hooks.Entry{outer, inner}, c, func(ctx context.Context, c *hooks.Call) error {
		c.Sent = true
		return d.work(ctx, c)
	})
	if !errors.Is(err, core.Denied) || c.Result != nil || seen != "denied true" {
		t.Errorf("got %v with result %s, audit saw %q", err, c.Result, seen)
	}
	if hint := core.Public(err).Hint; !strings.Contains(hint, "has run") {
		t.Errorf("the caller is not told that the tool has run: %q", hint)
	}
}

// failures are the ways in which a hook's half fails.

func TestEditsCount(t *testing.T) {
	t.Parallel()
	type key struct{}
	edit := hooks.Entry{Name: "edit", Hook: hook{
		before: func(_ context.Context, c *hooks.Call) error {
			c.Args = json.RawMessage(`{"a":2}`)
			c.SetValue(key{}, "kept")
			return nil
		},
		after: func(_ context.Context, c *hooks.Call) error {
			c.Result = fmt.Appendf(nil, `{"was":%s,"kept":%q}`, c.Result, c.Value(key{}))
			c.Warn("edited")
			return nil
		},
	}}
	c := newCall()
	sent := ""
	err := run(t, []hooks.Entry{edit}, c, func(_ context.Context, c *hooks.Call) error {
		sent = string(c.Args)
		c.Result = json.RawMessage(`1`)
		return nil
	})
	if err != nil || sent != `{"a":2}` || string(c.Original) != `{"a":1}` || string(c.Result) != `{"was":1,"kept":"kept"}` {
		t.Errorf("got %v, sent %s, original %s, result %s", err, sent, c.Original, c.Result)
	}
	if diff := cmp.Diff(c.Warnings, []string{"edited"}); diff != "" {
		t.Error(diff)
	}
}

func TestAfterCanMendAnError(t *testing.T) {
	t.Parallel()
	mend := hooks.Entry{Name: "mend", Hook: hook{after: func(_ context.Context, c *hooks.Call) error {
		c.Err, c.Result = nil, json.RawMessage(`{"stale":true}`)
		return nil
	}}}
	c := newCall()
	err := run(t, []hooks.Entry{mend}, c, func(context.Context, *hooks.Call) error { return core.Errorf(core.Unavailable, "down") })
	if err != nil || string(c.Result) != `{"stale":true}` {
		t.Errorf("got %v, %s", err, c.Result)
	}
}

func TestAnswerInPlaceOfTheTool(t *testing.T) {
	t.Parallel()
	var d diary
	cache := hooks.Entry{Name: "cache", Priority: 1, Hook: hook{before: func(_ context.Context, c *hooks.Call) error {
		c.Result = json.RawMessage(`{"cached":true}`)
		return nil
	}, after: func(context.Context, *hooks.Call) error { d.note("-cache"); return nil }}}
	inner := d.named("inner", nil, nil)
	inner.Priority = 2
	c := newCall()
	if err := run(t, []hooks.Entry{d.named("audit", nil, nil), cache, inner}, c, d.work); err != nil {
		t.Fatal(err)
	}
	if got, want := d.String()+" "+string(c.Result), `+audit -cache -audit {"cached":true}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
