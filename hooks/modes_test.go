package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

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
	want := []hooks.Effect{
		{Hook: "a", Event: hooks.ToolBefore, Mode: hooks.Observe, Did: "edit"},
		{Hook: "b", Event: hooks.ToolBefore, Mode: hooks.Observe, Did: "reject", Message: "no", Kind: core.Denied},
		{Hook: "d", Event: hooks.ToolBefore, Mode: hooks.Observe, Did: "answer"},
		{Hook: "e", Event: hooks.ToolBefore, Mode: hooks.Observe, Did: "fail", Message: `hook "e" failed`, Kind: core.Internal},
		{Hook: "c", Event: hooks.ToolAfter, Mode: hooks.Observe, Did: "edit"},
	}
	if diff := cmp.Diff(c.Effects, want); diff != "" {
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

// TestBackgroundOfOneUser does not hold up anybody else's hooks, however slow it is.
func TestBackgroundOfOneUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		r := hooks.NewRunner(hooks.Config{Queue: 100})
		entry := func(name, owner string, takes time.Duration) hooks.Entry {
			return hooks.Entry{Name: name, UserID: owner, Owned: owner != "", Mode: hooks.Background, Timeout: time.Hour,
				Events: []hooks.Event{hooks.ToolAfter}, Hook: hook{after: func(context.Context, *hooks.Call) error {
					time.Sleep(takes)
					d.note("%s", name)
					return nil
				}}}
		}
		entries := []hooks.Entry{entry("team", "", 0), entry("slow", "ann", time.Minute), entry("quick", "bob", 0)}
		start := time.Now()
		send := func(user string) {
			c := newCall()
			c.Principal.UserID, c.Principal.UserName = user, ""
			if err := r.Run(t.Context(), hooks.Compile(entries, c), c, func(context.Context, *hooks.Call) error { return nil }); err != nil || len(c.Warnings) != 0 {
				t.Errorf("%s: %v, warnings %q", user, err, c.Warnings)
			}
		}
		for range 60 {
			send("ann")
		}
		send("bob")
		synctest.Wait()
		if got := d.String(); time.Since(start) != 0 || strings.Count(got, "team") != 61 || strings.Count(got, "quick") != 1 {
			t.Errorf("after %v: %s", time.Since(start), got)
		}
		if err := r.Close(context.Background()); err != nil || strings.Count(d.String(), "slow") != 60 || time.Since(start) != time.Hour {
			t.Errorf("%v, after %v: %s", err, time.Since(start), d.String())
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
		if len(c.Effects) != 2 || c.Effects[0].Did != "fail" || c.Effects[1].Did != "fail" || len(c.Warnings) != 0 {
			t.Errorf("got %+v, warnings %q", c.Effects, c.Warnings)
		}
	})
}
