package ratelimit_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/ratelimit"
)

// limit is a configured hook on its own instance.
type limit struct {
	t      testing.TB
	hook   hooks.Hook
	runner *hooks.Runner
	entry  hooks.Entry
}

func newLimit(t testing.TB, s ratelimit.Shared, config string) *limit {
	t.Helper()
	typ := ratelimit.Type(s)
	h, err := typ.New(hooks.Instance{Key: config, Name: "limit", Config: json.RawMessage(config)})
	if err != nil {
		t.Fatal(err)
	}
	l := &limit{t: t, hook: h, runner: hooks.NewRunner(hooks.Config{}),
		entry: hooks.Entry{Name: "limit", Type: typ.Name, Inline: typ.Inline, OnError: typ.OnError, Priority: typ.Priority, Hook: h}}
	return l
}

func (l *limit) close() {
	if err := errors.Join(l.hook.(io.Closer).Close(), l.runner.Close(context.Background())); err != nil {
		l.t.Error(err)
	}
}

// call sends a call through the hook.
func (l *limit) call(c *hooks.Call, next hooks.Next) error {
	if next == nil {
		next = func(context.Context, *hooks.Call) error { return nil }
	}
	return l.runner.Run(context.Background(), hooks.Chain{&l.entry}, c, next)
}

func (l *limit) ask() error { return l.call(newCall("ann", "a", "s", "t"), nil) }

func newCall(user, agent, server, tool string) *hooks.Call {
	c := &hooks.Call{Level: hooks.Tool, Action: "execute_tool", Principal: core.Principal{TenantID: "t", UserID: user, Agent: agent}}
	if server != "" {
		c.Server, c.Tool = &core.Server{ID: server}, &core.Tool{ID: tool, ServerID: server}
	}
	return c
}

// bubble runs a test on time of our own and a database of our own.
func bubble(t *testing.T, config string, f func(t *testing.T, db *local, l *limit)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var db local
		l := newLimit(t, &db, config)
		defer l.close()
		f(t, &db, l)
	})
}

func TestRateAndRetryAfter(t *testing.T) {
	t.Parallel()
	bubble(t, `{"rate": 6, "per": "1m", "burst": 2}`, func(t *testing.T, db *local, l *limit) {
		for range 2 {
			if err := l.ask(); err != nil {
				t.Fatal(err)
			}
		}
		err := l.ask()
		if !errors.Is(err, core.RateLimited) {
			t.Fatalf("got %v", err)
		}
		e := core.Public(err)
		if e.RetryAfter <= 9900*time.Millisecond || e.RetryAfter > 10*time.Second {
			t.Errorf("retry after %v", e.RetryAfter)
		}
		if e.Message != "too many calls: the limit is 6 per 1m" || !strings.HasPrefix(e.Hint, "try again in ") {
			t.Errorf("got %q, %q", e.Message, e.Hint)
		}
		asked := db.asked.Load()
		for range 100 {
			if err := l.ask(); !errors.Is(err, core.RateLimited) {
				t.Fatalf("got %v", err)
			}
		}
		if db.asked.Load() != asked {
			t.Error("asks the database although it knows the answer")
		}
		time.Sleep(e.RetryAfter)
		if err := l.ask(); err != nil {
			t.Errorf("after the wait: %v", err)
		}
		if err := l.ask(); !errors.Is(err, core.RateLimited) {
			t.Errorf("got %v", err)
		}
	})
}

func TestBy(t *testing.T) {
	t.Parallel()
	named := func(agent string) *hooks.Call {
		c := newCall("ann", agent, "s", "t")
		c.Principal.AgentNamed = true
		return c
	}
	meta := func(action string) *hooks.Call {
		c := newCall("ann", "a", "", "")
		c.Level, c.Action = hooks.Meta, action
		return c
	}
	first := func() *hooks.Call { return newCall("ann", "a", "s", "t") }
	for _, tc := range []struct {
		name, by      string
		first, second *hooks.Call
		shared        bool
	}{
		{"all", `[]`, first(), newCall("bob", "b", "s2", "t2"), true},
		{"same_user", `["user"]`, first(), newCall("ann", "b", "s2", "t2"), true},
		{"other_user", `["user"]`, first(), newCall("bob", "a", "s", "t"), false},
		{"same_agent", `["agent"]`, first(), newCall("bob", "a", "s2", "t2"), true},
		{"other_agent", `["agent"]`, first(), newCall("ann", "b", "s", "t"), false},
		{"named_agents", `["agent"]`, named("a"), named("b"), false},
		{"users_agents", `["user","agent"]`, first(), newCall("ann", "b", "s", "t"), false},
		{"renaming_does_not_help", `["user","agent"]`, named("a"), named("b"), true},
		{"no_agent", `["agent"]`, newCall("ann", "", "s", "t"), newCall("bob", "", "s", "t"), true},
		{"same_server", `["server"]`, first(), newCall("bob", "b", "s", "t2"), true},
		{"other_server", `["server"]`, first(), newCall("ann", "a", "s2", "t"), false},
		{"same_tool", `["tool"]`, first(), newCall("bob", "b", "s", "t"), true},
		{"other_tool", `["tool"]`, first(), newCall("ann", "a", "s", "t2"), false},
		{"combination", `["tool","user"]`, first(), newCall("bob", "a", "s", "t"), false},
		{"same_meta_tool", `["tool"]`, meta("execute_tool"), meta("execute_tool"), true},
		{"other_meta_tool", `["tool"]`, meta("execute_tool"), meta("discover_tools"), false},
		{"chains", `[]`, first(), meta("execute_tool"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, `{"rate": 1, "by": `+tc.by+`}`, func(t *testing.T, _ *local, l *limit) {
				if err := l.call(tc.first, nil); err != nil {
					t.Fatal(err)
				}
				if err := l.call(tc.second, nil); errors.Is(err, core.RateLimited) != tc.shared || (err != nil) != tc.shared {
					t.Errorf("got %v, shared %v", err, tc.shared)
				}
			})
		})
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ config, pointer string }{
		{`{}`, "/rate"},
		{`{"rate": 1, "per": "soon"}`, "/per"},
		{`{"rate": 1, "per": "-1s"}`, "/per"},
		{`{"concurrency": 1, "burst": 2}`, "/burst"},
		{`{"rate": 1, "per": "24h", "burst": 1000}`, "/burst"},
		{`{"rate": 1000000000, "per": "1ns"}`, ""},
		{`{"concurrency": 1}`, ""},
	} {
		h, err := ratelimit.Type(&local{}).New(hooks.Instance{Config: json.RawMessage(tc.config)})
		got := ""
		var e *core.Error
		if errors.As(err, &e) {
			got = e.Faults[0].Pointer
		}
		if got != tc.pointer || (err == nil) != (tc.pointer == "") {
			t.Errorf("%s: got %v", tc.config, err)
		}
		if err == nil {
			if err := h.(io.Closer).Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestTokensAreTakenAhead: a busy caller of a generous limit hardly ever waits for the
// database, and what was not needed goes back.
func TestTokensAreTakenAhead(t *testing.T) {
	t.Parallel()
	bubble(t, `{"rate": 1000, "per": "1h", "burst": 1000}`, func(t *testing.T, db *local, l *limit) {
		for range 500 {
			if err := l.ask(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Microsecond)
		}
		if n := db.asked.Load(); n > 50 {
			t.Errorf("500 calls asked the database %d times", n)
		}
		time.Sleep(5 * time.Second)
		admitted := 0
		for other := newLimit(t, db, `{"rate": 1000, "per": "1h", "burst": 1000}`); ; admitted++ {
			if other.ask() != nil {
				other.close()
				break
			}
		}
		if admitted < 500 || admitted > 502 {
			t.Errorf("the other instance got %d of 500 and what was refilled", admitted)
		}
	})
}

// TestSlowCallersTakeNothingAhead: they would only give it back.
func TestSlowCallersTakeNothingAhead(t *testing.T) {
	t.Parallel()
	bubble(t, `{"rate": 100, "per": "24h", "burst": 100}`, func(t *testing.T, db *local, l *limit) {
		for range 100 {
			if err := l.ask(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
		}
		if n := db.asked.Load(); n != 100 {
			t.Errorf("asked %d times", n)
		}
		if err := l.ask(); !errors.Is(err, core.RateLimited) {
			t.Errorf("got %v", err)
		}
	})
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]error{"ok": nil, "failed": errors.New("disk full")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, `{"concurrency": 2, "by": ["user"]}`, func(t *testing.T, db *local, l *limit) {
				gate := make(chan struct{})
				var running sync.WaitGroup
				for range 2 {
					running.Go(func() {
						if err := l.call(newCall("ann", "a", "s", "t"), func(context.Context, *hooks.Call) error { <-gate; return end }); !errors.Is(err, end) {
							t.Errorf("got %v", err)
						}
					})
				}
				time.Sleep(time.Minute) // far beyond a lease
				other := newLimit(t, db, `{"concurrency": 2, "by": ["user"]}`)
				defer other.close()
				for _, l := range []*limit{l, other} {
					if err := l.ask(); !errors.Is(err, core.RateLimited) || core.Public(err).RetryAfter <= 0 {
						t.Errorf("got %v", err)
					}
					if err := l.call(newCall("bob", "a", "s", "t"), nil); err != nil {
						t.Errorf("another user: %v", err)
					}
				}
				close(gate)
				running.Wait()
				if err := other.ask(); err != nil {
					t.Errorf("after their end: %v", err)
				}
			})
		})
	}
}

// TestRoomForThoseWhoWait: calls that wait for slots get them although others, who
// came later, took what was there, as long as the limit is not reached.
func TestRoomForThoseWhoWait(t *testing.T) {
	t.Parallel()
	bubble(t, `{"concurrency": 500}`, func(t *testing.T, db *local, l *limit) {
		db.slow = 100 * time.Millisecond
		var calls sync.WaitGroup
		enter := func(n int) (leave func()) {
			release := make(chan struct{})
			for range n {
				calls.Go(func() {
					err := l.call(newCall("ann", "a", "s", "t"), func(context.Context, *hooks.Call) error { <-release; return nil })
					if err != nil {
						t.Errorf("refused with fewer than 500 at once: %v", err)
					}
				})
			}
			synctest.Wait()
			return func() { close(release); synctest.Wait() }
		}
		early, others := enter(150), enter(150)
		time.Sleep(400 * time.Millisecond)
		more := enter(50) // of those taken ahead: now all are in use
		asking := enter(1)
		waiting := enter(49) // for the next question
		early()
		time.Sleep(150 * time.Millisecond) // the next question is under way
		late := enter(99)                  // of those that left
		time.Sleep(400 * time.Millisecond)
		for _, leave := range []func(){others, more, asking, waiting, late} {
			leave()
		}
		calls.Wait()
	})
}

// TestSlotsOfTheDead: what a killed instance held comes back by itself.
func TestSlotsOfTheDead(t *testing.T) {
	t.Parallel()
	bubble(t, `{"concurrency": 2}`, func(t *testing.T, db *local, l *limit) {
		if err := l.ask(); err != nil { // to learn the bucket's name
			t.Fatal(err)
		}
		db.mu.Lock()
		for _, k := range slices.Collect(maps.Keys(db.slots)) {
			db.slots[k[:len(k)-36]+"another"] = lease{2, time.Now().Add(30 * time.Second)}
		}
		db.mu.Unlock()
		if err := l.ask(); !errors.Is(err, core.RateLimited) {
			t.Errorf("got %v while the other lives", err)
		}
		time.Sleep(30 * time.Second)
		if err := l.ask(); err != nil {
			t.Errorf("after its lease: %v", err)
		}
	})
}

// TestObserved: a dry run says what it would have done, and lets everything through.
func TestObserved(t *testing.T) {
	t.Parallel()
	bubble(t, `{"concurrency": 1, "rate": 1}`, func(t *testing.T, _ *local, l *limit) {
		l.entry.Mode = hooks.Observe
		for i := range 3 {
			c := newCall("ann", "a", "s", "t")
			if err := l.call(c, nil); err != nil || len(c.Effects) != min(i, 1) {
				t.Errorf("call %d: %v, %+v", i, err, c.Effects)
			}
		}
	})
}

// TestRefusedByTheRateFreesTheSlot.
func TestRefusedByTheRateFreesTheSlot(t *testing.T) {
	t.Parallel()
	bubble(t, `{"concurrency": 1, "rate": 1, "per": "1m"}`, func(t *testing.T, _ *local, l *limit) {
		for i := range 3 {
			if err := l.ask(); (err == nil) != (i == 0) || i > 0 && !strings.Contains(core.Public(err).Message, "1 per 1m") {
				t.Errorf("call %d: %v", i, err)
			}
		}
	})
}

// TestDatabaseBusy has answers take long: a call waits for them as long as the hook
// may take, whatever it is allowed, and then is refused.
func TestDatabaseBusy(t *testing.T) {
	t.Parallel()
	bubble(t, `{"rate": 100, "per": "1m", "concurrency": 5}`, func(t *testing.T, db *local, l *limit) {
		db.slow = 4 * time.Second
		if err := l.ask(); !errors.Is(err, core.Unavailable) { // once for the slot, once for the token
			t.Errorf("within the usual timeout: %v", err)
		}
		l.entry.Timeout = 20 * time.Second
		for range 3 {
			if err := l.ask(); err != nil {
				t.Errorf("with time enough: %v", err)
			}
		}
	})
}

func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	for _, config := range []string{`{"rate": 100}`, `{"concurrency": 100}`, `{"concurrency": 1}`} {
		bubble(t, config, func(t *testing.T, db *local, l *limit) {
			db.away.Store(true)
			if err := l.ask(); !errors.Is(err, core.Unavailable) {
				t.Errorf("%s: got %v", config, err)
			}
			l.entry.OnError = hooks.Ignore
			c := newCall("ann", "a", "s", "t")
			if err := l.call(c, nil); err != nil || len(c.Warnings) != 1 {
				t.Errorf("%s: ignored: got %v, warnings %q", config, err, c.Warnings)
			}
			db.away.Store(false)
			l.entry.OnError = hooks.Fail
			if err := l.ask(); err != nil {
				t.Errorf("%s: afterwards: %v", config, err)
			}
		})
	}
}
