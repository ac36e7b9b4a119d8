package search_test

import (
	"context"
	"math"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/search/evaluate"
)

// TestSearchesWaitOnlyForWhatTheyCanSee changes a tool while the word index is held
// up: who sees another server gets an answer, who sees this one waits for the change.
func TestSearchesWaitOnlyForWhatTheyCanSee(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	c := fill(t, rig, []evaluate.Tool{
		{ID: "1", Name: "send_mail", Server: "mail"}, {ID: "2", Name: "play_song", Server: "music"}})
	mail, music := c.Servers[0], c.Servers[1]
	release := rig.Engine.Hold()
	revision, err := rig.Store.ApplyTools(t.Context(), mail, postgres.ToolDiff{Upsert: []core.Tool{
		{Name: "fold_origami", OriginName: "3"}}})
	if err != nil {
		t.Fatal(err)
	}
	if a := find(t, rig.Engine, search.Query{Text: "song", Servers: []string{music}, AtLeast: revision}); len(a.Hits) != 1 {
		t.Errorf("%+v, want the song", a)
	}
	waits := make(chan search.Answer, 1)
	go func() {
		defer close(waits)
		a, err := rig.Engine.Search(t.Context(), search.Query{Text: "origami", Servers: []string{mail}, TopK: 1, AtLeast: revision})
		if err != nil {
			t.Error(err)
		}
		waits <- a
	}()
	release()
	a := <-waits
	if len(a.Hits) != 1 || a.Hits[0].ServerID != mail {
		t.Fatalf("%+v, want a hit", a)
	}
	tools, err := rig.Store.ToolsByID(t.Context(), []string{a.Hits[0].ToolID})
	if err != nil || tools[a.Hits[0].ToolID].Name != "fold_origami" {
		t.Errorf("%+v, %v, want what has changed", tools, err)
	}
}

// TestAServerThatTheWordIndexHasNotHeardOfStaysHidden: its tools are the nearest there
// are, and the search excludes only the servers that it knows of.
func TestAServerThatTheWordIndexHasNotHeardOfStaysHidden(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	rig := newRig(t, store)
	c := fill(t, rig, market)
	q := search.Query{Text: "knit a pullover", Servers: c.Servers, TopK: 50}
	find(t, rig.Engine, q)
	defer rig.Engine.Hold()()
	fill(t, newRig(t, store), []evaluate.Tool{{ID: "knit", Name: "knit_pullover", Description: "Knit a pullover.", Server: "secret"}})
	for _, domain := range []string{"", postgres.DefaultDomain} {
		q.Domain, q.AtLeast = domain, revision(t, store)
		answer := find(t, rig.Engine, q)
		if answer.Degraded != "" || len(answer.Hits) != len(market) {
			t.Errorf("%d hits, without %q", len(answer.Hits), answer.Degraded)
		}
		for _, h := range answer.Hits {
			if c.Origins[h.ToolID] == "" {
				t.Errorf("domain %q: found %+v, which may not be seen", domain, h)
			}
		}
	}
}

// TestADatabaseThatWentBackIsReadAgain: a backup was restored, and its revision is one
// that the word index has long passed.
func TestADatabaseThatWentBackIsReadAgain(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	store, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	rig := newRig(t, store)
	c := fill(t, rig, []evaluate.Tool{{ID: "1", Name: "send_mail", Server: "mail"}, {ID: "2", Name: "play_song", Server: "music"}})
	engine := search.New(search.Config{Store: store, Embedder: broken}) // words alone
	q := search.Query{Text: "origami", Servers: c.Servers}
	if a := find(t, engine, q); len(a.Hits) != 0 {
		t.Fatalf("%+v at first", a)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), `update toolscout.mcp_server_tools set name = 'fold_origami', revision = 1 where name = 'play_song';
		delete from toolscout.mcp_server_tools where name = 'send_mail'; update toolscout.revision set catalog = 1`); err != nil {
		t.Fatal(err)
	}
	if err := engine.Refresh(t.Context(), math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"origami": 1, "mail": 0} {
		q.Text = text
		if a := find(t, engine, q); len(a.Hits) != want {
			t.Errorf("%q: %+v, want %d hits", text, a, want)
		}
	}
}
