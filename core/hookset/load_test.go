package hookset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
)

// TestChangesUnderLoad: while many calls run, their hooks are changed, all at once,
// over and over. Each call sees one generation of them, the same on both its levels
// and on the way back, and none fails or meets a hook that was closed.
func TestChangesUnderLoad(t *testing.T) {
	t.Parallel()
	ts := newTypes()
	s := newSet(t, ts)
	const size = 5
	set := func(generation int) {
		var f hookset.File
		for i := range size {
			f.Hooks = append(f.Hooks, declared(ts, fmt.Sprint(i), "tag", fmt.Sprintf(`{"text":"g%d"}`, generation), func(d *hooks.Definition) {
				d.Level = ""
				if i%2 == 1 {
					d.UserID = "ann"
				}
				if i == size-1 {
					d.Mode = hooks.Background
				}
			}))
		}
		if err := s.SetFile(f); err != nil {
			t.Error(err)
		}
	}
	set(0)
	var stop atomic.Bool
	var calls, workers sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			for range 150 {
				twoLevels(t, s, size-1)
			}
		})
	}
	generations := 0
	workers.Go(func() {
		for !stop.Load() {
			generations++
			set(generations)
		}
	})
	calls.Wait()
	stop.Store(true)
	workers.Wait()
	if generations < 10 {
		t.Errorf("only %d changes in all that time", generations)
	}
}

// twoLevels is a call of a tool within one of a meta-tool.
func twoLevels(t *testing.T, s *hookset.Set, marks int) {
	e, err := s.Entries(t.Context(), ann)
	if err != nil {
		t.Error(err)
		return
	}
	defer e.Release()
	run := func(level hooks.Level, args json.RawMessage, next hooks.Next) *hooks.Call {
		c := &hooks.Call{Level: level, Principal: ann, Args: args, Action: "execute_tool", Tool: &core.Tool{Name: "echo"}, Server: &core.Server{Name: "up"}}
		if err := s.Runner().Run(t.Context(), e.Chain(c), c, next); err != nil || len(c.Warnings) > 0 {
			t.Errorf("a call failed: %v, %q", err, c.Warnings)
		}
		return c
	}
	outer := run(hooks.Meta, json.RawMessage(""), func(_ context.Context, c *hooks.Call) error {
		inner := run(hooks.Tool, c.Args, func(_ context.Context, c *hooks.Call) error {
			c.Result = c.Args
			return nil
		})
		c.Result = inner.Result
		return nil
	})
	generation, _, _ := strings.Cut(strings.TrimLeft(string(outer.Result), "+"), "+")
	if want := strings.Repeat("+"+generation, 2*marks) + strings.Repeat("-"+generation, 2*marks); string(outer.Result) != want {
		t.Errorf("a call saw half a change: %s, want %s", outer.Result, want)
	}
}

// TestRowsChangeUnderLoad is the same with hooks in the database and two instances.
func TestRowsChangeUnderLoad(t *testing.T) {
	t.Parallel()
	w, ts := newWorld(t), newTypes()
	sets := []*hookset.Set{w.instance(ts), w.instance(newTypes())}
	d := w.create(ts, "one", "tag", `{"text":"v0"}`)
	var newest atomic.Int64
	var stop atomic.Bool
	var calls, changes sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			for range 60 {
				atLeast := newest.Load()
				sent, _, _, err := through(t, sets[i%2], w.principal("ann"))
				var seen int64
				if _, scanned := fmt.Sscanf(sent, "args+v%d", &seen); scanned != nil || err != nil || seen < atLeast {
					t.Errorf("got %s, %v, and v%d was done before", sent, err, atLeast)
				}
			}
		})
	}
	changes.Go(func() {
		for n := int64(1); !stop.Load(); n++ {
			d.Config = fmt.Appendf(nil, `{"text":"v%d"}`, n)
			d = w.update(d)
			newest.Store(n)
		}
	})
	calls.Wait()
	stop.Store(true)
	changes.Wait()
}

func BenchmarkEntries(b *testing.B) {
	for _, n := range []int{0, 10, 10_000} {
		b.Run(fmt.Sprintf("others=%d", n), func(b *testing.B) {
			ts := newTypes()
			s := newSet(b, ts)
			var f hookset.File
			for i := range 5 {
				f.Hooks = append(f.Hooks, declared(ts, fmt.Sprintf("all%d", i), "tag", `{}`))
			}
			for i := range n {
				f.Hooks = append(f.Hooks, declared(ts, fmt.Sprintf("h%d", i), "tag", `{}`, func(d *hooks.Definition) { d.UserID = fmt.Sprintf("user%d", i) }))
			}
			if err := s.SetFile(f); err != nil {
				b.Fatal(err)
			}
			c := &hooks.Call{Level: hooks.Tool, Principal: ann, Tool: &core.Tool{Name: "echo"}, Server: &core.Server{ID: "s1", Name: "up"}}
			b.Run("entries", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					e, err := s.Entries(b.Context(), ann)
					if err != nil {
						b.Fatal(err)
					}
					e.Release()
				}
			})
			b.Run("chain", func(b *testing.B) {
				b.ReportAllocs()
				e, err := s.Entries(b.Context(), ann)
				if err != nil {
					b.Fatal(err)
				}
				defer e.Release()
				for b.Loop() {
					if len(e.Chain(c)) != 5 {
						b.Fatal("wrong")
					}
				}
			})
		})
	}
}

// BenchmarkRefresh is what one change costs the next call where many have hooks.
func BenchmarkRefresh(b *testing.B) {
	w, ts := newWorld(b), newTypes()
	s := w.instance(ts)
	var d hooks.Definition
	for i := range 2000 {
		d = w.create(ts, fmt.Sprintf("h%d", i), "tag", `{}`, func(d *hooks.Definition) { d.UserID = w.people["bob"].ID })
	}
	for b.Loop() {
		b.StopTimer()
		d = w.update(d)
		p := w.principal("ann")
		b.StartTimer()
		e, err := s.Entries(b.Context(), p)
		if err != nil {
			b.Fatal(err)
		}
		e.Release()
	}
}
