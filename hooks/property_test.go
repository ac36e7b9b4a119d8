package hooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/hookstest"
)

// act is what one half of a hook does in a random chain.
type act int

const (
	nothing act = iota
	edit
	fail
	panics
	reject
	answer // after the call it is an edit
	acts
)

// plan is one random hook, and what is to come of it.
type plan struct {
	before, after act
	policy        hooks.OnError
	observe       bool
}

// TestRandomChains compares chains of random hooks with a model of the rules: who
// is entered, who is left, what of their edits stands, and how the call ends.
func TestRandomChains(t *testing.T) {
	t.Parallel()
	r := newRunner(t, hooks.Config{})
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		plans := make([]plan, rng.IntN(7))
		for j := range plans {
			plans[j] = plan{weighted(rng), weighted(rng), [...]hooks.OnError{hooks.Fail, hooks.Ignore}[rng.IntN(2)], rng.IntN(5) == 0}
		}
		var d diary
		entries := make([]hooks.Entry, len(plans))
		for j, p := range plans {
			entries[j] = hooks.Entry{Name: fmt.Sprintf("%d", j), Priority: j, OnError: p.policy, Hook: p.hook(&d, j), Inline: j%2 == 0}
			if p.observe {
				entries[j].Mode = hooks.Observe
			}
		}
		rng.Shuffle(len(entries), func(a, b int) { entries[a], entries[b] = entries[b], entries[a] })
		c := newCall()
		c.Args = json.RawMessage(`args`)
		result := hookstest.Result(rng)
		exact := bytes.Clone(result)
		err := r.Run(t.Context(), hooks.Compile(entries, c), c, func(_ context.Context, c *hooks.Call) error {
			d.note("work(%s)", c.Args)
			c.Result = result
			return nil
		})
		if !bytes.Equal(result, exact) || c.Raw != nil && &c.Raw[0] != &result[0] {
			t.Fatalf("chain %d: the bytes that the work gave were changed in place", i)
		}
		got := fmt.Sprintf("%s | %s | %v | %d warnings", d.String(), c.Result, err != nil, len(c.Warnings))
		if want := model(plans, string(exact)); got != want {
			t.Fatalf("chain %d: %+v\ngot  %s\nwant %s", i, plans, got, want)
		}
	}
}

func weighted(rng *rand.Rand) act {
	if rng.IntN(2) == 0 {
		return [...]act{nothing, edit}[rng.IntN(2)]
	}
	return act(rng.IntN(int(acts)))
}

func (p plan) hook(d *diary, n int) hooks.Hook {
	half := func(sign string, a act, change func(*hooks.Call)) func(context.Context, *hooks.Call) error {
		return func(_ context.Context, c *hooks.Call) error {
			d.note("%s%d", sign, n)
			if a != nothing {
				change(c)
			}
			switch a {
			case fail:
				return errors.New("failed")
			case panics:
				panic("failed")
			case answer:
				if sign == "+" {
					c.Result = json.RawMessage(`answer`)
				}
			case reject:
				return hooks.Reject(core.HookRejected, "no")
			}
			return nil
		}
	}
	return hook{
		before: half("+", p.before, func(c *hooks.Call) { c.Args = fmt.Appendf(nil, "%s+%d", c.Args, n) }),
		after: half("-", p.after, func(c *hooks.Call) {
			if c.Result != nil {
				c.Result = fmt.Appendf(nil, "%s-%d", c.Result, n)
			}
		}),
	}
}

// model says what must come of a chain around work that gives this result.
func model(plans []plan, worked string) string {
	m := outcome{args: "args"}
	stops := m.in(plans)
	if !stops {
		m.lines = append(m.lines, fmt.Sprintf("work(%s)", m.args))
		m.result = worked
	}
	m.out(plans)
	return fmt.Sprintf("%s | %s | %v | %d warnings", strings.Join(m.lines, " "), m.result, m.failed, m.warnings)
}

// outcome is what becomes of a call in the model.
type outcome struct {
	lines             []string
	args, result      string
	failed            bool
	warnings, entered int
}

func (p plan) blocks(a act) bool {
	return !p.observe && (a == reject || (a == fail || a == panics) && p.policy == hooks.Fail)
}

func (m *outcome) in(plans []plan) (stops bool) {
	for n, p := range plans {
		m.lines = append(m.lines, fmt.Sprintf("+%d", n))
		m.entered++
		switch {
		case p.blocks(p.before):
			m.failed = true
			return true
		case p.observe:
		case p.before == edit, p.before == answer:
			m.args += fmt.Sprintf("+%d", n)
			if p.before == answer {
				m.result = "answer"
				return true
			}
		case p.before == fail, p.before == panics:
			m.warnings++
		}
	}
	return false
}

func (m *outcome) out(plans []plan) {
	for n := m.entered - 1; n >= 0; n-- {
		p := plans[n]
		m.lines = append(m.lines, fmt.Sprintf("-%d", n))
		switch {
		case p.blocks(p.after):
			m.failed, m.result = true, ""
		case p.observe:
		case p.after == edit || p.after == answer:
			if m.result != "" {
				m.result += fmt.Sprintf("-%d", n)
			}
		case p.after == fail || p.after == panics:
			m.warnings++
		}
	}
}

func BenchmarkRun(b *testing.B) {
	for _, n := range []int{0, 1, 2, 5, 10} {
		benchmarkRun(b, n, false)
	}
	benchmarkRun(b, 2, true)
}

func benchmarkRun(b *testing.B, n int, inline bool) {
	b.Run(fmt.Sprintf("hooks=%d/inline=%v", n, inline), func(b *testing.B) {
		r := newRunner(b, hooks.Config{})
		entries := make([]hooks.Entry, n)
		for i := range entries {
			entries[i] = hooks.Entry{Name: fmt.Sprint(i), Priority: i, Hook: hook{}, Inline: inline}
		}
		b.ReportAllocs()
		for b.Loop() {
			c := newCall()
			if err := r.Run(b.Context(), hooks.Compile(entries, c), c, func(context.Context, *hooks.Call) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
}
