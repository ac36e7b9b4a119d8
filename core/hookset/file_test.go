package hookset_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
)

func TestSetFile(t *testing.T) {
	t.Parallel()
	ts := newTypes()
	s := newSet(t, ts)
	of := func(user, server string, priority int) func(*hooks.Definition) {
		return func(d *hooks.Definition) { d.UserID, d.ServerID, d.Priority = user, server, priority }
	}
	f := hookset.File{Hooks: []hooks.Definition{
		declared(ts, "both", "tag", `{"text":"both"}`, of("ann", "s1", 0)), declared(ts, "user", "tag", `{"text":"user"}`, of("u1", "", 0)),
		declared(ts, "server", "tag", `{"text":"server"}`, of("", "up", 0)), declared(ts, "b", "tag", `{"text":"b"}`, of("", "", 1)),
		declared(ts, "a", "tag", `{"text":"a"}`, of("", "", 2)), declared(ts, "bobs", "tag", `{"text":"bobs"}`, of("bob", "", 0)),
		declared(ts, "off", "tag", `{"text":"off"}`, func(d *hooks.Definition) { d.Enabled = false }),
	}}
	if err := s.SetFile(f); err != nil {
		t.Fatal(err)
	}
	sent, got, _, err := through(t, s, ann)
	if want := "args+b+a+server+user+both"; sent != want || got != "result-both-user-server-a-b" || err != nil {
		t.Errorf("got %s, %s, %v", sent, got, err)
	}
	if sent, _, _, _ := through(t, s, core.Principal{UserID: "u2", UserName: "bob"}); sent != "args+b+a+server+bobs" {
		t.Errorf("bob: %s", sent)
	}
	var names []string
	for _, d := range s.Definitions() {
		names = append(names, d.ID)
		if d.Version == 0 || s.State(d).State != hookset.Active {
			t.Errorf("%+v, %+v", d, s.State(d))
		}
	}
	if diff := cmp.Diff(strings.Join(names, " "), "file:a file:b file:bobs file:both file:off file:server file:user"); diff != "" {
		t.Error(diff)
	}
}

// TestUnchangedHooksStay while others come, change and go.
func TestUnchangedHooksStay(t *testing.T) {
	t.Parallel()
	ts := newTypes()
	s := newSet(t, ts)
	set := func(hs ...hooks.Definition) {
		t.Helper()
		if err := s.SetFile(hookset.File{Hooks: hs}); err != nil {
			t.Fatal(err)
		}
	}
	stays := declared(ts, "stays", "tag", `{"text":"stays"}`)
	set(stays, declared(ts, "other", "tag", `{"text":"v1"}`))
	set(stays, declared(ts, "other", "tag", `{"text":"v2"}`))
	stays.Origin.Where = "toolscout.toml:7"
	set(stays)
	if made := ts.counted("made"); made != 3 {
		t.Errorf("%d hooks were made, want 3", made)
	}
	if sent, _, _, _ := through(t, s, ann); sent != "args+stays" {
		t.Errorf("got %s", sent)
	}
	if got := s.Definitions()[0].Origin.Where; got != "toolscout.toml:7" {
		t.Errorf("it is said to be at %s", got)
	}
}

func TestBadFileChangesNothing(t *testing.T) {
	t.Parallel()
	ts := newTypes()
	s := newSet(t, ts)
	good := declared(ts, "good", "tag", `{"text":"good"}`)
	if err := s.SetFile(hookset.File{Hooks: []hooks.Definition{good}}); err != nil {
		t.Fatal(err)
	}
	err := s.SetFile(hookset.File{Hooks: []hooks.Definition{declared(ts, "new", "tag", `{"text":"new"}`),
		declared(ts, "bad", "tag", `{"txet":"x","limits":[{"rate":0}]}`), declared(ts, "worse", "tag", `{}`, func(d *hooks.Definition) { d.OnError = "shrug" })}})
	var invalid *hookset.InvalidError
	if !errors.As(err, &invalid) || invalid.Hook != "bad" || invalid.Origin.Where != "toolscout.toml:1" {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{`toolscout.toml:1: hook "bad": /config/`, `hook "worse": /onError is "shrug", and can be fail, ignore, disable`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %s", err, want)
		}
	}
	if sent, _, _, _ := through(t, s, ann); sent != "args+good" {
		t.Errorf("got %s", sent)
	}
	if err := s.SetFile(hookset.File{OpenToUsers: []string{"tga"}}); !errors.Is(err, core.InvalidParams) {
		t.Errorf("got %v", err)
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	ts := newTypes()
	s := newSet(t, ts)
	full := func(change func(*hooks.Definition)) hooks.Definition { return declared(ts, "one", "tag", `{}`, change) }
	for name, tc := range map[string]struct {
		change func(*hooks.Definition)
		want   []core.Fault
	}{
		"good": {change: func(*hooks.Definition) {}},
		"unknown type": {func(d *hooks.Definition) { d.Type = "tga" },
			[]core.Fault{{Pointer: "/type", Message: `there is no type "tga"; there are guard, handler, pair, script, tag`}}},
		"no name":       {func(d *hooks.Definition) { d.Name = " " }, []core.Fault{{Pointer: "/name", Message: "is required"}}},
		"control":       {func(d *hooks.Definition) { d.Name = "a\nb" }, []core.Fault{{Pointer: "/name", Message: "holds characters that a name cannot have"}}},
		"level":         {func(d *hooks.Definition) { d.Level = "inner" }, []core.Fault{{Pointer: "/level", Message: `is "inner", and can be both, meta, tool`}}},
		"mode":          {func(d *hooks.Definition) { d.Mode = "dry" }, []core.Fault{{Pointer: "/mode", Message: `is "dry", and can be enforce, observe, background`}}},
		"timeout":       {func(d *hooks.Definition) { d.Timeout = -time.Second }, []core.Fault{{Pointer: "/timeout", Message: "is not between 1ms and 24h"}}},
		"empty server":  {func(d *hooks.Definition) { d.Servers = []string{"a", ""} }, []core.Fault{{Pointer: "/servers/1", Message: "is required"}}},
		"no event":      {func(d *hooks.Definition) { d.Events = []hooks.Event{"Tool After"} }, []core.Fault{{Pointer: "/events/0", Message: `"Tool After" is not an event, as tool:after and server:failed are`}}},
		"never happens": {func(d *hooks.Definition) { d.Events = []hooks.Event{hooks.MetaAfter} }, []core.Fault{{Pointer: "/events", Message: "none of these happens at the level tool"}}},
		"not a handler": {func(d *hooks.Definition) { d.Events = []hooks.Event{hooks.ToolAfter, core.EventServerFailed} },
			[]core.Fault{{Pointer: "/events/1", Message: "this hook acts on calls alone, which have no server:failed"}}},
		"event of another type": {func(d *hooks.Definition) {
			d.Type, d.Events = "guard", []hooks.Event{hooks.ToolBefore, hooks.ToolAfter}
		},
			[]core.Fault{{Pointer: "/events/1", Message: "a guard does nothing at tool:after"}}},
		"half of a pair": {func(d *hooks.Definition) {
			d.Type, d.Events = "pair", []hooks.Event{hooks.ToolBefore}
		},
			[]core.Fault{{Pointer: "/events", Message: "a pair needs tool:before and tool:after together"}}},
		"scope": {func(d *hooks.Definition) { d.Type, d.UserID = "guard", "ann" },
			[]core.Fault{{Pointer: "/userId", Message: "a guard has no scope user, only global, server"}}},
		"unknown member": {func(d *hooks.Definition) { d.Config = json.RawMessage(`{"a/b":1}`) },
			[]core.Fault{{Pointer: "/config/a~1b", Message: "is not a setting of this type"}}},
		"deep":          {func(d *hooks.Definition) { d.Config = json.RawMessage(`{"limits":[{"rate":1},{"rate":0}]}`) }, []core.Fault{{Pointer: "/config/limits/1/rate", Message: "minimum: got 0, want 1"}}},
		"not an object": {func(d *hooks.Definition) { d.Config = json.RawMessage(`[]`) }, []core.Fault{{Pointer: "/config", Message: "got array, want object"}}},
		"not JSON":      {func(d *hooks.Definition) { d.Config = json.RawMessage(`{`) }, []core.Fault{{Pointer: "/config", Message: "is not valid JSON"}}},
		"secret":        {func(d *hooks.Definition) { d.Config = json.RawMessage(`{"key":"abc"}`) }, []core.Fault{{Pointer: "/config/key", Message: "is not a value that fits here"}}},
		"environment":   {func(d *hooks.Definition) { d.Config = json.RawMessage(`{"text":"${A_VERY_LONG_NAME}"}`) }, []core.Fault{{Pointer: "/config/text", Message: "is not a value that fits here"}}},
		"not set":       {func(d *hooks.Definition) { d.Config = json.RawMessage(`{"text":"${MISSING}"}`) }, []core.Fault{{Pointer: "/config/text", Message: "the environment variable MISSING is not set"}}},
		"file of a row": {func(d *hooks.Definition) {
			d.Type, d.Config, d.Origin.Kind = "script", json.RawMessage(`{"file":"/etc/passwd"}`), hooks.FromDatabase
		}, []core.Fault{{Pointer: "/config/file", Message: "files are for hooks of the configuration file: give the source instead"}}},
		"several": {func(d *hooks.Definition) { d.Name, d.Config = "", json.RawMessage(`{"x":1}`) },
			[]core.Fault{{Pointer: "/name", Message: "is required"}, {Pointer: "/config/x", Message: "is not a setting of this type"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, faults := s.Prepare(full(tc.change))
			if diff := cmp.Diff(faults, tc.want); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRefusedByTheType is what only the type itself can see.
func TestRefusedByTheType(t *testing.T) {
	t.Parallel()
	ts := newTypes()
	s := newSet(t, ts)
	for config, want := range map[string]string{
		`{"text":"refuse"}`: "/config/text is refused",
		`{"text":"panic"}`:  "/config the hook cannot be made of this configuration",
	} {
		_, faults := s.Prepare(declared(ts, "one", "tag", config))
		ts.count("refused")
		if len(faults) != 1 || faults[0].Pointer+" "+faults[0].Message != want {
			t.Errorf("%s: got %v", config, faults)
		}
	}
}

func TestPrepareFillsIn(t *testing.T) {
	t.Parallel()
	s := newSet(t, newTypes())
	got, faults := s.Prepare(hooks.Definition{Name: "one", Type: "tag", Level: hooks.Both})
	want := hooks.Definition{Name: "one", Type: "tag", Mode: hooks.Enforce, OnError: hooks.Ignore, Pattern: "*", Timeout: hooks.DefaultTimeout,
		Config: json.RawMessage(`{}`)}
	if diff := cmp.Diff(got, want); diff != "" || len(faults) > 0 {
		t.Error(diff, faults)
	}
	again, faults := s.Prepare(got)
	if diff := cmp.Diff(again, got); diff != "" || len(faults) > 0 {
		t.Errorf("what is prepared changes: %s %v", diff, faults)
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	ts := newTypes()
	s := newSet(t, ts)
	d := declared(ts, "one", "tag", `{"text":"${A}","limits":[],"key":"${KEY}"}`)
	if err := s.SetFile(hookset.File{Hooks: []hooks.Definition{d}}); err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal(ts.last().Config, &config); err != nil || config["text"] != "value of A" || config["key"] != "value of KEY" {
		t.Errorf("got %v, %v", config, err)
	}
	if got := string(s.Definitions()[0].Config); got != string(d.Config) {
		t.Errorf("the definition holds what the environment does: %s", got)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, types := range map[string][]hooks.Type{
		"not JSON":   {{Name: "a", Schema: json.RawMessage(`{`)}},
		"no schema":  {{Name: "a", Schema: json.RawMessage(`{"type":7}`)}},
		"same names": {{Name: "a", Schema: json.RawMessage(`{}`)}, {Name: "a", Schema: json.RawMessage(`{}`)}},
	} {
		if _, err := hookset.New(hookset.Config{Types: types}); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}
