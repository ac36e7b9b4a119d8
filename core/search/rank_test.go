package search_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/search/evaluate"
)

// market is a catalog whose tools are easily mistaken for one another.
var market = []evaluate.Tool{
	{ID: "add", Name: "add_item", Description: "Add an item to a shopping list.", Server: "pantry"},
	{ID: "remove", Name: "remove_item", Description: "Remove an item from a shopping list.", Server: "pantry"},
	{ID: "rename", Name: "rename_item", Description: "Rename an item on a shopping list.", Server: "pantry"},
	{ID: "forecast", Name: "get_forecast", Description: "Weather forecast for a city.", Server: "weather"},
	{ID: "alerts", Name: "list_alerts", Description: "Storm warnings for a region.", Server: "weather"},
	{ID: "train", Name: "train_times", Description: "Departures of trains from a station.", Server: "railway"},
	{ID: "seats", Name: "reserve_seat", Description: "Reserve a seat on a train.", Server: "railway"},
	{ID: "resume", Name: "parse_document", Description: "Extract education and jobs from a résumé.", Server: "hiring"},
	{ID: "bare", Name: "translate_subtitles", Server: "films"},
	{ID: "poster", Name: "poster", Description: "Draw a poster.", Server: "films"},
	{ID: "invoice", Name: "rechnung_senden", Description: "Verschickt eine Rechnung an Kunden in Köln.", Server: "büro"},
	{ID: "hotel", Name: "hotel-search", Description: "查询酒店空房和价格", Server: "lvyou"},
	{ID: "ticket", Name: "ticket-query", Description: "查询火车票余票信息", Server: "lvyou"},
	{ID: "menu", Name: "menu", Description: "식당의 메뉴를 보여준다", Server: "sikdang"},
	{ID: "old note", Name: "read_note", Description: "Read a note as text. DEPRECATED: Use read_text_note instead.", Server: "notes"},
	{ID: "note", Name: "read_text_note", Description: "Read the complete contents of a note as text, in any encoding.", Server: "notes"},
	{ID: "old pin", Name: "pin_note", Description: "[Deprecated] Pin a note to the board.", Server: "notes"},
	{ID: "outdated", Name: "deprecated_packages", Description: "Deprecated packages of a project, by name.", Server: "code"},
	{ID: "mail", Name: "send_email", Description: "Send an email message to a recipient.", Server: "post"},
}

// TestRanking asks what the public sets do not: each case has one right answer.
func TestRanking(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	catalog := fill(t, rig, market)
	tests := []struct{ name, query, want string }{
		{"one thing done", "put an item on my shopping list: add milk", "add"},
		{"its opposite", "erase an item that is on my shopping list", "remove"},
		{"a letter missing", "weather forcast for Bergen", "forecast"},
		{"two letters swapped", "send an emial to Ana", "mail"},
		{"two slips in a long word", "extract the edukatoin of an applicant", "resume"},
		{"a name misspelt", "get_forcast", "forecast"},
		{"a name given", "use translate_subtitles to send an email message about the forecast", "bare"},
		{"a name with its server", "films:translate_subtitles", "bare"},
		{"a name in another case", "translateSubtitles", "bare"},
		{"a name in words", "hotel search", "hotel"},
		{"no description", "put the subtitles of a film into Spanish", "bare"},
		{"marks left out", "resume", "resume"},
		{"marks made apart", "re\u0301sume\u0301", "resume"},
		{"German without its dots", "eine rechnung an einen kunden in koln", "invoice"},
		{"Chinese", "我想订一家酒店，看看价格", "hotel"},
		{"Chinese with Latin letters", "用API查火车票", "ticket"},
		{"Korean with another particle", "메뉴가 궁금해요", "menu"},
		{"data in the query", "storm warnings for the region in " + strings.Repeat("Zm9yZWNhc3QgY2l0eQ", 40), "alerts"},
		{"one of two should not be used", "read a note", "note"},
		{"no other does it", "pin a note to the board", "old pin"},
		{"it should not be used and is named", "read_note", "old note"},
		{"a tool for what should not be used", "which packages are deprecated", "outdated"},
		{"a long preamble", strings.Repeat("I hope you are well and that this is a good time to ask. ", 20) +
			"Draw a poster.", "poster"},
	}
	for _, test := range tests {
		answer := find(t, rig.Engine, search.Query{Text: test.query, Servers: catalog.Servers, TopK: 5})
		if got := hits(catalog, answer); len(got) == 0 || got[0] != test.want {
			t.Errorf("%s: %.80q finds %q, want %q first", test.name, test.query, got, test.want)
		}
	}
}

// TestWhatIsWellSpeltStays asks for things that the catalog has not, in words that
// are near to words that it has.
func TestWhatIsWellSpeltStays(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	catalog := fill(t, rig, market)
	for _, query := range []string{"plaster", "brain scan", "sweat", "male"} {
		answer := find(t, rig.Engine, search.Query{Text: query, Servers: catalog.Servers, TopK: 5})
		if answer.Suggestion == "" {
			t.Errorf("%q was taken for another word: %q", query, hits(catalog, answer))
		}
	}
}

func TestEachNeedGetsItsBestToolFirst(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	catalog := fill(t, rig, market)
	answer := find(t, rig.Engine, search.Query{Servers: catalog.Servers, TopK: 3,
		Text: "Hello there, dear helper! Add an item to the shopping list, remove another item. Send an email message to Ana. Give me the weather forecast of Oslo."})
	got := hits(catalog, answer)
	for _, want := range []string{"mail", "forecast"} {
		if !slices.Contains(got, want) {
			t.Errorf("found %q, without %s", got, want)
		}
	}
}

// TestANamedToolHasItsPlaceAmongNeeds: more is asked for than there are places.
func TestANamedToolHasItsPlaceAmongNeeds(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	catalog := fill(t, rig, market)
	answer := find(t, rig.Engine, search.Query{Servers: catalog.Servers, TopK: 1,
		Text: "Send an email message to a recipient. Give me the weather forecast for a city. Remove an item from a shopping list. Call list_alerts in the end."})
	if got := hits(catalog, answer); got[0] != "alerts" {
		t.Errorf("found %q, want the tool that is named", got)
	}
}

// TestAServersToolsSpeakForEachOther has two tools with the same text, one of them
// among tools that fit the query too.
func TestAServersToolsSpeakForEachOther(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	catalog := fill(t, rig, []evaluate.Tool{
		{ID: "alone", Name: "open", Description: "Open a page.", Server: "aaa"},
		{ID: "paint", Name: "paint", Description: "Paint a wall.", Server: "aaa"},
		{ID: "friend", Name: "open", Description: "Open a page.", Server: "bbb"},
		{ID: "print", Name: "print", Description: "Print a page of a book.", Server: "bbb"},
		{ID: "scan", Name: "scan", Description: "Scan the page of a book.", Server: "bbb"},
	})
	answer := find(t, rig.Engine, search.Query{Text: "open a page", Servers: catalog.Servers, TopK: 5})
	if got := hits(catalog, answer); got[0] != "friend" || got[1] != "alone" {
		t.Errorf("found %q", got)
	}
}

func TestTwinsDoNotCrowdOut(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	tools := []evaluate.Tool{{ID: "other", Name: "look_at_page", Description: "Fetch a page.", Server: "other"}}
	for _, server := range []string{"one", "two", "three", "four", "five"} {
		tools = append(tools, evaluate.Tool{ID: server, Name: "fetch_web_page", Description: "Fetch a web page by its address.", Server: server})
	}
	catalog := fill(t, rig, tools)
	answer := find(t, rig.Engine, search.Query{Text: "fetch a web page by its address", Servers: catalog.Servers, TopK: 6})
	got := hits(catalog, answer)
	if len(got) != 6 || got[2] != "other" {
		t.Errorf("found %q, want the other tool after two of the five", got)
	}
	for i := 1; i < len(answer.Hits); i++ {
		if answer.Hits[i].Score > answer.Hits[i-1].Score {
			t.Errorf("score %d is above the one before: %+v", i, answer.Hits)
		}
	}
}

// TestScoresSayHowLikely holds the scores to what they say.
func TestScoresSayHowLikely(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	catalog := fill(t, rig, market)
	tests := []struct {
		query     string
		low, high float64 // of the first hit
	}{
		{"remove_item", .9, 1},
		{"send an email message", .6, .9},
		{"tell me the weather forecast", .5, .9},
		{"knit a pullover", 0, .25},
		{"prove a theorem about prime numbers", 0, .25},
	}
	for _, test := range tests {
		answer := find(t, rig.Engine, search.Query{Text: test.query, Servers: catalog.Servers})
		score := answer.Hits[0].Score
		if score < test.low || score > test.high {
			t.Errorf("%q: the first of %q scores %.3f, want %.2f to %.2f", test.query, hits(catalog, answer), score, test.low, test.high)
		}
		if (answer.Suggestion != "") != (score < .25) {
			t.Errorf("%q: score %.3f comes with the suggestion %q", test.query, score, answer.Suggestion)
		}
		for _, h := range answer.Hits[1:] {
			if h.Score > score {
				t.Errorf("%q: a later hit scores %.3f, the first %.3f", test.query, h.Score, score)
			}
		}
	}
}
