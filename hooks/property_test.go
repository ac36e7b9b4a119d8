package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// act is what one half of a hook does in a random chain.
type act int

const (
	nothing act = iota
	edit
	fail
	panics
	reject
	acts
)

// plan is one random hook, and what is to come of it.
type plan struct {
	before, after act
	policy        hooks.OnError
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
			plans[j] = plan{weighted(rng), weighted(rng), [...]hooks.OnError{hooks.Fail, hooks.Ignore}[rng.IntN(2)]}
		}
		var d diary
		entries := make([]hooks.Entry, len(plans))
		for j, p := range plans {
			entries[j] = hooks.Entry{Name: fmt.Sprintf("%d", j), Priority: j, OnError: p.policy, Hook: p.hook(&d, j), Inline: j%2 == 0}
		}
		rng.Shuffle(len(entries), func(a, b int) { entries[a], entries[b] = entries[b], entries[a] })
		c := newCall()
		c.Args = json.RawMessage(`args`)
		err := r.Run(t.Context(), hooks.Compile(entries, c), c, func(_ context.Context, c *hooks.Call) error {
			d.note("work(%s)", c.Args)
			c.Result = json.RawMessage(`result`)
			return nil
		})
		got := fmt.Sprintf("%s | %s | %v | %d warnings", d.String(), c.Result, err != nil, len(c.Warnings))
		if want := model(plans); got != want {
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

// model says what must come of a chain.
func model(plans []plan) string {
	var lines []string
	args, result, failed, warnings, entered := "args", "", false, 0, 0
	blocks := func(p plan, a act) bool { return a == reject || (a == fail || a == panics) && p.policy == hooks.Fail }
	for n, p := range plans {
		lines = append(lines, fmt.Sprintf("+%d", n))
		entered++
		if blocks(p, p.before) {
			failed = true
			break
		}
		switch p.before {
		case edit:
			args += fmt.Sprintf("+%d", n)
		case fail, panics:
			warnings++
		}
	}
	if !failed {
		lines = append(lines, fmt.Sprintf("work(%s)", args))
		result = "result"
	}
	for n := entered - 1; n >= 0; n-- {
		p := plans[n]
		lines = append(lines, fmt.Sprintf("-%d", n))
		switch {
		case blocks(p, p.after):
			failed, result = true, ""
		case p.after == edit && result != "":
			result += fmt.Sprintf("-%d", n)
		case p.after == fail || p.after == panics:
			warnings++
		}
	}
	return fmt.Sprintf("%s | %s | %v | %d warnings", strings.Join(lines, " "), result, failed, warnings)
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
