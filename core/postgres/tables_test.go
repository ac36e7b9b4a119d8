package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

func wanted(t *testing.T, s *postgres.Store) string {
	t.Helper()
	m, adapted, err := s.WantedTable(t.Context())
	if err != nil || adapted != (m.Name != "") {
		t.Fatalf("%+v, %v, %v", m, adapted, err)
	}
	return m.Name
}

func TestTablesAreChosenAndTurnedAwayFrom(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t)
	by := core.Request{ID: "r", Principal: core.Principal{TenantID: core.DefaultTenant}}.Entry(core.LevelConfig, "index.adapt")
	choose := func(name string) core.Model {
		t.Helper()
		m, err := s.ChooseTable(t.Context(), by, postgres.Table{Base: "builtin/base", Data: []byte(name),
			Model: core.Model{Provider: "builtin", Name: name, Dimensions: 4, Weight: .25}})
		if err != nil || m.Name != name || m.Weight != .25 {
			t.Fatalf("choose %s: %+v, %v", name, m, err)
		}
		return m
	}
	revert := func(want string) {
		t.Helper()
		if m, err := s.RevertTable(t.Context(), by); err != nil || m.Name != want {
			t.Fatalf("turned away from %+v, %v; want %s", m, err, want)
		}
	}
	if got := wanted(t, s); got != "" {
		t.Fatalf("at first %q is wanted", got)
	}
	if _, err := s.RevertTable(t.Context(), by); !errors.Is(err, core.NotFound) {
		t.Fatalf("nothing to go back from: %v", err)
	}
	a := choose("a")
	choose("b")
	revert("b")
	if got := wanted(t, s); got != "a" {
		t.Fatalf("after going back %q is wanted", got)
	}
	choose("b") // the same table again
	if got := wanted(t, s); got != "b" {
		t.Fatalf("chosen again, %q is wanted", got)
	}
	revert("b")
	revert("a")
	if got := wanted(t, s); got != "" {
		t.Fatalf("in the end %q is wanted", got)
	}
	if data, err := s.TableData(t.Context(), a.ID); err != nil || string(data) != "a" {
		t.Errorf("table %q, %v", data, err)
	}
	if _, err := s.TableData(t.Context(), a.ID+100); !errors.Is(err, core.NotFound) {
		t.Errorf("a table of nothing: %v", err)
	}
	rows, err := s.Audit(t.Context(), postgres.AuditFilter{}, core.Page{})
	if err != nil || len(rows.Items) != 6 {
		t.Errorf("%d rows in the audit, %v", len(rows.Items), err)
	}
}

// TestGoingBackTogether: two go back at once, each one step.
func TestGoingBackTogether(t *testing.T) {
	t.Parallel()
	s, conn := open(t)
	for _, name := range []string{"a", "b", "c"} {
		must(s.ChooseTable(t.Context(), by("x"), postgres.Table{Base: "builtin/base", Data: []byte(name),
			Model: core.Model{Provider: "builtin", Name: name, Dimensions: 4}}))(t)
	}
	exec(t, conn, `begin`)
	exec(t, conn, `select from embedding_tables for update`) // so that both are under way
	left := make(chan string, 2)
	for range 2 {
		go func() {
			m, err := s.RevertTable(t.Context(), by("x"))
			if err != nil {
				t.Error(err)
			}
			left <- m.Name
		}()
	}
	for value[int](t, conn, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) < 2 {
		exec(t, conn, `select pg_stat_clear_snapshot()`)
	}
	exec(t, conn, `rollback`)
	names := []string{<-left, <-left}
	slices.Sort(names)
	if got := wanted(t, s); got != "a" || !slices.Equal(names, []string{"b", "c"}) {
		t.Errorf("turned away from %q, %q is wanted", names, got)
	}
}

// TestATableThatIsRefusedLeavesNoModel on record.
func TestATableThatIsRefusedLeavesNoModel(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t)
	by := core.Request{ID: "r", Principal: core.Principal{TenantID: core.DefaultTenant}}.Entry(core.LevelConfig, "index.adapt")
	_, err := s.ChooseTable(t.Context(), by, postgres.Table{Base: "builtin/base", Data: make([]byte, 16<<20+1),
		Model: core.Model{Provider: "builtin", Name: "huge", Dimensions: 4}})
	if !errors.Is(err, core.InvalidParams) {
		t.Errorf("17 MiB: %v", err)
	}
	if models, err := s.Models(t.Context()); err != nil || len(models) != 0 {
		t.Errorf("on record are %+v, %v", models, err)
	}
}

// TestOldTablesGo: their number must not grow with the years, and the one that is
// searched with is never taken away.
func TestOldTablesGo(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t)
	by := core.Request{ID: "r", Principal: core.Principal{TenantID: core.DefaultTenant}}.Entry(core.LevelConfig, "index.adapt")
	if _, err := s.EnsureModel(t.Context(), "openai", "other", 8); err != nil {
		t.Fatal(err)
	}
	var first core.Model
	for i := range 6 {
		m, err := s.ChooseTable(t.Context(), by, postgres.Table{Base: "builtin/base", Data: []byte("x"),
			Model: core.Model{Provider: "builtin", Name: fmt.Sprint(i), Dimensions: 4}})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = m
			if err := s.ActivateModel(t.Context(), m.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	models, err := s.Models(t.Context())
	var names []string
	for _, m := range models {
		names = append(names, m.Name)
	}
	if got := fmt.Sprint(names); err != nil || got != "[other 0 3 4 5]" || !models[1].Active || models[1].ID != first.ID {
		t.Errorf("left are %s, %v", got, err)
	}
}

func TestToolUsers(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t)
	server, err := s.CreateServer(t.Context(), core.Request{}.Entry(core.LevelConfig, "server.create"),
		core.Server{TenantID: core.DefaultTenant, Name: "x", Transport: core.HTTP, URL: "http://127.0.0.1/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	use := func(tool, who, tenant string, daysAgo, times int, outcome core.Outcome) (rows []core.UsageEntry) {
		for range times {
			rows = append(rows, core.UsageEntry{AuditEntry: core.AuditEntry{Time: now.AddDate(0, 0, -daysAgo), TenantID: tenant,
				Level: core.LevelMeta, Action: "execute_tool", ActorID: who, ToolID: tool, Outcome: outcome}})
		}
		return rows
	}
	ours := server.TenantID
	rows := slices.Concat(
		use("loop", "ann", ours, 0, 500, core.OutcomeOK),
		use("liked", "ann", ours, 0, 1, core.OutcomeOK), use("liked", "bob", ours, 0, 2, core.OutcomeOK),
		use("old", "ann", ours, 2, 1, core.OutcomeOK), use("broken", "ann", ours, 0, 9, core.OutcomeFailed),
		use("", "ann", ours, 0, 9, core.OutcomeOK), use("stranger", "eve", "another tenant", 0, 1, core.OutcomeOK),
	)
	if err := s.AppendAudit(t.Context(), nil, rows); err != nil {
		t.Fatal(err)
	}
	list, err := s.ToolUsers(t.Context(), now.AddDate(0, 0, -1), now.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, u := range list {
		got[u.ToolID] = u.People
	}
	if d := cmp.Diff(got, map[string]int{"loop": 1, "liked": 2}); d != "" {
		t.Errorf("(-got +want)\n%s", d)
	}
}
