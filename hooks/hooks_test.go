package hooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
		Principal: core.Principal{UserID: "u1", Agent: "cli"},
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
var failures = map[string]func(context.Context, *hooks.Call) error{
	"error":   func(context.Context, *hooks.Call) error { return errors.New("out of paper") },
	"panic":   func(context.Context, *hooks.Call) error { panic("oops") },
	"timeout": func(ctx context.Context, _ *hooks.Call) error { <-ctx.Done(); return ctx.Err() },
	"hangs":   func(_ context.Context, c *hooks.Call) error { <-c.Value("release").(chan struct{}); return nil },
}

func TestFailure(t *testing.T) {
	t.Parallel()
	for name, fail := range failures {
		for _, policy := range []hooks.OnError{hooks.Fail, hooks.Ignore, hooks.Disable} {
			for _, half := range []string{"before", "after"} {
				t.Run(fmt.Sprintf("%s_%s_%s", name, half, policy), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { testFailure(t, fail, policy, half) })
				})
			}
		}
	}
}

func testFailure(t *testing.T, fail func(context.Context, *hooks.Call) error, policy hooks.OnError, half string) {
	var log bytes.Buffer
	disabled := 0
	r := hooks.NewRunner(hooks.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)),
		OnDisable: func(*hooks.Entry, error) { disabled++ }})
	release := make(chan struct{})
	defer func() {
		close(release)
		synctest.Wait()
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	// It edits first and fails then: nothing of the edit may be seen.
	edits := func(ctx context.Context, c *hooks.Call) error {
		c.Args, c.Result, c.Err = json.RawMessage(`{"evil":1}`), json.RawMessage(`{"evil":1}`), nil
		c.Warn("evil")
		c.SetValue("evil", true)
		return fail(ctx, c)
	}
	bad := hooks.Entry{Name: "bad", Priority: 1, OnError: policy, Timeout: time.Second, Hook: hook{before: edits}}
	if half == "after" {
		bad.Hook = hook{after: edits}
	}
	var d diary
	c := newCall()
	c.SetValue("release", release)
	entries := []hooks.Entry{d.named("audit", nil, nil), bad}
	start := time.Now()
	err := r.Run(t.Context(), hooks.Compile(entries, c), c, d.work)
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("the call waited %v", took)
	}
	if bytes.Contains(c.Args, []byte("evil")) || bytes.Contains(c.Result, []byte("evil")) || c.Value("evil") != nil {
		t.Errorf("a failed hook left its mark: %s %s", c.Args, c.Result)
	}
	if !strings.Contains(log.String(), "hook failed") {
		t.Error("nothing in the log")
	}
	if policy == hooks.Fail {
		if err == nil || c.Result != nil || len(c.Warnings) != 0 {
			t.Errorf("got %v, result %s, warnings %q; want an error", err, c.Result, c.Warnings)
		}
		return
	}
	if err != nil || string(c.Result) != `{"done":true}` {
		t.Errorf("got %v, %s; want the result", err, c.Result)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], `"bad"`) || strings.Contains(c.Warnings[0], "paper") {
		t.Errorf("warnings: %q", c.Warnings)
	}
	if want := policy == hooks.Disable; r.Disabled(&bad) != want || (disabled == 1) != want {
		t.Errorf("disabled %v (told %d times), want %v", r.Disabled(&bad), disabled, want)
	}
	bad.Version++
	if r.Disabled(&bad) {
		t.Error("a new version is still disabled")
	}
}

func TestDisabledHookIsNotEntered(t *testing.T) {
	t.Parallel()
	var d diary
	r := newRunner(t, hooks.Config{})
	bad := d.named("bad", errors.New("broken"), nil)
	bad.OnError = hooks.Disable
	for range 3 {
		c := newCall()
		if err := r.Run(t.Context(), hooks.Compile([]hooks.Entry{bad}, c), c, d.work); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := d.String(), "+bad work -bad work work"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestHangingHookIsNotStartedForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := hooks.NewRunner(hooks.Config{})
		release := make(chan struct{})
		var started atomic.Int32
		bad := hooks.Entry{Name: "bad", OnError: hooks.Ignore, Timeout: time.Second,
			Hook: hook{before: func(context.Context, *hooks.Call) error { started.Add(1); <-release; return nil }}}
		var d diary
		once := func() *hooks.Call {
			c := newCall()
			if err := r.Run(t.Context(), hooks.Compile([]hooks.Entry{bad}, c), c, d.work); err != nil {
				t.Fatal(err)
			}
			return c
		}
		for range 70 {
			once()
		}
		if n := started.Load(); n != 64 {
			t.Errorf("started %d times, want 64", n)
		}
		if c := once(); len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "hangs") {
			t.Errorf("warnings: %q", c.Warnings)
		}
		close(release)
		synctest.Wait()
		if c := once(); len(c.Warnings) != 0 {
			t.Errorf("still counted as hanging: %q", c.Warnings)
		}
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

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

func TestObserve(t *testing.T) {
	t.Parallel()
	var d diary
	observe := func(name string, h hook) hooks.Entry {
		return hooks.Entry{Name: name, Mode: hooks.Observe, Hook: h}
	}
	entries := []hooks.Entry{
		observe("a", hook{before: func(_ context.Context, c *hooks.Call) error {
			c.SetValue("mine", 7)
			c.Args = nil
			return nil
		}, after: func(_ context.Context, c *hooks.Call) error { d.note("kept %v", c.Value("mine")); return nil }}),
		observe("b", hook{before: func(context.Context, *hooks.Call) error { return hooks.Reject(core.Denied, "no") }}),
		observe("c", hook{after: func(_ context.Context, c *hooks.Call) error { c.Result = nil; return nil }}),
		observe("d", hook{before: func(_ context.Context, c *hooks.Call) error { c.Result = json.RawMessage(`{}`); return nil }}),
		observe("e", hook{before: func(context.Context, *hooks.Call) error { panic("oops") }}),
		observe("f", hook{}),
	}
	c := newCall()
	if err := run(t, entries, c, d.work); err != nil {
		t.Fatal(err)
	}
	want := []hooks.Observation{
		{Hook: "a", Event: hooks.ToolBefore, Would: "edit"},
		{Hook: "b", Event: hooks.ToolBefore, Would: "reject", Message: "no"},
		{Hook: "d", Event: hooks.ToolBefore, Would: "answer"},
		{Hook: "e", Event: hooks.ToolBefore, Would: "fail", Message: `hook "e" failed`},
		{Hook: "c", Event: hooks.ToolAfter, Would: "edit"},
	}
	if diff := cmp.Diff(c.Observations, want); diff != "" {
		t.Error(diff)
	}
	if got := d.String() + " " + string(c.Args) + string(c.Result); got != `work kept 7 {"a":1}{"done":true}` {
		t.Errorf("got %s", got)
	}
}

func TestBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		r := hooks.NewRunner(hooks.Config{})
		slow := hooks.Entry{Name: "slow", Mode: hooks.Background, Timeout: time.Minute, Hook: hook{
			before: func(_ context.Context, c *hooks.Call) error {
				c.SetValue("v", string(c.Args))
				time.Sleep(time.Second)
				return nil
			},
			after: func(_ context.Context, c *hooks.Call) error {
				d.note("after %v %s", c.Value("v"), c.Result)
				c.Result = nil
				return nil
			},
		}}
		c := newCall()
		start := time.Now()
		if err := r.Run(t.Context(), hooks.Compile([]hooks.Entry{slow}, c), c, d.work); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("the answer waited %v", took)
		}
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if got, want := d.String(), `work after {"a":1} {"done":true}`; got != want || string(c.Result) != `{"done":true}` {
			t.Errorf("got %s, result %s", got, c.Result)
		}
	})
}

func TestBackgroundQueueIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		r := hooks.NewRunner(hooks.Config{Queue: 1, Workers: 1})
		release := make(chan struct{})
		slow := hooks.Entry{Name: "slow", Mode: hooks.Background, Timeout: time.Second, Events: []hooks.Event{hooks.ToolAfter},
			Hook: hook{after: func(ctx context.Context, c *hooks.Call) error { <-release; return nil }}}
		warned := 0
		for range 20 {
			c := newCall()
			if err := r.Run(t.Context(), hooks.Compile([]hooks.Entry{slow}, c), c, d.work); err != nil {
				t.Fatal(err)
			}
			warned += len(c.Warnings)
		}
		if warned == 0 {
			t.Error("calls were dropped without a warning, or the queue is not bounded")
		}
		close(release)
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
		c := newCall()
		if err := r.Run(t.Context(), hooks.Compile([]hooks.Entry{slow}, c), c, d.work); err != nil || len(c.Warnings) != 1 {
			t.Errorf("after Close: %v, warnings %q", err, c.Warnings)
		}
	})
}

func TestCloseGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		r := hooks.NewRunner(hooks.Config{})
		slow := hooks.Entry{Name: "slow", Mode: hooks.Background, Timeout: time.Hour,
			Hook: hook{after: func(context.Context, *hooks.Call) error { time.Sleep(time.Minute); return nil }}}
		c := newCall()
		if err := r.Run(t.Context(), hooks.Compile([]hooks.Entry{slow}, c), c, d.work); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestCallerGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		r := hooks.NewRunner(hooks.Config{})
		defer func() { _ = r.Close(context.Background()) }()
		ctx, cancel := context.WithCancel(t.Context())
		audit := hooks.Entry{Name: "audit", Hook: hook{after: func(ctx context.Context, c *hooks.Call) error {
			_, bounded := ctx.Deadline()
			d.note("alive %v bounded %v err %v", ctx.Err() == nil, bounded, c.Err != nil)
			return nil
		}}}
		c := newCall()
		err := r.Run(ctx, hooks.Compile([]hooks.Entry{audit}, c), c, func(ctx context.Context, _ *hooks.Call) error {
			cancel()
			return ctx.Err()
		})
		if !errors.Is(err, context.Canceled) || d.String() != "alive true bounded true err true" {
			t.Errorf("got %v, %s", err, d.String())
		}
	})
}

func TestCallerGoneBeforeTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		r := hooks.NewRunner(hooks.Config{})
		defer func() { _ = r.Close(context.Background()) }()
		ctx, cancel := context.WithCancel(t.Context())
		waits := hooks.Entry{Name: "waits", OnError: hooks.Ignore,
			Hook: hook{before: func(ctx context.Context, _ *hooks.Call) error { cancel(); <-ctx.Done(); return ctx.Err() }}}
		c := newCall()
		err := r.Run(ctx, hooks.Compile([]hooks.Entry{waits}, c), c, d.work)
		if !errors.Is(err, context.Canceled) || d.String() != "" {
			t.Errorf("got %v, and then %q", err, d.String())
		}
	})
}

func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		r := hooks.NewRunner(hooks.Config{Budget: 3 * time.Second})
		defer func() { _ = r.Close(context.Background()) }()
		slow := func(name string) hooks.Entry {
			return hooks.Entry{Name: name, Priority: 1, OnError: hooks.Ignore, Timeout: 2 * time.Second,
				Hook: hook{before: func(ctx context.Context, _ *hooks.Call) error {
					d.note("+%s", name)
					<-ctx.Done()
					return ctx.Err()
				}}}
		}
		c := newCall()
		start := time.Now()
		err := r.Run(t.Context(), hooks.Compile([]hooks.Entry{d.named("audit", nil, nil), slow("a"), slow("b"), slow("c")}, c), c, d.work)
		if took := time.Since(start); err != nil || took != 3*time.Second {
			t.Errorf("got %v after %v, want 3s", err, took)
		}
		if got, want := d.String(), "+audit +a +b work -audit"; got != want || len(c.Warnings) != 3 {
			t.Errorf("got %s with warnings %q, want %s with three", got, c.Warnings, want)
		}
	})
}

func TestObserverWithoutBudgetBlocksNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		r := hooks.NewRunner(hooks.Config{Budget: time.Second})
		defer func() { _ = r.Close(context.Background()) }()
		slow := hooks.Entry{Name: "a", Mode: hooks.Observe, Hook: hook{before: failures["timeout"]}}
		late := hooks.Entry{Name: "b", Mode: hooks.Observe, Hook: hook{}}
		c := newCall()
		if err := r.Run(t.Context(), hooks.Compile([]hooks.Entry{slow, late}, c), c, d.work); err != nil {
			t.Fatal(err)
		}
		if len(c.Observations) != 2 || c.Observations[0].Would != "fail" || c.Observations[1].Would != "fail" || len(c.Warnings) != 0 {
			t.Errorf("got %+v, warnings %q", c.Observations, c.Warnings)
		}
	})
}

func TestHookThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	var d diary
	quit := hooks.Entry{Name: "quit", OnError: hooks.Ignore, Hook: hook{before: func(context.Context, *hooks.Call) error {
		runtime.Goexit()
		return nil
	}}}
	c := newCall()
	if err := run(t, []hooks.Entry{quit}, c, d.work); err != nil || len(c.Warnings) != 1 {
		t.Errorf("got %v, warnings %q", err, c.Warnings)
	}
}

func TestPanicInTheWork(t *testing.T) {
	t.Parallel()
	var d diary
	c := newCall()
	err := run(t, []hooks.Entry{d.named("audit", nil, nil)}, c, func(context.Context, *hooks.Call) error { panic("secret") })
	if public := core.Public(err); public.Kind != core.Internal || strings.Contains(public.Message, "secret") || d.String() != "+audit -audit" {
		t.Errorf("got %v, %s", err, d.String())
	}
}
