package hooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// TestEffects are what is told of a chain afterwards.
func TestEffects(t *testing.T) {
	t.Parallel()
	entries := []hooks.Entry{
		{Name: "a", Hook: hook{before: func(_ context.Context, c *hooks.Call) error {
			c.Args = json.RawMessage(`{"a":2}`)
			c.Note("renamed", 1)
			return nil
		}}},
		{Name: "b", OnError: hooks.Ignore, Hook: hook{before: func(_ context.Context, c *hooks.Call) error {
			c.Note("lost", true)
			return errors.New("a secret")
		}}},
		{Name: "c", Hook: hook{after: func(_ context.Context, c *hooks.Call) error { c.Note("tokensSaved", 120); return nil }}},
		{Name: "d", Hook: hook{before: func(_ context.Context, c *hooks.Call) error { c.Result = json.RawMessage(`{}`); return nil },
			after: func(context.Context, *hooks.Call) error { return hooks.Reject(core.Denied, "no") }}},
		{Name: "quiet", Hook: hook{}},
	}
	c := newCall()
	var d diary
	if err := run(t, entries, c, d.work); !errors.Is(err, core.Denied) {
		t.Errorf("got %v", err)
	}
	want := []hooks.Effect{
		{Hook: "a", Event: hooks.ToolBefore, Did: "edit", Notes: map[string]any{"renamed": 1}},
		{Hook: "b", Event: hooks.ToolBefore, Did: "fail", Message: `hook "b" failed`, Kind: core.Internal},
		{Hook: "d", Event: hooks.ToolBefore, Did: "answer"},
		{Hook: "d", Event: hooks.ToolAfter, Did: "reject", Message: "no", Kind: core.Denied},
		{Hook: "c", Event: hooks.ToolAfter, Did: "note", Notes: map[string]any{"tokensSaved": 120}},
	}
	if diff := cmp.Diff(c.Effects, want); diff != "" {
		t.Error(diff)
	}
}

// TestRawResult is what the work gave, whatever hooks made of it meanwhile.
func TestRawResult(t *testing.T) {
	t.Parallel()
	const exact = `{ "n":1.0e2,"big":12345678901234567890 }`
	var seen string
	entries := []hooks.Entry{
		{Name: "outer", Hook: hook{after: func(_ context.Context, c *hooks.Call) error {
			seen = string(c.Raw) + string(c.Result)
			return nil
		}}},
		{Name: "inner", Priority: 1, Hook: hook{after: func(_ context.Context, c *hooks.Call) error { c.Result = json.RawMessage(`1`); return nil }}},
	}
	c := newCall()
	err := run(t, entries, c, func(_ context.Context, c *hooks.Call) error { c.Result = json.RawMessage(exact); return nil })
	if err != nil || seen != exact+"1" {
		t.Errorf("got %v, %s", err, seen)
	}
}

func TestRejectionsKeepTheirHint(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rejection *hooks.Rejection
		want      string
	}{
		"hint":    {&hooks.Rejection{Err: core.Errorf(core.RateLimited, "slow down").WithHint("try again at noon")}, "try again at noon; the tool has run; only its result is withheld"},
		"no hint": {hooks.Reject(core.HookRejected, "no"), "the tool has run; only its result is withheld"},
		"nothing": {&hooks.Rejection{}, "the tool has run; only its result is withheld"},
	} {
		c := newCall()
		twice := hooks.Entry{Name: "guard", Hook: hook{after: func(context.Context, *hooks.Call) error { return tc.rejection }}}
		err := run(t, []hooks.Entry{twice, twice}, c, func(_ context.Context, c *hooks.Call) error { c.Sent = true; return nil })
		if got := core.Public(err).Hint; got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// TestBackgroundFailures: nobody sees them but the log, and disable disables.
func TestBackgroundFailures(t *testing.T) {
	t.Parallel()
	for name, half := range map[string]func(context.Context, *hooks.Call) error{
		"fails": failures["error"], "panics": failures["panic"], "times out": failures["timeout"],
		"rejects": func(context.Context, *hooks.Call) error { return hooks.Reject(core.Denied, "no") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				var d diary
				r := hooks.NewRunner(hooks.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				e := hooks.Entry{Name: "later", Mode: hooks.Background, OnError: hooks.Disable, Timeout: time.Second,
					Hook: hook{before: half, after: func(context.Context, *hooks.Call) error { d.note("after"); return nil }}}
				c := newCall()
				err := r.Run(t.Context(), hooks.Compile([]hooks.Entry{e}, c), c, d.work)
				if err := errors.Join(err, r.Close(context.Background())); err != nil || len(c.Warnings) > 0 {
					t.Errorf("got %v, %q", err, c.Warnings)
				}
				if got := d.String(); got != "work after" {
					t.Errorf("got %s", got)
				}
				if !strings.Contains(log.String(), "hook=later") || r.Disabled(&e) != (name != "rejects") {
					t.Errorf("disabled %v, log %s", r.Disabled(&e), log.String())
				}
			})
		})
	}
}

// TestKept: a hook is held for as long as something of it runs.
func TestKept(t *testing.T) {
	t.Parallel()
	for _, mode := range []hooks.Mode{hooks.Enforce, hooks.Background} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var d diary
				r := hooks.NewRunner(hooks.Config{})
				release := make(chan struct{})
				held := 0
				e := hooks.Entry{Name: "slow", Mode: mode, OnError: hooks.Ignore, Timeout: time.Second, Events: []hooks.Event{hooks.ToolBefore},
					Keep: func() func() { held++; return func() { held-- } },
					Hook: hook{before: func(context.Context, *hooks.Call) error { <-release; return nil }}}
				c := newCall()
				if err := r.Run(t.Context(), hooks.Compile([]hooks.Entry{e}, c), c, d.work); err != nil {
					t.Fatal(err)
				}
				if held != 1 {
					t.Errorf("held %d times while it runs", held)
				}
				close(release)
				synctest.Wait()
				if err := r.Close(context.Background()); err != nil || held != 0 {
					t.Errorf("%v, held %d times after it has ended", err, held)
				}
			})
		})
	}
}

// listener is a hook that handles events.
type listener struct {
	hook
	handle func(context.Context, core.Event) error
}

func (l listener) Handle(ctx context.Context, e core.Event) error { return l.handle(ctx, e) }

func TestHandle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		r := hooks.NewRunner(hooks.Config{})
		l := listener{handle: func(ctx context.Context, e core.Event) error {
			_, bounded := ctx.Deadline()
			d.note("%s bounded %v err %v", e.Type, bounded, ctx.Err())
			return errors.New("broken")
		}}
		e := hooks.Entry{Name: "l", OnError: hooks.Disable, Hook: l}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 2 {
			if err := r.Handle(ctx, &e, core.Event{Type: core.EventServerFailed}, l); err != nil {
				t.Error(err)
			}
			cancel()
			synctest.Wait()
		}
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if got, want := d.String(), "server:failed bounded true err <nil>"; got != want || !r.Disabled(&e) {
			t.Errorf("got %s, disabled %v", got, r.Disabled(&e))
		}
		e.Version++
		if err := r.Handle(t.Context(), &e, core.Event{}, l); !errors.Is(err, core.Unavailable) {
			t.Errorf("after Close: %v", err)
		}
	})
}
