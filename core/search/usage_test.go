package search_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/search/evaluate"
)

// use notes that people ran a tool of a catalog today, each once, and has the engine
// know of it.
func use(t *testing.T, rig *evaluate.Rig, c *evaluate.Catalog, tool string, people int) {
	t.Helper()
	useOn(t, rig, c, tool, people, time.Now())
}

func useOn(t *testing.T, rig *evaluate.Rig, c *evaluate.Catalog, tool string, people int, at time.Time) {
	t.Helper()
	rows := make([]core.UsageEntry, people)
	for id, origin := range c.Origins {
		for i := range rows {
			if origin == tool {
				rows[i] = core.UsageEntry{AuditEntry: core.AuditEntry{Time: at, TenantID: core.DefaultTenant, Level: core.LevelMeta,
					Action: "execute_tool", ActorID: fmt.Sprint("person ", i), ToolID: id}}
			}
		}
	}
	if err := rig.Store.AppendAudit(t.Context(), nil, rows); err != nil {
		t.Fatal(err)
	}
	if err := rig.Engine.RefreshUsage(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestOfTwinsTheUsedOneComesFirst(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	var tools []evaluate.Tool
	for _, server := range []string{"one", "two", "three"} {
		tools = append(tools, evaluate.Tool{ID: server, Name: "send_email", Description: "Send an email message to a recipient.", Server: server})
	}
	catalog := fill(t, rig, tools)
	first := func(query string, servers []string) string {
		t.Helper()
		return hits(catalog, find(t, rig.Engine, search.Query{Text: query, Servers: servers, TopK: 3}))[0]
	}
	use(t, rig, catalog, "three", 3)
	if got := first("mail somebody", catalog.Servers); got != "three" {
		t.Errorf("three people use three, %s comes first", got)
	}
	use(t, rig, catalog, "two", 60)
	if got := first("mail somebody", catalog.Servers); got != "two" {
		t.Errorf("sixty people use two, %s comes first", got)
	}
	if got := first("send an email; then send an email to a recipient, and also send an email message", catalog.Servers); got != "two" {
		t.Errorf("with several needs %s comes first", got)
	}
	if got := first("mail somebody", catalog.Servers[:1]); got != "one" {
		t.Errorf("where only one is seen %s comes first", got)
	}
}

// TestUseIsForgotten: a few people of today say more than more of them long ago. What
// the past was is read anew by another instance, and comes to the same.
func TestUseIsForgotten(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	rig := newRig(t, store)
	catalog := fill(t, rig, []evaluate.Tool{
		{ID: "once", Name: "send_email", Description: "Send an email message to a recipient.", Server: "xq"},
		{ID: "now", Name: "send_email", Description: "Send an email message to a recipient.", Server: "xz"},
	})
	today := time.Now().UTC()
	useOn(t, rig, catalog, "once", 8, today.AddDate(0, 0, -42))
	useOn(t, rig, catalog, "once", 500, today.AddDate(0, 0, -62))
	use(t, rig, catalog, "now", 2)
	other := newRig(t, store)
	for _, r := range []*evaluate.Rig{rig, other} {
		if err := r.Engine.RefreshUsage(t.Context()); err != nil {
			t.Fatal(err)
		}
		answer := find(t, r.Engine, search.Query{Text: "mail somebody", Servers: catalog.Servers, TopK: 2})
		if got := hits(catalog, answer); got[0] != "now" {
			t.Errorf("found %q", got)
		}
	}
	use(t, rig, catalog, "once", 9)
	answer := find(t, rig.Engine, search.Query{Text: "mail somebody", Servers: catalog.Servers, TopK: 2})
	if got := hits(catalog, answer); got[0] != "once" {
		t.Errorf("after more use, found %q", got)
	}
}

// TestTheServerThatIsNamedOvercomesUsage of its twin.
func TestTheServerThatIsNamedOvercomesUsage(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	tools := []evaluate.Tool{{ID: "chat", Name: "chat", Description: "Talk to somebody.", Server: "chatter"}}
	for _, server := range []string{"outlook", "gmail"} {
		tools = append(tools, evaluate.Tool{ID: server, Name: "send_email", Description: "Send an email message to a recipient.", Server: server})
	}
	catalog := fill(t, rig, tools)
	use(t, rig, catalog, "gmail", 300)
	for query, want := range map[string]string{"send an email": "gmail", "send an email with outlook": "outlook", "email by gmail": "gmail"} {
		answer := find(t, rig.Engine, search.Query{Text: query, Servers: catalog.Servers, TopK: 3})
		if got := hits(catalog, answer); got[0] != want {
			t.Errorf("%q finds %q, want %s first", query, got, want)
		}
	}
}

// TestAColdToolOvercomesUsage: whatever is used, by however many, what fits better
// stays first.
func TestAColdToolOvercomesUsage(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	catalog := fill(t, rig, market)
	questions := map[string]string{
		"put an item on my shopping list: add milk":        "add",
		"erase an item that is on my shopping list":        "remove",
		"storm warnings for this region":                   "alerts",
		"reserve a seat on the train":                      "seats",
		"put the subtitles of a film into Spanish":         "bare",
		"我想订一家酒店，看看价格":                                     "hotel",
		"is there a storm coming to the region, any alert": "alerts",
	}
	for _, used := range []string{"rename", "forecast", "train", "poster", "ticket"} {
		use(t, rig, catalog, used, 400)
	}
	for query, want := range questions {
		answer := find(t, rig.Engine, search.Query{Text: query, Servers: catalog.Servers, TopK: 5})
		if got := hits(catalog, answer); got[0] != want {
			t.Errorf("%q finds %q, want %s first", query, got, want)
		}
	}
}

// TestUsageKnowsNothingOfOthers: an id in the audit may be anything, and use of tools
// that are not seen makes no difference.
func TestUsageKnowsNothingOfOthers(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	rig := newRig(t, store)
	catalog := fill(t, rig, office)
	ask := func() []search.Hit {
		t.Helper()
		return find(t, rig.Engine, search.Query{Text: "list what is in a folder", Servers: catalog.Servers[1:2], TopK: 3}).Hits
	}
	before := ask()
	if err := store.AppendAudit(t.Context(), nil, []core.UsageEntry{{AuditEntry: core.AuditEntry{Level: core.LevelMeta, ToolID: "no id", ActorID: "a"}}}); err != nil {
		t.Fatal(err)
	}
	for tool := range map[string]bool{"mail": true, "weather": true, "issue": true} {
		use(t, rig, catalog, tool, 300)
	}
	if after := ask(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("use of other servers' tools turned %v into %v", before, after)
	}
	gone := postgres.AuditFilter{ToolID: "no id"}
	if rows, err := store.Usage(t.Context(), gone, core.Page{}); err != nil || len(rows.Items) != 1 {
		t.Errorf("%v, %v", rows, err)
	}
}
