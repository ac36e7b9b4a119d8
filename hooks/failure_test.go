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
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

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
		OnDisable: func(*hooks.Entry, *core.Error) { disabled++ }})
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

// TestBudgetOfOneUser is not all of it: a user's own slow hook does not keep the
// team's from changing the result.
func TestBudgetOfOneUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		r := hooks.NewRunner(hooks.Config{Budget: 10 * time.Second})
		defer func() { _ = r.Close(context.Background()) }()
		redact := hooks.Entry{Name: "redact", OnError: hooks.Ignore, Hook: hook{after: func(ctx context.Context, c *hooks.Call) error {
			time.Sleep(time.Second)
			c.Result = json.RawMessage(`{"redacted":true}`)
			return ctx.Err()
		}}}
		hangs := func(ctx context.Context, _ *hooks.Call) error { <-ctx.Done(); return ctx.Err() }
		slow := hooks.Entry{UserID: "ann", Owned: true, OnError: hooks.Ignore, Timeout: time.Hour, Hook: hook{before: hangs, after: hangs}}
		entries := []hooks.Entry{redact}
		for _, slow.Name = range []string{"a", "b", "c"} {
			entries = append(entries, slow)
		}
		c := newCall()
		start := time.Now()
		err := r.Run(t.Context(), hooks.Compile(entries, c), c, d.work)
		if took := time.Since(start); err != nil || string(c.Result) != `{"redacted":true}` || took > 7*time.Second {
			t.Errorf("got %v, %s after %v, warnings %q", err, c.Result, took, c.Warnings)
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
