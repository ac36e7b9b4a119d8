package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
	hookaccess "github.com/toolscout/toolscout/hooks/access"
	"github.com/toolscout/toolscout/hooks/audit"
	"github.com/toolscout/toolscout/hooks/ratelimit"
	"github.com/toolscout/toolscout/hooks/sanitizer"
)

// guarded is a world with guards, each configured by type and configuration, with a
// user and an echo tool.
func guarded(t *testing.T, change func(*hooks.Definition), configs ...[2]string) (w *world, ann person, echo string) {
	t.Helper()
	w = newWorld(t, func(c *gateway.Config) {
		set, err := hookset.New(hookset.Config{Store: c.Store, Types: []hooks.Type{
			audit.Type(), hookaccess.Type(), ratelimit.Type(c.Store), sanitizer.Type()}})
		if err != nil {
			t.Fatal(err)
		}
		var f hookset.File
		for _, config := range configs {
			typ, ok := set.Type(config[0])
			if !ok {
				t.Fatalf("there is no type %s", config[0])
			}
			d := typ.Definition()
			d.Config = json.RawMessage(config[1])
			if change != nil {
				change(&d)
			}
			f.Hooks = append(f.Hooks, d)
		}
		if err := set.SetFile(f); err != nil {
			t.Fatal(err)
		}
		c.Hooks, c.Runner = set, set.Runner()
		t.Cleanup(func() {
			if err := set.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	})
	_, ids := w.server(core.Server{Name: "up", Prefix: "up_"})
	return w, w.person("ann"), ids["echo"]
}

func (w *world) echo(p person, id, params string) (json.RawMessage, core.Request, error) {
	w.t.Helper()
	return w.traced(p, gateway.ExecuteTool, `{"tool_id":"`+id+`","params":`+params+`}`)
}

func TestRateLimitOnBothLevels(t *testing.T) {
	t.Parallel()
	for _, level := range []hooks.Level{hooks.Meta, hooks.Tool} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			w, ann, id := guarded(t, func(d *hooks.Definition) { d.Level = level },
				[2]string{"rate_limit", `{"rate":2,"per":"1h","by":["user"]}`})
			bob := w.person("bob")
			for i := range 3 {
				_, req, err := w.echo(ann, id, `{"text":"x"}`)
				if (err != nil) != (i == 2) {
					t.Fatalf("call %d: %v", i, err)
				}
				if err == nil {
					continue
				}
				e := core.Public(err)
				if e.Kind != core.RateLimited || e.RetryAfter < 29*time.Minute || e.RetryAfter > 30*time.Minute {
					t.Errorf("got %v, retry after %v", err, e.RetryAfter)
				}
				if told := string(gateway.ErrorResult(err)); !strings.Contains(told, `retryAfterSeconds\":1`) {
					t.Errorf("a client sees %s", told)
				}
				audits, usages := w.rows(req)
				if len(audits) != 1 || audits[0].Outcome != core.OutcomeRejected || len(usages) != 0 {
					t.Errorf("rows %+v, %+v", audits, usages)
				}
			}
			if _, _, err := w.echo(bob, id, `{"text":"x"}`); err != nil {
				t.Errorf("another user: %v", err)
			}
		})
	}
}

func TestConcurrencyLimit(t *testing.T) {
	t.Parallel()
	w, ann, _ := guarded(t, nil, [2]string{"rate_limit", `{"concurrency":1}`})
	_, ids := w.server(core.Server{Name: "other", Prefix: "other_", Timeout: 2 * time.Second})
	failed := make(chan error)
	go func() {
		err := error(core.RateLimited)
		for errors.Is(err, core.RateLimited) { // by the other
			_, _, err = w.echo(ann, ids["slow"], `{}`)
		}
		failed <- err
	}()
	refused := false
	for !refused { // until the slow one runs
		_, _, err := w.echo(ann, ids["echo"], `{"text":"x"}`)
		refused = errors.Is(err, core.RateLimited)
		if err != nil && !refused {
			t.Fatal(err)
		}
	}
	if err := <-failed; err == nil {
		t.Fatalf("the slow call: %v", err)
	}
	if _, _, err := w.echo(ann, ids["echo"], `{"text":"x"}`); err != nil {
		t.Errorf("after the slow call failed: %v", err)
	}
}

func TestSanitizerBeforeValidation(t *testing.T) {
	t.Parallel()
	w, ann, id := guarded(t, nil, [2]string{"param_sanitizer", `{"unknown":"drop","rules":[
		{"do":"rename","pointer":"/message","to":"text"},
		{"do":"clamp","pointer":"/n","min":1},
		{"do":"deny","pointer":"/text","match":"^forbidden"}]}`})
	raw, _, err := w.echo(ann, id, `{ "message":"hi","n":-3, "junk":[1.0] }`)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{ \"text\":\"hi\",\"n\":1 }`; !strings.Contains(string(raw), want) {
		t.Errorf("the tool got %s, want %s", raw, want)
	}
	_, _, err = w.echo(ann, id, `{"text":"forbidden fruit"}`)
	e := core.Public(err)
	if e.Kind != core.InvalidParams || len(e.InputSchema) == 0 || e.ToolID != id {
		t.Errorf("got %+v", e)
	}
	if diff := cmp.Diff(e.Faults, []core.Fault{{Pointer: "/text", Message: "is not allowed here"}}); diff != "" {
		t.Error(diff)
	}
}

func TestConfiguredAccess(t *testing.T) {
	t.Parallel()
	w, ann, id := guarded(t, nil, [2]string{"access_control", `{"deny":["up/*echo"],"message":"not today"}`})
	if _, _, err := w.echo(ann, id, `{"text":"x"}`); !errors.Is(err, core.Denied) || core.Public(err).Message != "not today" {
		t.Errorf("got %v", err)
	}
	if _, err := w.call(ann, gateway.GetToolSchema, `{"tool_id":"`+id+`"}`); err != nil {
		t.Errorf("it is described no more: %v", err)
	}
	// What is invisible stays so, whatever rule would have spoken first.
	_, ids := w.server(core.Server{Name: "hidden", Prefix: "h_", Visibility: core.Hidden})
	if _, _, err := w.echo(ann, ids["echo"], `{"text":"x"}`); !errors.Is(err, core.NotFound) {
		t.Errorf("a hidden tool: %v", err)
	}
}

// TestAuditSettingsReachBothRows: the server is known only inside, and the outer row
// holds the same arguments.
func TestAuditSettingsReachBothRows(t *testing.T) {
	t.Parallel()
	w, ann, id := guarded(t, func(d *hooks.Definition) { d.ServerID = "up" },
		[2]string{"audit", `{"values":true,"redact":["/text"],"wait":true}`})
	_, req, err := w.echo(ann, id, `{"text":"private","n":7}`)
	if err != nil {
		t.Fatal(err)
	}
	if n := w.audit.Waiting(); n != 0 {
		t.Errorf("%d rows are not written although the answer waited", n)
	}
	audits, usages := w.rows(req)
	for _, row := range []struct {
		details json.RawMessage
		want    string
	}{
		{audits[0].Details, `{"args":{"params":{"n":7,"text":"[redacted]"},"tool_id":"` + id + `"}}`},
		{usages[0].Details, `{"args":{"n":7,"text":"[redacted]"}}`},
	} {
		if diff := cmp.Diff(string(row.details), row.want); diff != "" {
			t.Error(diff)
		}
	}
	// Elsewhere the shapes stay.
	_, ids := w.server(core.Server{Name: "other", Prefix: "other_"})
	_, req, err = w.echo(ann, ids["echo"], `{"text":"private"}`)
	if err != nil {
		t.Fatal(err)
	}
	audits, _ = w.rows(req)
	if want := `{"args":{"params":{"text":"string(7)"},"tool_id":"string(36)"}}`; string(audits[0].Details) != want {
		t.Errorf("got %s", audits[0].Details)
	}
}

// TestServersOnTheOuterChain: a hook for a server acts around execute_tool and
// get_tool_schema when they are about a tool of it that the caller can see, by id or
// by name, and around nothing else.
func TestServersOnTheOuterChain(t *testing.T) {
	t.Parallel()
	for name, scope := range map[string]func(*hooks.Entry, core.Server){
		"scope":     func(e *hooks.Entry, s core.Server) { e.ServerID = s.ID },
		"condition": func(e *hooks.Entry, s core.Server) { e.Servers = []string{s.Name} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ann := w.person("ann")
			one, ids := w.server(core.Server{Name: "one", Prefix: "one_"})
			_, others := w.server(core.Server{Name: "two", Prefix: "two_"})
			secret, hidden := w.server(core.Server{Name: "secret", Prefix: "secret_", Visibility: core.Hidden})
			no := funcs{before: func(context.Context, *hooks.Call) error { return hooks.Reject(core.HookRejected, "not here") }}
			for _, s := range []core.Server{one, secret} {
				e := hooks.Entry{Name: "no " + s.Name, Level: hooks.Meta, Hook: no}
				scope(&e, s)
				w.hooks = append(w.hooks, e)
			}
			for _, tc := range []struct {
				action, args string
				want         error
			}{
				{gateway.ExecuteTool, `{"tool_id":"` + ids["echo"] + `","params":{"text":"x"}}`, core.HookRejected},
				{gateway.ExecuteTool, `{"tool_id":"one_echo","params":{"text":"x"}}`, core.HookRejected},
				{gateway.GetToolSchema, `{"tool_id":"one_echo"}`, core.HookRejected},
				{gateway.ExecuteTool, `{"tool_id":"` + others["echo"] + `","params":{"text":"x"}}`, nil},
				{gateway.ExecuteTool, `{"tool_id":"` + hidden["echo"] + `","params":{"text":"x"}}`, core.NotFound},
				{gateway.ExecuteTool, `{"tool_id":"nothing"}`, core.NotFound},
				{gateway.ExecuteTool, `{}`, core.InvalidParams},
				{gateway.ListToolDomains, `{}`, nil},
			} {
				if _, err := w.call(ann, tc.action, tc.args); !errors.Is(err, tc.want) {
					t.Errorf("%s %s: got %v, want %v", tc.action, tc.args, err, tc.want)
				}
			}
		})
	}
}
