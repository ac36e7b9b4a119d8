package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/hookstest"
)

// TestRandomChains sends random calls through random chains of the real types. Each
// hook is watched at work, and what becomes of a call is compared with what the rules
// make of what each hook did on its own: who ran, in which order, whose edits stand,
// and what was not to be touched.
func TestRandomChains(t *testing.T) {
	t.Parallel()
	const seeds, chains = 4, 150
	worlds := make([]*world, seeds)
	t.Run("seeds", func(t *testing.T) {
		for seed := range worlds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, rand.New(rand.NewPCG(uint64(seed), 7)))
				worlds[seed] = w
				for n := 0; n < chains && !t.Failed(); n++ {
					w.chain(n)
				}
			})
		}
	})
	if !t.Failed() {
		checkVariety(t, worlds)
	}
}

// chain makes a random set of hooks and sends calls through it.
func (w *world) chain(n int) {
	w.t.Helper()
	w.invent(n)
	types := hookTypes(w.parts)
	for i := range types {
		types[i] = w.watched(types[i])
	}
	set, err := hookset.New(hookset.Config{Types: types, Publish: w.publish, Runner: hooks.Config{Budget: time.Hour}})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := set.SetFile(hookset.File{Hooks: w.definitions()}); err != nil {
		w.t.Fatal(err)
	}
	var afterwards []func()
	for i := range 2 {
		afterwards = append(afterwards, w.call(set, fmt.Sprintf("r%d-%d", n, i)))
	}
	if err := set.Close(context.Background()); err != nil { // all that was in the background has run
		w.t.Error(err)
	}
	for _, check := range afterwards {
		check()
	}
	w.checkOutside()
}

// call sends one random call through a set and compares. What it returns compares
// what ran in the background.
func (w *world) call(set *hookset.Set, id string) (afterwards func()) {
	w.t.Helper()
	c := w.randomCall(id)
	what := fmt.Sprintf("%s: %s of %s through %v", id, c.Level, c.Action, w.applying(c))
	original, worked, failure := look(c), hookstest.Result(w.rand), w.randomFailure()
	if c.Action != "execute_tool" {
		worked = json.RawMessage(`{"tools":[ {"id":"1.0","score":1.50} ],"big":12345678901234567890}`)
	}
	exact := bytes.Clone(worked)
	entries, err := set.Entries(context.Background(), c.Principal)
	if err != nil {
		w.t.Fatal(err)
	}
	defer entries.Release()
	m := model{world: w, call: c, state: original}
	runErr := set.Runner().Run(context.Background(), entries.Chain(c), c, func(_ context.Context, c *hooks.Call) error {
		w.note(attempt{call: id, in: look(c)})
		c.Sent = true
		if failure == nil {
			c.Result = worked
		}
		return failure
	})
	m.diary = w.written(id, func(p *plan) bool { return p == nil || p.Mode != hooks.Background })
	if err := m.run(exact, failure); err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
	if got := look(c); !m.agrees(got) || !errors.Is(runErr, m.state.err) {
		w.t.Errorf("%s: it ends with %v as\n%v, want\n%v", what, runErr, got, m.state)
	}
	for _, a := range slices.Clone(m.background) { // the After sees how it ended
		m.background = append(m.background, attempt{hook: a.hook, half: after, in: m.state})
	}
	if got := effectsOf(c); !slices.Equal(got, m.effects) {
		w.t.Errorf("%s: effects\n%q, want\n%q", what, got, m.effects)
	}
	c.End(context.Background())
	m.checkEnd(what)
	ended := look(c)
	return func() {
		if now := look(c); !now.equal(ended) || !bytes.Equal(worked, exact) || !bytes.Equal(c.Original, original.args) {
			w.t.Errorf("%s: what ran in the background changed the call from\n%v to\n%v", what, ended, now)
		}
		m.checkBackground(what)
	}
}

// effectsOf puts a call's effects into words. Notes alone are left out: they are the
// hook's own affair.
func effectsOf(c *hooks.Call) []string {
	var list []string
	for _, e := range c.Effects {
		if e.Did != "note" {
			list = append(list, fmt.Sprint(e.Hook, " ", e.Event, " ", e.Mode, " ", e.Did))
		}
	}
	return list
}

// model is what the rules make of one call.
type model struct {
	world      *world
	call       *hooks.Call
	diary      []attempt
	state      view
	effects    []string
	block      *core.Error // what stopped the call
	background []attempt   // what is to run afterwards
	cuts       []cut
}

// run holds the diary against the rules. The error says that something ran which
// should not have, or did not run.
func (m *model) run(worked []byte, failure error) error {
	goes := true
	var entered []*plan
	for _, p := range m.world.applying(m.call) {
		if !goes || m.world.disabled[p.Name] && p.Mode != hooks.Background {
			continue
		}
		if p.Mode == hooks.Background {
			m.background = append(m.background, attempt{hook: p.Name, half: before, in: m.state})
			continue
		}
		entered = append(entered, p)
		var err error
		if goes, err = m.step(p, before); err != nil {
			return err
		}
	}
	if goes {
		a, err := m.next("", "")
		if err != nil {
			return err
		}
		if !a.in.equal(m.state) {
			return fmt.Errorf("the work got\n%v, want\n%v", a.in, m.state)
		}
		if m.state.err = failure; failure == nil {
			m.state.result = worked
		}
	}
	for _, p := range slices.Backward(entered) {
		if _, err := m.step(p, after); err != nil {
			return err
		}
	}
	if len(m.diary) > 0 {
		return fmt.Errorf("there is more than there should be: %s of %s", m.diary[0].half, m.diary[0].hook)
	}
	return nil
}

// next takes the next attempt, which has to be that one.
func (m *model) next(hook string, h half) (attempt, error) {
	if len(m.diary) == 0 {
		return attempt{}, fmt.Errorf("%q of %q did not run", h, hook)
	}
	a := m.diary[0]
	if a.hook != hook || a.half != h {
		return a, fmt.Errorf("%q of %q was to run, and %q of %q did", h, hook, a.half, a.hook)
	}
	m.diary = m.diary[1:]
	return a, nil
}

// step is what one half of a hook makes of the call. It reports whether the call goes
// on inwards.
func (m *model) step(p *plan, h half) (goes bool, err error) {
	if !p.takes(m.call.Level, h) {
		return true, nil
	}
	a, err := m.next(p.Name, h)
	if err != nil {
		return false, err
	}
	if !m.agrees(a.in) {
		return false, fmt.Errorf("%s of %v got\n%v, want\n%v", h, p, a.in, m.state)
	}
	m.effect(p, a)
	switch {
	case p.Mode == hooks.Observe:
		return true, nil
	case a.err == nil:
		m.take(p, a)
	case isRejection(a.err), p.OnError == hooks.Fail:
		m.block = blame(p, a.err)
		m.state.err, m.state.result = m.block, nil
		return false, nil
	default:
		m.state.warnings = append(slices.Clip(m.state.warnings), fmt.Sprintf("hook %q was left out: %s", p.Name, blame(p, a.err).Message))
		m.world.disabled[p.Name] = p.OnError == hooks.Disable
	}
	return m.state.result == nil, nil
}

// take takes over what a hook did.
func (m *model) take(p *plan, a attempt) {
	m.world.checkUntouched(p, a)
	if a.half == before {
		m.state.args = a.out.args
	} else {
		m.state.err = a.out.err
		m.cut(p, a)
	}
	m.state.result, m.state.warnings = a.out.result, a.out.warnings
}

// agrees reports whether a call is as the model has it. The error by which it was
// stopped need only say the same: a hint is added to it.
func (m *model) agrees(got view) bool {
	if m.block != nil && errors.Is(m.state.err, m.block) && got.err != nil {
		if told := core.Public(got.err); told.Kind != m.block.Kind || told.Message != m.block.Message {
			return false
		}
		m.state.err, m.block = got.err, nil
	}
	return got.equal(m.state)
}

func isRejection(err error) bool {
	var r *hooks.Rejection
	return errors.As(err, &r)
}

// blame is what callers are told of a failure.
func blame(p *plan, err error) *core.Error {
	var told *core.Error
	if errors.As(err, &told) {
		return told
	}
	return core.Errorf(core.Internal, "hook %q failed", p.Name)
}

// effect is what is to be recorded of an attempt.
func (m *model) effect(p *plan, a attempt) {
	did := ""
	switch {
	case isRejection(a.err):
		did = "reject"
	case a.err != nil:
		did = "fail"
	case a.half == before && a.out.result != nil:
		did = "answer"
	case !bytes.Equal(a.out.args, a.in.args), !bytes.Equal(a.out.result, a.in.result), (a.out.err == nil) != (a.in.err == nil):
		did = "edit"
	default:
		return
	}
	m.world.did(p.Type, did)
	mode := hooks.Mode("")
	if p.Mode == hooks.Observe {
		mode = hooks.Observe
	}
	m.effects = append(m.effects, fmt.Sprint(p.Name, " ", m.call.Level, ":", a.half, " ", mode, " ", did))
}

// cut is truncations of which each shortened what the one before had left.
type cut struct {
	whole [][]byte
	left  []byte
}

func (m *model) cut(p *plan, a attempt) {
	if p.Type != "response_truncation" || !p.stores || bytes.Equal(a.in.result, a.out.result) {
		return
	}
	n := len(m.cuts)
	if n == 0 || !bytes.Equal(m.cuts[n-1].left, a.in.result) {
		m.cuts = append(m.cuts, cut{})
		n++
	}
	m.cuts[n-1].whole, m.cuts[n-1].left = append(m.cuts[n-1].whole, a.in.result), a.out.result
}

// checkEnd compares what is left behind when the call is over: whole results, of
// what the caller got and of nothing else.
func (m *model) checkEnd(what string) {
	m.world.t.Helper()
	want := m.state.warnings
	var kept []byte
	for _, cut := range m.cuts {
		for _, whole := range cut.whole {
			switch {
			case m.state.result == nil:
			case bytes.Equal(cut.left, m.state.result):
				kept = whole
			default:
				want = append(slices.Clip(want), "the rest of the result is not kept: a hook further out changed what was left of it")
			}
		}
	}
	if got := m.call.Warnings; !slices.Equal(got, want) {
		m.world.t.Errorf("%s: at the end the warnings are %q, want %q", what, got, want)
	}
	if kept == nil {
		return
	}
	raw, err := json.Marshal(m.call.Meta["truncated"])
	if err != nil {
		m.world.t.Fatal(err)
	}
	var meta struct{ Rest string }
	if err := json.Unmarshal(raw, &meta); err != nil {
		m.world.t.Fatal(err)
	}
	got, err := m.world.parts.store.Result(context.Background(), m.call.Principal, strings.TrimPrefix(meta.Rest, "toolscout://results/"))
	if err != nil || !bytes.Equal(got.Body, kept) {
		m.world.t.Errorf("%s: %s was kept as %.500q (%v), want %.500q", what, meta.Rest, got.Body, err, kept)
	}
}

// checkBackground compares what ran in the background with what was to.
func (m *model) checkBackground(what string) {
	m.world.t.Helper()
	ran := m.world.written(m.call.RequestID, func(p *plan) bool { return p != nil && p.Mode == hooks.Background })
	for _, want := range m.background {
		p := m.world.plans[want.hook]
		if !p.takes(m.call.Level, want.half) {
			continue
		}
		i := slices.IndexFunc(ran, func(a attempt) bool { return a.hook == want.hook && a.half == want.half })
		if i < 0 {
			m.world.t.Errorf("%s: %s of %v did not run in the background", what, want.half, p)
			continue
		}
		if !ran[i].in.equal(want.in) {
			m.world.t.Errorf("%s: %s of %v got in the background\n%v, want\n%v", what, want.half, p, ran[i].in, want.in)
		}
		ran = slices.Delete(ran, i, i+1)
	}
	if len(ran) > 0 {
		m.world.t.Errorf("%s: %s of %s ran in the background, and should not have", what, ran[0].half, ran[0].hook)
	}
}
