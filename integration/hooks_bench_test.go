package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/access"
	"github.com/toolscout/toolscout/hooks/audit"
	"github.com/toolscout/toolscout/hooks/ratelimit"
	"github.com/toolscout/toolscout/hooks/toon"
	"github.com/toolscout/toolscout/hooks/truncation"
)

// issues is JSON of some 4 KB, as a tool that lists something answers.
func issues() string {
	var b strings.Builder
	for i := range 28 {
		fmt.Fprintf(&b, `,{"number":%d,"title":"Crash when the %dth file is opened","state":"open","author":"user%d","comments":%d,"labels":"bug,triage","updated":"2026-11-%02dT10:00:00Z"}`,
			1000+i, i, i%7, i*3, 1+i)
	}
	return "[" + b.String()[1:] + "]"
}

// BenchmarkHooks measures what hooks add to a call with a result of 4 KB, in the
// process: each alone, and audit, access control, rate limit, truncation and TOON
// together, against the same call without any, in turns of one run.
func BenchmarkHooks(b *testing.B) {
	store := pgtest.New(b)
	writer := audit.NewWriter(audit.Config{Append: store.AppendAudit})
	b.Cleanup(func() { _ = writer.Close(context.Background()) })
	set, err := hookset.New(hookset.Config{Store: store, Types: []hooks.Type{ratelimit.Type(store), truncation.Type(store), toon.Type()}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = set.Close(context.Background()) })
	file := hookset.File{}
	for _, t := range set.Types() {
		d := t.Definition()
		if t.Name == "rate_limit" {
			d.Config = json.RawMessage(`{"by": ["user"], "rate": 1000000, "per": "1s"}`)
		}
		file.Hooks = append(file.Hooks, d)
	}
	if err := set.SetFile(file); err != nil {
		b.Fatal(err)
	}
	entries, err := set.Entries(b.Context(), core.Principal{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(entries.Release)
	recorder := audit.New(writer)
	guard := access.New(func(context.Context, core.Principal, string) (core.Access, error) { return core.On, nil })
	all := append(hooks.Chain{&recorder, &guard}, entries.Chain(newCall())...)
	run := func(chain hooks.Chain) func(int) []time.Duration {
		return func(n int) []time.Duration { return runs(b, set.Runner(), chain, n) }
	}
	for _, e := range all {
		b.Run(e.Type, func(b *testing.B) { compareHooks(b, run(nil), run(hooks.Chain{e})) })
	}
	b.Run("together", func(b *testing.B) { compareHooks(b, run(nil), run(all)) })
}

// newCall is a call of a tool.
func newCall() *hooks.Call {
	server := &core.Server{ID: "server", Name: "github"}
	return &hooks.Call{Level: hooks.Tool, Action: "execute_tool", Server: server,
		Tool: &core.Tool{ID: "tool", ServerID: "server", Name: "list_issues"}, Args: json.RawMessage(`{"state":"open"}`),
		Principal: core.Principal{TenantID: core.DefaultTenant, UserID: "user", UserName: "ann"}}
}

// runs sends n calls through a chain and times each.
func runs(b *testing.B, r *hooks.Runner, chain hooks.Chain, n int) []time.Duration {
	b.Helper()
	text, _ := json.Marshal(issues())
	result := json.RawMessage(`{"content":[{"type":"text","text":` + string(text) + `}]}`)
	took := make([]time.Duration, n)
	for i := range took {
		c := newCall()
		began := time.Now()
		err := r.Run(b.Context(), chain, c, func(_ context.Context, c *hooks.Call) error {
			c.Result, c.Sent = result, true
			return nil
		})
		took[i] = time.Since(began)
		if err != nil {
			b.Fatal(err)
		}
	}
	return took
}

// compareHooks runs calls without and with hooks in turns.
func compareHooks(b *testing.B, without, with func(n int) []time.Duration) {
	b.Helper()
	const turns = 10
	without(100)
	with(100)
	var plain, hooked []time.Duration
	n := max(b.N/turns, 20)
	for range turns {
		b.StopTimer()
		plain = append(plain, without(n)...)
		b.StartTimer()
		hooked = append(hooked, with(n)...)
	}
	b.StopTimer()
	p, h := micros(median(plain)), micros(median(hooked))
	b.ReportMetric(p, "without-p50-µs")
	b.ReportMetric(h, "with-p50-µs")
	b.ReportMetric(h-p, "added-p50-µs")
}

// BenchmarkHookedCall measures a proxied call whose result of 4 KB goes through
// audit, access control, rate limit, truncation and TOON beside the same call on a
// server where nothing is configured (audit and access control are always there),
// HTTP to HTTP, in turns of one run.
func BenchmarkHookedCall(b *testing.B) {
	upstream := echoServer(b, 0, 1)
	params := func(s *instance) *mcp.CallToolParams {
		if r := s.register(map[string]any{"name": "echo", "transport": "http", "url": upstream}); r.ToolCount != 1 {
			b.Fatalf("registered as %+v", r)
		}
		return &mcp.CallToolParams{Name: "execute_tool", Arguments: map[string]any{"tool_id": s.toolID("echo"), "params": map[string]any{"text": issues()}}}
	}
	plain := start(b, options{})
	hooked := start(b, options{config: "[hooks.rate_limit]\nby = [\"user\"]\nrate = 1000000\nper = \"1s\"\n[hooks.response_truncation]\n[hooks.toon_transform]\n"})
	plainCall, hookedCall := params(plain), params(hooked)
	for _, sessions := range []int{1, 8} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			a, z := openSessions(b, plain.url+"/mcp", sessions), openSessions(b, hooked.url+"/mcp", sessions)
			compareHooks(b, func(n int) []time.Duration { return calls(b, a, plainCall, n) },
				func(n int) []time.Duration { return calls(b, z, hookedCall, n) })
		})
	}
}
