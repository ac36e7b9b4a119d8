package emit_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/emit"
)

// bus keeps what was published, and how.
type bus struct {
	queued, stored []core.Event
	err            error
}

func (b *bus) config() emit.Config {
	return emit.Config{
		Publish:     func(_ context.Context, e core.Event) error { b.queued = append(b.queued, e); return b.err },
		PublishSync: func(_ context.Context, e core.Event) error { b.stored = append(b.stored, e); return b.err },
	}
}

func newHook(t *testing.T, b *bus, config string) hooks.Hook {
	t.Helper()
	h, err := emit.Type(b.config()).New(hooks.Instance{Name: "test", Config: json.RawMessage(config)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func newCall() *hooks.Call {
	return &hooks.Call{RequestID: "r1", Level: hooks.Tool, Action: "execute_tool",
		Principal: core.Principal{TenantID: "t", UserID: "u1", UserName: "ann", Agent: "ide"},
		Server:    &core.Server{ID: "s1", Name: "github"}, Tool: &core.Tool{ID: "t1", ServerID: "s1", Name: "github_search"},
		Args: json.RawMessage(`{"q":"go","token":"abc"}`), Original: json.RawMessage(`{"q":"go"}`)}
}

// through sends a call through the hook alone.
func through(t *testing.T, h hooks.Hook, mode hooks.Mode, c *hooks.Call, work error) error {
	t.Helper()
	r := hooks.NewRunner(hooks.Config{})
	defer func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	entries := []hooks.Entry{{Name: "emit", Mode: mode, OnError: hooks.Fail, Inline: true, Hook: h}}
	return r.Run(t.Context(), hooks.Compile(entries, c), c, func(_ context.Context, c *hooks.Call) error {
		c.Result = json.RawMessage(`{"content":[{"type":"text","text":"found"}]}`)
		return work
	})
}

func TestPublishes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		config string
		work   error
		want   string
	}{
		"shapes": {`{"channel":"used"}`, nil,
			`{"requestId":"r1","level":"tool","action":"execute_tool","tool":"github_search","toolId":"t1","server":"github","user":"ann","agent":"ide","outcome":"ok","arguments":{"q":"string(2)","token":"string(3)"}}`},
		"values": {`{"channel":"used","arguments":"values","result":"values"}`, nil,
			`{"requestId":"r1","level":"tool","action":"execute_tool","tool":"github_search","toolId":"t1","server":"github","user":"ann","agent":"ide","outcome":"ok","arguments":{"q":"go","token":"[redacted]"},"result":{"content":[{"type":"text","text":"found"}]}}`},
		"nothing of a failure": {`{"channel":"used","arguments":"none","result":"shape"}`, core.Errorf(core.Timeout, "too slow"),
			`{"requestId":"r1","level":"tool","action":"execute_tool","tool":"github_search","toolId":"t1","server":"github","user":"ann","agent":"ide","outcome":"timeout","errorKind":"timeout","result":{"content":["array(1) of",{"type":"string(4)","text":"string(5)"}]}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bus
			c := newCall()
			err := through(t, newHook(t, &b, tc.config), hooks.Enforce, c, tc.work)
			if !errors.Is(err, tc.work) {
				t.Fatal(err)
			}
			if len(b.queued) != 1 || len(b.stored) != 0 {
				t.Fatalf("%d queued, %d stored, want 1 and 0", len(b.queued), len(b.stored))
			}
			e := b.queued[0]
			if age := time.Since(e.Time); age < 0 || age > time.Minute {
				t.Errorf("the event is %v old", age)
			}
			got := core.Event{Type: e.Type, Subject: e.Subject, TenantID: e.TenantID, UserID: e.UserID, ServerID: e.ServerID}
			want := core.Event{Type: "used", Subject: "github_search", TenantID: "t", UserID: "u1", ServerID: "s1"}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(fields(t, string(e.Data)), fields(t, tc.want)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// fields decodes an event's data without what differs from run to run.
func fields(t *testing.T, data string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(data), &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "durationMs")
	return m
}

func TestWaitStoresBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	var b bus
	if err := through(t, newHook(t, &b, `{"channel":"used","wait":true}`), hooks.Enforce, newCall(), nil); err != nil {
		t.Fatal(err)
	}
	if len(b.stored) != 1 || len(b.queued) != 0 {
		t.Errorf("%d stored, %d queued, want 1 and 0", len(b.stored), len(b.queued))
	}
}

func TestObserveOnlyNotes(t *testing.T) {
	t.Parallel()
	var b bus
	c := newCall()
	if err := through(t, newHook(t, &b, `{"channel":"used"}`), hooks.Observe, c, nil); err != nil {
		t.Fatal(err)
	}
	if len(b.queued)+len(b.stored) != 0 {
		t.Error("an event was published")
	}
	want := []hooks.Effect{{Hook: "emit", Event: hooks.ToolAfter, Mode: hooks.Observe, Did: "note", Notes: map[string]any{"event": "used"}}}
	if diff := cmp.Diff(c.Effects, want); diff != "" {
		t.Error(diff)
	}
}

func TestFullBusIsAFailure(t *testing.T) {
	t.Parallel()
	b := bus{err: core.Errorf(core.Unavailable, "the queue of events is full")}
	err := through(t, newHook(t, &b, `{"channel":"used"}`), hooks.Enforce, newCall(), nil)
	if !errors.Is(err, core.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
}

func TestRefusesChannels(t *testing.T) {
	t.Parallel()
	for _, channel := range []string{"tool:after", "Big", "", "a b"} {
		config, err := json.Marshal(map[string]string{"channel": channel})
		if err != nil {
			t.Fatal(err)
		}
		_, err = emit.Type(emit.Config{}).New(hooks.Instance{Config: config})
		if e := core.Public(err); !errors.Is(err, core.InvalidParams) || len(e.Faults) != 1 || e.Faults[0].Pointer != "/channel" {
			t.Errorf("%q: got %v, want a fault at /channel", channel, err)
		}
	}
}
