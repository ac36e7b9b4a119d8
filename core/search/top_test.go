package search_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/embeddings"
)

// TestTopIsWhatScoringAllGives makes catalogs at random, of few words and therefore
// with many equal scores, changes them, and searches them in scopes of all sizes.
func TestTopIsWhatScoringAllGives(t *testing.T) {
	t.Parallel()
	parts := 0
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 0))
		w := search.NewWordIndex(nil)
		var ids []uuid.UUID
		words := 3 + r.IntN(60)
		for range 1 + r.IntN(6) {
			var removed []uuid.UUID
			for range len(ids) / (2 + r.IntN(40)) {
				removed = append(removed, ids[r.IntN(len(ids))])
			}
			added := make(map[uuid.UUID]embeddings.Tool)
			for range r.IntN(12000 / (1 + r.IntN(30))) {
				id := randomID(r)
				if len(ids) > 0 && r.IntN(4) == 0 {
					id = ids[r.IntN(len(ids))]
				}
				added[id], ids = randomTool(r, words), append(ids, id)
			}
			w.Change(removed, added)
			parts = max(parts, w.Parts())
			for range 12 {
				query, servers := randomWords(r, words, 1+r.IntN(9)), randomServers(r)
				domain, n := []string{"", "", "even"}[r.IntN(3)], 1+r.IntN(150)
				got, want := w.Best(query, servers, domain, n)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("seed %d, %q, %d servers, domain %q, %d tools (-all +found):\n%s", seed, query, len(servers), domain, n, diff)
				}
			}
		}
	}
	if parts < 3 {
		t.Errorf("the largest index has %d segments: too few to tell", parts)
	}
}

const testServers = 200

func randomServers(r *rand.Rand) []string {
	var servers []string
	share := []float64{1, .5, .1, .02, .005}[r.IntN(5)]
	for i := range testServers {
		if r.Float64() < share {
			servers = append(servers, fmt.Sprint("server", i))
		}
	}
	return servers
}

func randomTool(r *rand.Rand, words int) embeddings.Tool {
	server := r.IntN(testServers)
	return embeddings.Tool{Name: fmt.Sprint("t", r.IntN(500)), Title: []string{"even", "odd"}[server%2],
		Description: randomWords(r, words, 1+r.IntN(30)), Server: fmt.Sprint("server", server)}
}

// randomWords are of few letters, so that Porter leaves them alone; the first is the
// commonest.
func randomWords(r *rand.Rand, words, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint("w", int(float64(words)*r.Float64()*r.Float64()*r.Float64()))
	}
	return strings.Join(list, " ")
}

func randomID(r *rand.Rand) (id uuid.UUID) {
	for i := range id {
		id[i] = byte(r.Uint32())
	}
	return id
}
