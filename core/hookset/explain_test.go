package hookset_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
)

func TestEffective(t *testing.T) {
	t.Parallel()
	ts := newTypes()
	s := newSet(t, ts)
	of := func(name string, change func(*hooks.Definition)) hooks.Definition {
		return declared(ts, name, "tag", `{}`, change)
	}
	f := hookset.File{Hooks: []hooks.Definition{
		of("mine", func(d *hooks.Definition) { d.UserID = "ann" }),
		of("all", func(*hooks.Definition) {}),
		of("both", func(d *hooks.Definition) { d.Level = "" }),
		of("pattern", func(d *hooks.Definition) { d.Pattern = "gh_*" }),
		of("agents", func(d *hooks.Definition) { d.Agents = []string{"ide"} }),
		of("servers", func(d *hooks.Definition) { d.Servers = []string{"db", "files"} }),
		of("server", func(d *hooks.Definition) { d.ServerID = "db" }),
		of("off", func(d *hooks.Definition) { d.Enabled = false }),
		of("meta", func(d *hooks.Definition) { d.Level, d.Agents = hooks.Meta, []string{"ide"} }),
		of("bobs", func(d *hooks.Definition) { d.UserID = "bob" }),
		declared(ts, "events", "handler", `{}`, func(d *hooks.Definition) { d.Events = []hooks.Event{core.EventServerFailed} }),
	}}
	if err := s.SetFile(f); err != nil {
		t.Fatal(err)
	}
	x, err := effective(t, s, ann, &core.Tool{Name: "echo"}, &core.Server{ID: "s1", Name: "up"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, chain := range [][]hookset.Explained{x.Outer, x.Inner, x.Skipped} {
		for _, e := range chain {
			got = append(got, strings.TrimSpace(e.Name+" "+e.Scope+" "+e.Why))
		}
		got = append(got, "--")
	}
	want := []string{"both global", "--", "all global", "both global", "mine user", "--",
		`agents global it is for the agents ide, and this is "cli"`,
		"events global it acts at server:failed alone",
		`meta global it is for the agents ide, and this is "cli"`,
		"off global it is switched off",
		`pattern global pattern "gh_*" does not match "echo"`,
		`server server it is for the server db, and the tool is on "up"`,
		`servers global it is for the servers db, files, and the tool is on "up"`, "--"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
	raw, err := json.Marshal(x.Inner[0])
	wantJSON := `{"id":"file:all","name":"all","type":"tag","scope":"global","level":"tool","events":["meta:before","meta:after","tool:before","tool:after"],` +
		`"mode":"enforce","onError":"ignore","priority":100,"timeout":"5s","origin":{"kind":"file","where":"toolscout.toml:1"},"state":{"state":"active"}}`
	if diff := cmp.Diff(string(raw), wantJSON); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if x, err = effective(t, s, ann, nil, nil); err != nil || len(x.Outer) != 1 || len(x.Inner) != 0 {
		t.Errorf("without a tool: %+v, %v", x, err)
	}
}

func TestTry(t *testing.T) {
	t.Parallel()
	published := false
	s := newSet(t, newTypes(), func(c *hookset.Config) {
		c.Publish = func(context.Context, core.Event) error { published = true; return nil }
	})
	call := hookset.TrialCall{Tool: &hookset.TrialTool{Name: "echo"}, User: "ann", Args: json.RawMessage(`1`), Result: json.RawMessage(`2`)}
	try := func(typ, config string, c hookset.TrialCall) (hookset.TrialResult, error) {
		t.Helper()
		r, err := s.Try(t.Context(), hookset.Trial{Type: typ, Config: json.RawMessage(config), Call: c, Origin: hooks.Origin{Kind: hooks.FromDatabase}})
		r.DurationMs = 0
		return r, err
	}
	r, err := try("tag", `{"text":"x"}`, call)
	want := hookset.TrialResult{Before: hookset.TrialState{Args: []byte(`1`), Result: []byte(`2`)}, After: hookset.TrialState{Args: []byte(`1+x`), Result: []byte(`2-x`)},
		Effects: []hooks.Effect{{Hook: "tag", Event: hooks.ToolBefore, Did: "edit"}, {Hook: "tag", Event: hooks.ToolAfter, Did: "edit"}}, Warnings: []string{}, Events: []hookset.TrialEvent{}}
	if diff := cmp.Diff(r, want); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if r, err = try("tag", `{"text":"fail"}`, call); err != nil || r.Failed != "out of paper" || string(r.After.Args) != "1" {
		t.Errorf("of a failure: %+v, %v", r, err)
	}
	if r, err = try("tag", `{"text":"quietly"}`, call); err != nil || r.Failed != `hook "tag" failed: the drawer is stuck` || r.Effects[0].Message != `hook "tag" failed` {
		t.Errorf("of a failure with a cause: %+v, %v", r, err)
	}
	script := `{"source":"def before_call(ctx, request):\n    reject('not today')\n"}`
	if r, err = try("script", script, hookset.TrialCall{}); err != nil || r.Rejected == nil || !strings.Contains(r.Rejected.Message, "not today") || r.Rejected.Kind != core.HookRejected {
		t.Errorf("of a rejection: %+v, %v", r, err)
	}
	var refused *core.Error
	if _, err = try("tag", `{"x":1}`, call); !errors.As(err, &refused) || refused.Kind != core.InvalidParams || refused.Faults[0].Pointer != "/config/x" {
		t.Errorf("got %v", err)
	}
	for name, trial := range map[string]hookset.Trial{"type": {Type: "tga"}, "level": {Type: "tag", Call: hookset.TrialCall{Level: "deep"}}} {
		if _, err := s.Try(t.Context(), trial); !errors.Is(err, core.InvalidParams) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if published {
		t.Error("a trial published something")
	}
}

// TestTrialPublishes nothing: what the hook says is part of the answer.
func TestTrialPublishes(t *testing.T) {
	t.Parallel()
	ts := newTypes()
	var s *hookset.Set
	talks := hooks.Type{Name: "talks", Schema: json.RawMessage(`{}`), New: func(hooks.Instance) (hooks.Hook, error) {
		return talker{func(ctx context.Context) error {
			return errors.Join(s.Publish(ctx, core.Event{Type: "said"}), s.PublishSync(ctx, core.Event{Type: "shouted"}))
		}}, nil
	}}
	s = newSet(t, ts, func(c *hookset.Config) {
		c.Types = append(c.Types, talks)
		c.Publish = func(context.Context, core.Event) error { return errors.New("it is not to be published") }
	})
	r, err := s.Try(t.Context(), hookset.Trial{Type: "talks"})
	if diff := cmp.Diff(r.Events, []hookset.TrialEvent{{Type: "said"}, {Type: "shouted"}}); diff != "" || err != nil || r.Failed != "" {
		t.Error(diff, err, r.Failed)
	}
}

// talker is a hook that publishes before a call.
type talker struct{ say func(context.Context) error }

func (h talker) Before(ctx context.Context, _ *hooks.Call) error { return h.say(ctx) }
func (talker) After(context.Context, *hooks.Call) error          { return nil }

func TestHandle(t *testing.T) {
	t.Parallel()
	ts := newTypes()
	s := newSet(t, ts)
	named := func(name, server string, events ...hooks.Event) hooks.Definition {
		return declared(ts, name, "handler", `{}`, func(d *hooks.Definition) { d.Events, d.ServerID, d.Level = events, server, "" })
	}
	if err := s.SetFile(hookset.File{Hooks: []hooks.Definition{named("failed", "", core.EventServerFailed, "deployed"), named("calls", "", hooks.ToolAfter),
		named("other", "s2", core.EventServerFailed)}}); err != nil {
		t.Fatal(err)
	}
	s.Handle(t.Context(), core.Event{Type: core.EventServerUp})
	s.Handle(t.Context(), core.Event{Type: core.EventToolAfter})
	s.Handle(t.Context(), core.Event{Type: core.EventServerFailed, ServerID: "s1", Subject: "up"})
	if e := <-ts.events; e.Type != core.EventServerFailed || e.Subject != "up" {
		t.Errorf("got %+v", e)
	}
	if err := s.Publish(t.Context(), core.Event{Type: "deployed"}); err != nil {
		t.Fatal(err)
	}
	if e := <-ts.events; e.Type != "deployed" {
		t.Errorf("got %+v", e)
	}
	if len(ts.events) > 0 {
		t.Errorf("and then %+v", <-ts.events)
	}
}

// TestHandlersDoNotGoRound: a hook that publishes what it handles hears it once.
func TestHandlersDoNotGoRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ts := newTypes()
		handled := 0
		var s *hookset.Set
		ts.handle = func(ctx context.Context, e core.Event) error {
			handled++
			return s.Publish(ctx, e)
		}
		s = newSet(t, ts)
		d := declared(ts, "echo", "handler", `{}`, func(d *hooks.Definition) { d.Events = []hooks.Event{"echo"} })
		if err := s.SetFile(hookset.File{Hooks: []hooks.Definition{d}}); err != nil {
			t.Fatal(err)
		}
		if err := s.Publish(t.Context(), core.Event{Type: "echo"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if handled != 1 {
			t.Errorf("handled %d times", handled)
		}
	})
}

// effective explains a call of execute_tool.
func effective(t *testing.T, s *hookset.Set, p core.Principal, tool *core.Tool, server *core.Server) (hookset.Explanation, error) {
	t.Helper()
	return s.Effective(t.Context(), &hooks.Call{Level: hooks.Meta, Action: "execute_tool", Principal: p, Tool: tool, Server: server},
		&hooks.Call{Level: hooks.Tool, Action: "execute_tool", Principal: p, Tool: tool, Server: server})
}
