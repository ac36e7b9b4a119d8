package search_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/embeddings"
)

// TestScopesAreRemembered asks for the same servers twice, changes the list in place,
// and changes the catalog.
func TestScopesAreRemembered(t *testing.T) {
	t.Parallel()
	w := search.NewWordIndex(nil)
	ids := []uuid.UUID{uuid.New(), uuid.New()}
	w.Change(nil, map[uuid.UUID]embeddings.Tool{
		ids[0]: {Name: "paint", Title: "even", Server: "a"}, ids[1]: {Name: "paint", Title: "odd", Server: "b"}})
	found := func(servers []string, domain string) int {
		got, _ := w.Best("paint", servers, domain, 5)
		return len(got)
	}
	servers := []string{"a", "c"}
	for range 2 {
		if got := found(servers, ""); got != 1 {
			t.Fatalf("one server allowed: got %d tools", got)
		}
		if got := found(servers, "odd"); got != 0 {
			t.Fatalf("one server allowed, another domain: got %d tools", got)
		}
	}
	servers[0] = "c"
	if got := found(servers, ""); got != 0 {
		t.Errorf("the list has changed: got %d tools", got)
	}
	w.Change(ids[:1], nil)
	if got := found([]string{"a", "c"}, ""); got != 0 {
		t.Errorf("the tool is gone: got %d", got)
	}
	// However many callers there are, what is remembered stays small.
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		found([]string{"b", fmt.Sprint(r.Int())}, "")
	}
	if n := w.Scopes(); n > 64 {
		t.Errorf("%d scopes are remembered", n)
	}
	for i := range 64 {
		many := make([]string, 5000)
		for k := range many {
			many[k] = fmt.Sprintf("%036d", 5000*i+k)
		}
		found(many, "")
	}
	const each = 5000 * (16 + 36 + 16) // a string, its text and an id
	if size := w.Scopes() * each; size > 16<<20 {
		t.Errorf("what is remembered of many servers takes %d MiB", size>>20)
	}
}
