package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/hooks"
)

// asked is an execute_tool call.
func asked(id, params string) string { return fmt.Sprintf(`{"tool_id":%q,"params":%s}`, id, params) }

// trace is what a call left behind, in one line.
func (w *world) trace(req core.Request) string {
	w.t.Helper()
	audits, usages := w.rows(req)
	var lines []string
	for _, a := range audits {
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s/%s by %s with %s", a.Level, a.Action, a.Outcome, a.ErrorKind, a.ServerName, a.ToolName, a.Actor, a.Agent))
	}
	for _, u := range usages {
		lines = append(lines, fmt.Sprintf("used %s %s %s/%s", u.Outcome, u.ErrorKind, u.ServerName, u.ToolName))
		if len(u.SchemaHash) != 64 || u.ToolID == "" || u.DurationMs <= 0 {
			w.t.Errorf("incomplete usage row: %+v", u)
		}
	}
	return strings.Join(lines, "; ")
}

func TestExecute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	_, ids := w.server(core.Server{Name: "up", Prefix: "up_", Timeout: 500 * time.Millisecond})
	for _, tc := range []struct {
		name, args string
		kind       core.Kind // "" for a result
		want       string    // in the result or the message
		trace      string
	}{
		{"ok", asked(ids["echo"], `{"text":"hi","n":3}`), "", `{\"text\":\"hi\",\"n\":3}`,
			"meta execute_tool ok  up/up_echo by ann with agent-of-ann; used ok  up/up_echo"},
		{"by_name", asked("up_echo", `{"text":"hi"}`), "", `{\"text\":\"hi\"}`,
			"meta execute_tool ok  up/up_echo by ann with agent-of-ann; used ok  up/up_echo"},
		{"without_params", fmt.Sprintf(`{"tool_id":%q,"tool_name":"whatever"}`, ids["broken"]), "", `"{}"`,
			"meta execute_tool ok  up/up_broken by ann with agent-of-ann; used ok  up/up_broken"},
		{"tool_fails", asked(ids["fail"], `{}`), "", `"isError":true`,
			"meta execute_tool failed  up/up_fail by ann with agent-of-ann; used failed  up/up_fail"},
		{"invalid", asked(ids["echo"], `{"n":0}`), core.InvalidParams, "/text is required",
			"meta execute_tool invalid invalid_params up/up_echo by ann with agent-of-ann"},
		{"params_of_another_type", asked(ids["echo"], `"{}"`), core.InvalidParams, "/params got string, want object",
			"meta execute_tool invalid invalid_params / by ann with agent-of-ann"},
		{"unknown_argument", fmt.Sprintf(`{"tool_id":%q,"Params":{}}`, ids["echo"]), core.InvalidParams, "/Params is not a known parameter",
			"meta execute_tool invalid invalid_params / by ann with agent-of-ann"},
		{"timeout", asked(ids["slow"], `{}`), core.Timeout, "may have run",
			"meta execute_tool timeout timeout up/up_slow by ann with agent-of-ann; used timeout timeout up/up_slow"},
		{"unknown_id", asked("01234567-89ab-7def-8123-456789abcdef", `{}`), core.NotFound, "01234567-89ab-7def-8123-456789abcdef",
			"meta execute_tool denied not_found / by ann with agent-of-ann"},
		{"malformed_id", asked("../../etc", `{}`), core.NotFound, "etc", "meta execute_tool denied not_found / by ann with agent-of-ann"},
		{"origin_name_is_not_a_name", asked("echo", `{}`), core.NotFound, "echo", "meta execute_tool denied not_found / by ann with agent-of-ann"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			raw, req, err := w.traced(ann, gateway.ExecuteTool, tc.args)
			if tc.kind != "" {
				if !errors.Is(err, tc.kind) || !strings.Contains(core.Public(err).Message, tc.want) {
					t.Errorf("got %v, want %s with %q", err, tc.kind, tc.want)
				}
			} else if err != nil || !strings.Contains(string(raw), tc.want) {
				t.Errorf("got %s, %v, want %s", raw, err, tc.want)
			}
			if diff := cmp.Diff(w.trace(req), tc.trace); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInvalidArgumentsCarryTheSchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	_, ids := w.server(core.Server{Name: "up"})
	_, err := w.call(ann, gateway.ExecuteTool, asked(ids["echo"], `{"n":0,"x":1}`))
	var e *core.Error
	if !errors.As(err, &e) || len(e.Faults) != 3 || string(e.InputSchema) != echoSchema || e.ToolID != ids["echo"] {
		t.Errorf("got %+v", e)
	}
	_, err = w.call(ann, gateway.DiscoverTools, `{"top_k":0,"q":"x"}`)
	if !errors.As(err, &e) || len(e.Faults) != 3 || !strings.Contains(string(e.InputSchema), "min_similarity") {
		t.Errorf("got %+v", e)
	}
}

func TestMeta(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	_, ids := w.server(core.Server{Name: "up"})
	raw, req, err := w.traced(ann, gateway.ExecuteTool, asked(ids["broken"], `{}`))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Meta map[string]any `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	ms, _ := got.Meta["toolscout/durationMs"].(float64)
	warnings, _ := got.Meta["toolscout/warnings"].([]any)
	if got.Meta["toolscout/server"] != "up" || got.Meta["toolscout/tool"] != "broken" || got.Meta["toolscout/requestId"] != req.ID ||
		ms <= 0 || len(warnings) != 1 || !strings.Contains(fmt.Sprint(warnings), "not checked") {
		t.Errorf("got %v", got.Meta)
	}
}

func TestUnknownUpstreamToolIsListedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	_, ids := w.server(core.Server{Name: "up"})
	_, req, err := w.traced(ann, gateway.ExecuteTool, asked(ids["ghost"], `{}`))
	if !errors.Is(err, core.UpstreamError) || w.relisted.Load() != 1 {
		t.Errorf("got %v, listed again %d times", err, w.relisted.Load())
	}
	if got := w.trace(req); !strings.Contains(got, "used failed upstream_error") {
		t.Error(got)
	}
}

func TestUnavailableServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	_, ids := w.server(core.Server{Name: "up", URL: "http://127.0.0.1:1/mcp"})
	_, req, err := w.traced(ann, gateway.ExecuteTool, asked(ids["fail"], `{}`))
	if !errors.Is(err, core.Unavailable) {
		t.Errorf("got %v", err)
	}
	if got, want := w.trace(req), "meta execute_tool failed unavailable up/fail by ann with agent-of-ann"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestSameBytes sends random arguments through, and random results back.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	var mu sync.Mutex
	var received, answer string
	url := newRawUpstream(t, func(args json.RawMessage) string {
		mu.Lock()
		defer mu.Unlock()
		received = string(args)
		return answer
	})
	_, ids := w.server(core.Server{Name: "raw", URL: url}, tool{"any", `{"type":"object"}`, "Anything."})
	meta := regexp.MustCompile(`,?("_meta":\{)?,?"toolscout/server":"raw","toolscout/tool":"any","toolscout/requestId":"r\d+","toolscout/durationMs":[0-9.]+`)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		args := strings.TrimSpace(randomObject(rng, 1))
		mu.Lock()
		answer = strings.TrimSpace(randomObject(rng, 0))
		sent := answer
		mu.Unlock()
		raw, err := w.call(ann, gateway.ExecuteTool, asked(ids["any"], args))
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		if diff := cmp.Diff(tokens(t, received), tokens(t, args)); diff != "" {
			t.Fatalf("arguments: %s", diff)
		}
		at := meta.FindStringSubmatchIndex(string(raw))
		if at == nil {
			t.Fatalf("no _meta in %s", raw)
		}
		rest := string(raw[at[1]:])
		if at[2] >= 0 { // a _meta of our own: its brace goes too
			rest = strings.TrimPrefix(rest, "}")
		}
		if got := string(raw[:at[0]]) + rest; got != sent {
			// The server may have sent an empty _meta, which looks like ours.
			if kept := string(raw[:at[3]]) + string(raw[at[1]:]); at[3] < 0 || kept != sent {
				t.Fatalf("result\ngot  %q\nwant %q", raw, sent)
			}
		}
	}
}

// tokens are the parts of JSON in their order, numbers as they are written. The
// whitespace of arguments is nobody's.
func tokens(t *testing.T, raw string) []json.Token {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	var list []json.Token
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, token)
	}
}

func TestEditsOfHooksCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hooks = []hooks.Entry{
		{Name: "edit", Level: hooks.Tool, Hook: funcs{
			before: func(_ context.Context, c *hooks.Call) error {
				c.Args = json.RawMessage(strings.ReplaceAll(string(c.Args), "draft", "final"))
				return nil
			},
			after: func(_ context.Context, c *hooks.Call) error {
				c.Result = json.RawMessage(strings.ReplaceAll(string(c.Result), "final", "FINAL"))
				c.Warn("shouted")
				return nil
			}}},
		{Name: "spoil", Level: hooks.Tool, Pattern: "fail", Hook: funcs{before: func(_ context.Context, c *hooks.Call) error {
			c.Args = json.RawMessage(`[1]`)
			return nil
		}}},
		{Name: "garble", Level: hooks.Tool, Pattern: "broken", Hook: funcs{after: func(_ context.Context, c *hooks.Call) error {
			c.Result = json.RawMessage(`not json`)
			return nil
		}}},
	}
	ann := w.person("ann")
	_, ids := w.server(core.Server{Name: "up"})
	raw, req, err := w.traced(ann, gateway.ExecuteTool, asked(ids["echo"], `{"text":"draft"}`))
	if err != nil || !strings.Contains(string(raw), `{\"text\":\"FINAL\"}`) || !strings.Contains(string(raw), `"toolscout/warnings":["shouted"]`) {
		t.Errorf("got %s, %v", raw, err)
	}
	if _, usages := w.rows(req); len(usages) != 1 || !strings.Contains(string(usages[0].Details), `"edited":true`) {
		t.Errorf("usage %+v", usages)
	}
	if _, err := w.call(ann, gateway.ExecuteTool, asked(ids["fail"], `{}`)); !errors.Is(err, core.InvalidParams) {
		t.Errorf("what a hook left was not checked: %v", err)
	}
	if _, err := w.call(ann, gateway.ExecuteTool, asked(ids["broken"], `{}`)); !errors.Is(err, core.Internal) {
		t.Errorf("a result that is not JSON passed: %v", err)
	}
}

// funcs is a hook of two functions, either of which may be nil.
type funcs struct {
	before, after func(context.Context, *hooks.Call) error
}

func (f funcs) Before(ctx context.Context, c *hooks.Call) error {
	if f.before == nil {
		return nil
	}
	return f.before(ctx, c)
}

func (f funcs) After(ctx context.Context, c *hooks.Call) error {
	if f.after == nil {
		return nil
	}
	return f.after(ctx, c)
}

func TestHooksSeeBothLevels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mu sync.Mutex
	var seen []string
	w.hooks = []hooks.Entry{{Name: "watch", Hook: funcs{
		before: func(_ context.Context, c *hooks.Call) error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf("%s %s %s", c.Level, c.Name(), c.Args))
			return nil
		},
		after: func(_ context.Context, c *hooks.Call) error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf("%s %s %s", c.Level, c.Server.Name, c.Tool.Annotations))
			return nil
		}}}}
	ann := w.person("ann")
	_, ids := w.server(core.Server{Name: "up"})
	args := asked(ids["echo"], `{"text":"x"}`)
	if _, err := w.call(ann, gateway.ExecuteTool, args); err != nil {
		t.Fatal(err)
	}
	const annotations = `{ "readOnlyHint":true, "x-n": 1.0 }`
	want := []string{"meta execute_tool " + args, `tool echo {"text":"x"}`, "tool up " + annotations, "meta up " + annotations}
	if diff := cmp.Diff(seen, want); diff != "" {
		t.Error(diff)
	}
}

func TestRejectionByAHookIsAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hooks = []hooks.Entry{
		{Name: "no", Level: hooks.Tool, Hook: funcs{before: func(context.Context, *hooks.Call) error {
			return hooks.Reject(core.HookRejected, "not today")
		}}},
		{Name: "dry", Level: hooks.Meta, Mode: hooks.Observe, Hook: funcs{before: func(context.Context, *hooks.Call) error {
			return hooks.Reject(core.RateLimited, "too fast")
		}}},
	}
	ann := w.person("ann")
	_, ids := w.server(core.Server{Name: "up"})
	_, req, err := w.traced(ann, gateway.ExecuteTool, asked(ids["echo"], `{"text":"x"}`))
	if !errors.Is(err, core.HookRejected) || core.Public(err).ToolID != ids["echo"] {
		t.Errorf("got %v", err)
	}
	audits, usages := w.rows(req)
	if len(audits) != 1 || len(usages) != 0 || audits[0].Outcome != core.OutcomeRejected || !strings.Contains(string(audits[0].Details), `"mode":"observe","did":"reject"`) {
		t.Errorf("got %+v, %+v", audits, usages)
	}
}

func TestPanicLeavesARow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *gateway.Config) { c.Search = nil })
	ann := w.person("ann")
	w.server(core.Server{Name: "up"})
	_, req, err := w.traced(ann, gateway.DiscoverTools, `{"query":"x"}`)
	if err == nil || core.Public(err).Kind != core.Internal {
		t.Errorf("got %v", err)
	}
	if got := w.trace(req); !strings.Contains(got, "discover_tools failed internal") {
		t.Error(got)
	}
}

func TestHotExecuteNeedsNoDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	_, ids := w.server(core.Server{Name: "up"})
	args := asked(ids["echo"], `{"text":"x"}`)
	if _, err := w.call(ann, gateway.ExecuteTool, args); err != nil {
		t.Fatal(err)
	}
	w.own.Close()
	if _, err := w.call(ann, gateway.ExecuteTool, args); err != nil {
		t.Errorf("a call that was made before wants the database: %v", err)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	people := []person{w.person("ann"), w.person("bob")}
	s, ids := w.server(core.Server{Name: "up"})
	bobs, private := w.server(core.Server{Name: "bobs", Prefix: "b_", Visibility: core.Owned, OwnerID: people[1].ID})
	const clients, calls = 32, 10
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			p := people[i%2]
			for j := range calls {
				want := fmt.Sprintf(`{\"text\":\"%d/%d\"}`, i, j)
				raw, err := w.call(p, gateway.ExecuteTool, asked(ids["echo"], fmt.Sprintf(`{"text":"%d/%d"}`, i, j)))
				if err != nil || !strings.Contains(string(raw), want) {
					t.Errorf("got %s, %v, want %s", raw, err, want)
				}
				_, err = w.call(p, gateway.ExecuteTool, asked(private["echo"], `{"text":"x"}`))
				if (err == nil) != (i%2 == 1) {
					t.Errorf("%s at bob's own server: %v", p.Name, err)
				}
			}
		})
	}
	all.Wait()
	if err := w.audit.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		filter postgres.AuditFilter
		want   int
	}{
		{postgres.AuditFilter{ServerID: s.ID, Action: gateway.ExecuteTool, Outcome: core.OutcomeOK}, clients * calls},
		{postgres.AuditFilter{ServerID: bobs.ID, Action: gateway.ExecuteTool, Outcome: core.OutcomeOK}, clients * calls / 2},
		{postgres.AuditFilter{ServerID: bobs.ID, Action: gateway.ExecuteTool, Outcome: core.OutcomeDenied}, clients * calls / 2},
	} {
		n := 0
		for page := (core.Page{Limit: core.MaxLimit}); ; {
			list, err := w.store.Audit(t.Context(), tc.filter, page)
			if err != nil {
				t.Fatal(err)
			}
			n += len(list.Items)
			if page.Cursor = list.NextCursor; page.Cursor == "" {
				break
			}
		}
		if n != tc.want {
			t.Errorf("%+v: %d rows, want %d", tc.filter, n, tc.want)
		}
	}
}

func TestCallsOfOnePersonWaitTheirTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *gateway.Config) { c.PerPrincipal = 1; c.Timeout = time.Second })
	ann, bob := w.person("ann"), w.person("bob")
	_, ids := w.server(core.Server{Name: "up", Timeout: 3 * time.Second})
	slow := make(chan error, 1)
	started := make(chan struct{})
	w.hooks = []hooks.Entry{{Name: "started", Level: hooks.Tool, Pattern: "slow", Hook: funcs{before: func(context.Context, *hooks.Call) error {
		close(started)
		return nil
	}}}}
	request := w.request(ann)
	go func() {
		_, err := w.gateway.Call(t.Context(), request, gateway.Call{Action: gateway.ExecuteTool, Via: core.LevelMeta, Args: json.RawMessage(asked(ids["slow"], `{}`))})
		slow <- err
	}()
	<-started
	_, req, err := w.traced(ann, gateway.ListToolDomains, ``)
	if !errors.Is(err, core.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	if got := w.trace(req); !strings.Contains(got, "failed unavailable") {
		t.Error(got)
	}
	if _, err := w.call(bob, gateway.ListToolDomains, ``); err != nil {
		t.Errorf("bob waits for ann: %v", err)
	}
	if err := <-slow; !errors.Is(err, core.Timeout) {
		t.Errorf("got %v", err)
	}
	if _, err := w.call(ann, gateway.ListToolDomains, ``); err != nil {
		t.Error(err)
	}
}

func BenchmarkExecute(b *testing.B) {
	w := newWorld(b)
	ann := w.person("ann")
	url := newRawUpstream(b, func(json.RawMessage) string { return `{"content":[{"type":"text","text":"hello"}]}` })
	_, ids := w.server(core.Server{Name: "raw", URL: url}, tool{"echo", echoSchema, "Echo."})
	req := w.request(ann)
	call := gateway.Call{Action: gateway.ExecuteTool, Via: core.LevelMeta, Args: json.RawMessage(asked(ids["echo"], `{"text":"hi"}`))}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.gateway.Call(b.Context(), req, call); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGateway is what the gateway itself costs: a call that a hook answers
// in place of the server, through both chains, with resolving and _meta.
func BenchmarkGateway(b *testing.B) {
	w := newWorld(b)
	w.hooks = []hooks.Entry{{Name: "answer", Level: hooks.Tool, Inline: true, Hook: funcs{before: func(_ context.Context, c *hooks.Call) error {
		c.Result = json.RawMessage(`{"content":[{"type":"text","text":"hello"}]}`)
		return nil
	}}}}
	ann := w.person("ann")
	_, ids := w.server(core.Server{Name: "raw", URL: "http://127.0.0.1:1"}, tool{"echo", echoSchema, "Echo."})
	req := w.request(ann)
	call := gateway.Call{Action: gateway.ExecuteTool, Via: core.LevelMeta, Args: json.RawMessage(asked(ids["echo"], `{"text":"hi"}`))}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.gateway.Call(b.Context(), req, call); err != nil {
			b.Fatal(err)
		}
	}
}
