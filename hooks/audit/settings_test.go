package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/audit"
)

// configured is an entry of the type, for whom change says.
func configured(t *testing.T, config string, change func(*hooks.Entry)) hooks.Entry {
	t.Helper()
	typ := audit.Type()
	h, err := typ.New(hooks.Instance{Config: json.RawMessage(config)})
	if err != nil {
		t.Fatal(err)
	}
	e := hooks.Entry{Name: config, Type: typ.Name, Priority: typ.Priority, Events: typ.Events, Inline: typ.Inline, Hook: h}
	if change != nil {
		change(&e)
	}
	return e
}

// detailsOf gives what the row of a call keeps.
func detailsOf(t *testing.T, values bool, c *hooks.Call, heed func(c *hooks.Call), err error) string {
	t.Helper()
	var got string
	synctest.Test(t, func(t *testing.T) {
		var db table
		w := audit.NewWriter(audit.Config{Append: db.append, Values: values})
		if heed != nil {
			heed(c)
		}
		c.Sent = c.Level == hooks.Tool
		if e := pass(t, w, c, func(context.Context, *hooks.Call) error { return err }); !errors.Is(e, err) {
			t.Error(e)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if c.Level == hooks.Tool {
			got = string(db.usages[0].Details)
			return
		}
		got = string(db.audits[0].Details)
	})
	return got
}

func TestSettings(t *testing.T) {
	t.Parallel()
	const args = `{"a":"one","b":{"ssn":"two","Password":"three"},"list":[{"x":"four"}]}`
	shape := `{"args":{"a":"string(3)","b":{"Password":"string(5)","ssn":"string(3)"},"list":["array(1) of",{"x":"string(4)"}]}}`
	for _, tc := range []struct {
		name    string
		values  bool // of [audit]
		entries func(t *testing.T) []hooks.Entry
		want    string
	}{
		{"none", true, nil, `{"args":{"a":"one","b":{"Password":"[redacted]","ssn":"two"},"list":[{"x":"four"}]}}`},
		{"shapes", true, func(t *testing.T) []hooks.Entry { return []hooks.Entry{configured(t, `{"values":false}`, nil)} }, shape},
		{"values", false, func(t *testing.T) []hooks.Entry { return []hooks.Entry{configured(t, `{"values":true}`, nil)} },
			`{"args":{"a":"one","b":{"Password":"[redacted]","ssn":"two"},"list":[{"x":"four"}]}}`},
		{"narrowest_counts", false, func(t *testing.T) []hooks.Entry {
			return []hooks.Entry{
				configured(t, `{"values":false}`, func(e *hooks.Entry) { e.UserID, e.ServerID = "u", "s1" }),
				configured(t, `{"values":true}`, func(e *hooks.Entry) { e.ServerID = "s1" }),
			}
		}, shape},
		{"says_nothing_of_values", true, func(t *testing.T) []hooks.Entry {
			return []hooks.Entry{
				configured(t, `{"values":false}`, nil),
				configured(t, `{"wait":true}`, func(e *hooks.Entry) { e.UserID = "u" }),
			}
		}, shape},
		{"redactions_add_up", true, func(t *testing.T) []hooks.Entry {
			return []hooks.Entry{
				configured(t, `{"redact":["S?N"]}`, nil),
				configured(t, `{"redact":["/list/*/x"]}`, func(e *hooks.Entry) { e.UserID = "u" }),
			}
		}, `{"args":{"a":"one","b":{"Password":"[redacted]","ssn":"[redacted]"},"list":[{"x":"[redacted]"}]}}`},
		{"observe_changes_nothing", true, func(t *testing.T) []hooks.Entry {
			return []hooks.Entry{configured(t, `{"values":false}`, func(e *hooks.Entry) { e.Mode = hooks.Observe })}
		}, `{"args":{"a":"one","b":{"Password":"[redacted]","ssn":"two"},"list":[{"x":"four"}]}}`},
		{"another_tool", true, func(t *testing.T) []hooks.Entry {
			return []hooks.Entry{configured(t, `{"values":false}`, func(e *hooks.Entry) { e.Pattern = "bank_*" })}
		}, `{"args":{"a":"one","b":{"Password":"[redacted]","ssn":"two"},"list":[{"x":"four"}]}}`},
		{"broken", true, func(t *testing.T) []hooks.Entry { return []hooks.Entry{{Name: "x", Type: "audit"}} }, shape},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newCall(hooks.Tool)
			c.Args, c.Original = json.RawMessage(args), json.RawMessage(args)
			got := detailsOf(t, tc.values, c, func(c *hooks.Call) {
				if tc.entries != nil {
					audit.Heed(c, hooks.Compile(tc.entries(t), c))
				}
			}, nil)
			if diff := cmp.Diff(got, tc.want); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOuterRowKeepsNoMore: the arguments of execute_tool hold those of the tool.
func TestOuterRowKeepsNoMore(t *testing.T) {
	t.Parallel()
	args := json.RawMessage(`{"tool_id":"t1","params":{"iban":"DE1","note":"x"}}`)
	for _, tc := range []struct{ name, config, want string }{
		{"redact_by_pointer", `{"redact":["/iban"]}`, `{"args":{"params":{"iban":"[redacted]","note":"x"},"tool_id":"t1"}}`},
		{"redact_by_name", `{"redact":["iban"]}`, `{"args":{"params":{"iban":"[redacted]","note":"x"},"tool_id":"t1"}}`},
		{"redact_everything", `{"redact":["/*"]}`, `{"args":{"params":"[redacted]","tool_id":"[redacted]"}}`},
		{"shapes", `{"values":false}`, `{"args":{"params":{"iban":"string(3)","note":"string(1)"},"tool_id":"string(2)"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inner := newCall(hooks.Tool)
			audit.Heed(inner, hooks.Compile([]hooks.Entry{configured(t, tc.config, func(e *hooks.Entry) { e.Pattern = "up_*" })}, inner))
			outer := newCall(hooks.Meta)
			outer.Args, outer.Original, outer.Tool = args, args, inner.Tool
			got := detailsOf(t, true, outer, func(c *hooks.Call) { audit.HeedInner(c, inner) }, nil)
			if diff := cmp.Diff(got, tc.want); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("unknown_tool", func(t *testing.T) {
		t.Parallel()
		outer := newCall(hooks.Meta)
		outer.Args, outer.Original = args, args
		want := `{"args":{"params":{"iban":"string(3)","note":"string(1)"},"tool_id":"string(2)"}}`
		if diff := cmp.Diff(detailsOf(t, true, outer, nil, nil), want); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("unknown_settings", func(t *testing.T) {
		t.Parallel()
		c := newCall(hooks.Tool)
		if got := detailsOf(t, true, c, audit.Conceal, nil); strings.Contains(got, "secret words") {
			t.Error(got)
		}
	})
}

// TestMessagesQuoteNothing that is not kept.
func TestMessagesQuoteNothing(t *testing.T) {
	t.Parallel()
	call := func() *hooks.Call {
		c := newCall(hooks.Tool)
		c.Warn(`hook "mine" was left out: secret words`)
		c.Warn("the schema is broken")
		c.Effects = []hooks.Effect{
			{Hook: "mine", Event: hooks.ToolBefore, Did: "reject", Message: "secret words", Kind: core.HookRejected},
			{Hook: "limit", Event: hooks.ToolBefore, Did: "reject", Message: "too many", Kind: core.RateLimited},
		}
		return c
	}
	rejected := core.Errorf(core.HookRejected, "secret words")
	shapes := detailsOf(t, false, call(), nil, rejected)
	want := `{"args":{"query":"string(12)","top_k":"number"},"warnings":["the schema is broken"],"hooks":[` +
		`{"hook":"mine","event":"tool:before","did":"reject","kind":"hook_rejected"},` +
		`{"hook":"limit","event":"tool:before","did":"reject","message":"too many","kind":"rate_limited"}]}`
	if diff := cmp.Diff(shapes, want); diff != "" {
		t.Error(diff)
	}
	if values := detailsOf(t, true, call(), nil, rejected); strings.Count(values, "secret words") != 4 {
		t.Errorf("with values: %s", values)
	}
	hidden := detailsOf(t, true, call(), func(c *hooks.Call) {
		audit.Heed(c, hooks.Compile([]hooks.Entry{configured(t, `{"redact":["query"]}`, nil)}, c))
	}, rejected)
	if strings.Contains(hidden, "secret words") {
		t.Errorf("with something redacted: %s", hidden)
	}
}

// TestRowsAreBounded, whatever hooks leave.
func TestRowsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	c := newCall(hooks.Tool)
	for range 100 {
		c.Warn(long)
		e := hooks.Effect{Hook: long, Event: hooks.ToolBefore, Did: "note", Message: long, Notes: map[string]any{"list": []string{long}}}
		for i := range 100 {
			e.Notes[strings.Repeat("n", i+1)] = long
		}
		c.Effects = append(c.Effects, e)
	}
	got := detailsOf(t, true, c, nil, nil)
	if len(got) > 40<<10 || !strings.Contains(got, `"hooksLeft":97`) {
		t.Errorf("a row of %d bytes, which ends in %s", len(got), got[len(got)-100:])
	}
	if len(c.Effects[0].Hook) != len(long) {
		t.Error("the call's own effects were cut")
	}
}

func TestOneHookMakesTheAnswerWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := table{hold: make(chan struct{})}
		w := audit.NewWriter(audit.Config{Append: db.append})
		inner, outer := newCall(hooks.Tool), newCall(hooks.Meta)
		audit.Heed(inner, hooks.Compile([]hooks.Entry{configured(t, `{"wait":true}`, nil), configured(t, `{"wait":false}`, nil)}, inner))
		audit.HeedInner(outer, inner)
		time.AfterFunc(time.Second, func() { close(db.hold) })
		start := time.Now()
		if err := pass(t, w, outer, func(context.Context, *hooks.Call) error { return nil }); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != time.Second || db.actions() != "execute_tool" {
			t.Errorf("answered after %v, rows %q", took, db.actions())
		}
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	_, err := audit.Type().New(hooks.Instance{Config: json.RawMessage(`{"redact":["ok","/a~2b"]}`)})
	var e *core.Error
	if !errors.As(err, &e) || e.Faults[0].Pointer != "/redact/1" {
		t.Errorf("got %v", err)
	}
}
