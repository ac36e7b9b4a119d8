package postgres_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
)

// stored gives all events, and what they say, by type and subject.
func stored(t *testing.T, s *postgres.Store, after int64) []string {
	t.Helper()
	events, _, err := s.Events(t.Context(), after, 1000)
	check(t, err)
	var all []string
	for _, e := range events {
		all = append(all, e.Type+" "+e.Subject)
	}
	return all
}

// TestAppendEvents_twice: a group whose commit was cut off can be sent again.
func TestAppendEvents_twice(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	one, two := postgres.NewEvent(core.Event{Type: "a", Subject: "1"}), postgres.NewEvent(core.Event{Type: "a", Subject: "2"})
	first := must(store.AppendEvents(t.Context(), []postgres.Event{one}))(t)
	last := must(store.AppendEvents(t.Context(), []postgres.Event{one, two}))(t)
	if again := must(store.AppendEvents(t.Context(), []postgres.Event{one, two}))(t); again != 0 || first == 0 || last <= first {
		t.Errorf("got the numbers %d, %d and %d", first, last, again)
	}
	if d := cmp.Diff(stored(t, store, 0), []string{"a 1", "a 2"}); d != "" {
		t.Errorf("(-got +want)\n%s", d)
	}
	events, _, err := store.Events(t.Context(), 0, 10)
	if err != nil || !events[0].Ours || string(events[0].Data) != "{}" {
		t.Errorf("got %+v, %v", events, err)
	}
	wantKind(t, func() error {
		_, err := store.AppendEvents(t.Context(), []postgres.Event{postgres.NewEvent(core.Event{Type: "a\nb"})})
		return err
	}(), core.InvalidParams)
}

// TestChangesAreAnnounced with the transaction that makes them, and not without.
func TestChangesAreAnnounced(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	ctx := t.Context()
	server := createServer(t, store, "github")
	user := must(store.CreateUser(ctx, by("user.create"), core.User{Name: "ann"}))(t)
	_, err := store.CreateUser(ctx, by("user.create"), core.User{Name: "ann"})
	wantKind(t, err, core.Conflict)
	must(store.ApplyTools(ctx, server.ID, postgres.ToolDiff{Upsert: []core.Tool{{Name: "a", OriginName: "a"}}}))(t)
	must(store.ApplyTools(ctx, server.ID, postgres.ToolDiff{}))(t)
	check(t, store.SetEnabled(ctx, by("set_preference"), user.ID, server.ID, false))
	if d := cmp.Diff(stored(t, store, 0), []string{"config:changed github", "config:changed user.create", "tools:changed github", "config:changed github"}); d != "" {
		t.Errorf("(-got +want)\n%s", d)
	}
	events, _, err := store.Events(ctx, 0, 10)
	check(t, err)
	for _, e := range events {
		about := map[bool]string{true: server.ID, false: ""}[e.Type == core.EventToolsChanged]
		if e.ServerID != about || e.TenantID != core.DefaultTenant || !json.Valid(e.Data) {
			t.Errorf("got %+v", e)
		}
	}
	if e := events[0]; e.UserID != unknownID { // who by says
		t.Errorf("a change is of user %q", e.UserID)
	}
}

// TestHealthIsAnnounced when a server comes into another state, and when it comes
// into one anew, as after a restart.
func TestHealthIsAnnounced(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	server := createServer(t, store, "github")
	began := time.Now()
	log := must(store.EventLog(t.Context()))(t)
	for n, step := range []struct {
		state   core.HealthState
		message string
		since   int
		want    string
	}{
		{core.Connecting, "", 1, ""},
		{core.Healthy, "", 2, core.EventServerUp},
		{core.Healthy, "", 2, ""},
		{core.Unstable, "it fell over", 3, core.EventServerFailed},
		{core.Unstable, "it fell over again", 3, ""},
		{core.Down, "it is gone", 4, core.EventServerFailed},
		{core.Down, "it is gone", 2, ""}, // from an instance that knew it before
		{core.Stopped, "idle", 5, ""},
		{core.Healthy, "", 6, core.EventServerUp},
		{core.Healthy, "", 7, core.EventServerUp},
		{core.Misconfigured, "no command", 8, core.EventServerFailed},
	} {
		h := core.Health{State: step.state, Message: step.message, Since: began.Add(time.Duration(step.since) * time.Second)}
		check(t, store.SetHealth(t.Context(), server.ID, h))
		events, _, err := store.Events(t.Context(), log.Last, 10)
		check(t, err)
		got := ""
		for _, e := range events {
			got, log.Last = e.Type, e.ID
			if e.ServerID != server.ID || e.UserID != "" || e.Subject != "github" {
				t.Errorf("step %d: got %+v", n, e)
			}
		}
		if got != step.want || len(events) > 1 {
			t.Errorf("step %d: got %q, want %q", n, got, step.want)
		}
	}
	wantKind(t, store.SetHealth(t.Context(), unknownID, core.Health{}), core.NotFound)
}

// TestPruneEvents deletes whole beginnings and says so.
func TestPruneEvents(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	var events []postgres.Event
	for range 5 {
		events = append(events, postgres.NewEvent(core.Event{Type: "a"}))
	}
	last := must(store.AppendEvents(t.Context(), events))(t)
	// The third is the last of old ones, although the second seems younger.
	exec(t, conn, `update events set created_at = now() - interval '2 days' where id in ($1, $2)`, last-4, last-2)
	if n := must(store.PruneEvents(t.Context(), time.Now().Add(-24*time.Hour)))(t); n != 3 {
		t.Errorf("%d were deleted, want 3", n)
	}
	if log := must(store.EventLog(t.Context()))(t); log.Pruned != last-2 || log.Last != last {
		t.Errorf("got %+v", log)
	}
	left, pruned, err := store.Events(t.Context(), 0, 10)
	if err != nil || len(left) != 2 || pruned != last-2 {
		t.Errorf("%d are left, %d pruned, %v", len(left), pruned, err)
	}
	must(store.PruneEvents(t.Context(), time.Now().Add(time.Hour)))(t)
	if log := must(store.EventLog(t.Context()))(t); log.Pruned != last || log.Last != last {
		t.Errorf("got %+v", log)
	}
	if _, pruned, err := store.Events(t.Context(), 0, 10); err != nil || pruned != last {
		t.Errorf("%d pruned, %v", pruned, err)
	}
}
