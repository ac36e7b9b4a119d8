package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/search/evaluate"
	"github.com/toolscout/toolscout/embeddings"
)

// TestFewWordsAreMended: a long text of unknown words must not cost a look through the
// dictionary and the catalog for each.
func TestFewWordsAreMended(t *testing.T) {
	t.Parallel()
	var right, wrong []string
	for i := range 200 {
		word := fmt.Sprintf("q%c%cvbxz", 'a'+i/20, 'a'+i%20)
		right, wrong = append(right, word), append(wrong, word+"w")
	}
	w := search.NewWordIndex([]embeddings.Tool{{Name: "all", Description: strings.Join(right, " ")}})
	got := strings.Fields(w.Mend(strings.Join(wrong, " "), []string{"dictionary"}))
	mended := 0
	for i := range got {
		if got[i] == right[i] {
			mended++
		}
	}
	if mended == 0 || mended > 10 || len(got) != len(wrong) {
		t.Errorf("%d of %d words were mended", mended, len(got))
	}
	if got[0] != right[0] {
		t.Errorf("the first word became %q, want %q", got[0], right[0])
	}
}

// TestNamesThatNoDictionaryHasAreMended: they are known by their stems alone, and
// stemming a stem can make another word of it.
func TestNamesThatNoDictionaryHasAreMended(t *testing.T) {
	t.Parallel()
	rig := newRig(t, pgtest.New(t))
	catalog := fill(t, rig, append([]evaluate.Tool{{ID: "base", Name: "quokkabase", Server: "zoo"}}, market...))
	for _, query := range []string{"quokkabase", "quokkabsae", "quokabase", "please ask quokkabasse"} {
		answer := find(t, rig.Engine, search.Query{Text: query, Servers: catalog.Servers, TopK: 3})
		if got := hits(catalog, answer); len(got) == 0 || got[0] != "base" || answer.Suggestion != "" {
			t.Errorf("%q finds %q and suggests %q", query, got, answer.Suggestion)
		}
	}
}
