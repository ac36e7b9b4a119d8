package postgres_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

func TestAuditKeepsEverything(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	at := time.Now().UTC().Truncate(time.Microsecond)
	entry := core.AuditEntry{
		Time: at, RequestID: "r", TenantID: core.DefaultTenant, Level: core.LevelMeta, Action: "execute_tool",
		ActorID: unknownID, Actor: "ann", Agent: "claude", ToolID: "not an id", ToolName: "x", ServerID: "s", ServerName: "files",
		Outcome: core.OutcomeDenied, ErrorKind: core.Denied, DurationMs: 1.25, Details: json.RawMessage(`{"b":1,"a":"\u0000"}`),
	}
	audit := []core.AuditEntry{entry, {Time: at.Add(time.Second), TenantID: core.DefaultTenant, Level: core.LevelHTTP, Outcome: core.OutcomeOK}}
	usage := []core.UsageEntry{{AuditEntry: entry, SchemaHash: "abc"}}
	check(t, store.AppendAudit(ctx, audit, usage))
	if audit[0].ID == "" || audit[0].ID == audit[1].ID || usage[0].ID == "" {
		t.Fatalf("got ids %q, %q and %q", audit[0].ID, audit[1].ID, usage[0].ID)
	}
	// The same batch again, as after an error of which nobody knows what it did.
	check(t, store.AppendAudit(ctx, audit, usage))

	got := must(store.Audit(ctx, postgres.AuditFilter{}, core.Page{}))(t)
	if diff := cmp.Diff([]core.AuditEntry{audit[1], audit[0]}, got.Items); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	gotUsage := must(store.Usage(ctx, postgres.AuditFilter{}, core.Page{}))(t)
	if diff := cmp.Diff(usage, gotUsage.Items); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	check(t, store.AppendAudit(ctx, nil, nil))
}

func TestAuditTakesOddContent(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	entries := []core.AuditEntry{{ID: "no id", ToolID: "a\x00b", ToolName: "\xff", Details: json.RawMessage(`not "JSON"`)}}
	check(t, store.AppendAudit(ctx, entries, nil))
	got := must(store.Audit(ctx, postgres.AuditFilter{}, core.Page{}))(t).Items[0]
	if got.ToolID != "a\uFFFDb" || got.ToolName != "\uFFFD" || string(got.Details) != `"not \"JSON\""` ||
		got.Level != core.LevelConfig || got.Outcome != core.OutcomeOK || got.Time.IsZero() {
		t.Fatalf("got %+v with %s", got, got.Details)
	}
	wantKind(t, store.AppendAudit(ctx, []core.AuditEntry{{}, {Outcome: "great"}}, []core.UsageEntry{{}}), core.InvalidParams)
	if n := len(must(store.Usage(ctx, postgres.AuditFilter{}, core.Page{}))(t).Items); n != 0 {
		t.Fatalf("got %d usage rows of a batch that failed", n)
	}
}

func TestAuditIsFilteredAndPaged(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	ctx := t.Context()
	start := time.Now().UTC().Truncate(time.Second)
	var audit []core.AuditEntry
	var usage []core.UsageEntry
	for i := range 10 {
		e := core.AuditEntry{Time: start.Add(time.Duration(i/2) * time.Second), RequestID: fmt.Sprint("r", i), Level: core.LevelMeta,
			Action: "a", ActorID: "u1", ToolID: "t1", ServerID: "s1", Outcome: core.OutcomeOK}
		if i == 3 {
			e.Level, e.Action, e.ActorID, e.ToolID, e.ServerID, e.Outcome = core.LevelHTTP, "b", "u2", "t2", "s2", core.OutcomeFailed
		}
		audit, usage = append(audit, e), append(usage, core.UsageEntry{AuditEntry: e})
	}
	check(t, store.AppendAudit(ctx, audit, usage))
	requests := func(f postgres.AuditFilter) (got []string) {
		for _, e := range collect(t, 3, func(p core.Page) (core.List[core.AuditEntry], error) { return store.Audit(ctx, f, p) }) {
			got = append(got, e.RequestID)
		}
		var same []string
		for _, e := range collect(t, 3, func(p core.Page) (core.List[core.UsageEntry], error) { return store.Usage(ctx, f, p) }) {
			same = append(same, e.RequestID)
		}
		if diff := cmp.Diff(got, same); diff != "" {
			t.Errorf("usage differs from audit for %+v:\n%s", f, diff)
		}
		return got
	}
	one := []string{"r3"}
	for name, test := range map[string]struct {
		filter postgres.AuditFilter
		want   []string
	}{
		"all":     {postgres.AuditFilter{}, []string{"r9", "r8", "r7", "r6", "r5", "r4", "r3", "r2", "r1", "r0"}},
		"since":   {postgres.AuditFilter{Since: start.Add(4 * time.Second)}, []string{"r9", "r8"}},
		"until":   {postgres.AuditFilter{Until: start.Add(time.Second)}, []string{"r1", "r0"}},
		"action":  {postgres.AuditFilter{Action: "b"}, one},
		"actor":   {postgres.AuditFilter{ActorID: "u2"}, one},
		"outcome": {postgres.AuditFilter{Outcome: core.OutcomeFailed}, one},
		"tool":    {postgres.AuditFilter{ToolID: "t2"}, one},
		"server":  {postgres.AuditFilter{ServerID: "s2"}, one},
		"request": {postgres.AuditFilter{RequestID: "r3"}, one},
		"level":   {postgres.AuditFilter{Level: core.LevelHTTP}, one},
		"tenant":  {postgres.AuditFilter{TenantID: unknownID}, nil},
		"odd":     {postgres.AuditFilter{ToolID: "\x00'"}, nil},
	} {
		if diff := cmp.Diff(test.want, requests(test.filter)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// A cursor of another list, ordered by name.
	must(store.CreateUser(ctx, by("x"), core.User{Name: "a"}))(t)
	must(store.CreateUser(ctx, by("x"), core.User{Name: "b"}))(t)
	other := must(store.Users(ctx, "", core.Page{Limit: 1}))(t).NextCursor
	_, err := store.Audit(ctx, postgres.AuditFilter{}, core.Page{Cursor: other})
	wantKind(t, err, core.InvalidParams)
}

func TestAuditIsAppendOnly(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	ctx := t.Context()
	for _, table := range []string{"mcp_config_audit", "tool_usage"} {
		for _, statement := range []string{"update %s set actor = 'x'", "delete from %s", "truncate %s", "delete from %s where false"} {
			statement = fmt.Sprintf(statement, table)
			_, err := conn.Exec(ctx, statement)
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.ConstraintName != "append_only" || refused.Code != "23001" {
				t.Errorf("%s: got %v, want it refused", statement, err)
			}
		}
	}
	now := time.Now()
	old := core.AuditEntry{Time: now.Add(-time.Hour), RequestID: "old"}
	recent := core.AuditEntry{Time: now, RequestID: "recent"}
	check(t, store.AppendAudit(ctx, []core.AuditEntry{old, recent}, []core.UsageEntry{{AuditEntry: old}, {AuditEntry: recent}}))
	if n := must(store.PruneAudit(ctx, now.Add(-time.Minute)))(t); n != 2 {
		t.Fatalf("got %d pruned, want 2", n)
	}
	got := must(store.Audit(ctx, postgres.AuditFilter{}, core.Page{}))(t).Items
	if len(got) != 1 || got[0].RequestID != "recent" {
		t.Fatalf("got %+v left", got)
	}
	// Retention ends with its transaction.
	if _, err := conn.Exec(ctx, `begin; set local toolscout.retention = 'on'; delete from tool_usage; commit`); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, `delete from tool_usage`); err == nil {
		t.Fatal("deleted after the retention's transaction")
	}
}
