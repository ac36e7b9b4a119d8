package search

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/google/uuid"

	"github.com/toolscout/toolscout/embeddings"
)

// Candidates is how many tools each half proposes for a search of the default size.
const Candidates = minCandidates

// Clauses is clauses.
func Clauses(query string) []string { return clauses(query) }

// WordCount is wordCount.
func WordCount(text string) int { return wordCount(text) }

// Terms are the terms of a text.
func Terms(text string) []string {
	e := New(Config{})
	var terms []string
	for _, t := range e.terms(text) {
		terms = append(terms, t.term)
	}
	return terms
}

// WordIndex is a word index alone, without a database.
type WordIndex struct {
	// MiB is what it takes in memory.
	MiB float64

	engine  *Engine
	index   *index
	servers []string // all
}

// NewWordIndex indexes tools in pages, as a refresh does.
func NewWordIndex(tools []embeddings.Tool) *WordIndex {
	w := &WordIndex{engine: New(Config{}), index: newIndex()}
	before := heapSize()
	stems := &stemmer{stop: w.engine.stop, seen: make(map[string]string)}
	for from := 0; from < len(tools); from += pageSize {
		var page []document
		for _, t := range tools[from:min(from+pageSize, len(tools))] {
			page = append(page, document{id: uuid.New(), server: t.Server, tool: t})
		}
		w.index = w.index.apply(page, int64(from+1), stems)
	}
	stems = nil
	w.MiB = float64(heapSize()-before) / (1 << 20)
	return w
}

func heapSize() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Top searches all servers by words, and gives how many tools were found.
func (w *WordIndex) Top(query string, n int) int {
	if w.servers == nil {
		w.servers = slices.Sorted(maps.Keys(w.index.byServer))
	}
	return len(w.index.score(w.engine.terms(query), w.servers, "").top(n))
}

// Mend is what becomes of a query, with a dictionary.
func (w *WordIndex) Mend(query string, dictionary []string) string {
	return New(Config{Dictionary: dictionary}).mend(query, w.index)
}

// Near gives the ranks of the tools that the vector half proposes, best first: the
// cosine with the query plus that with the nearest clause.
func (e *Engine) Near(ctx context.Context, q Query) ([]float32, error) { return e.near(ctx, q, false) }

// Nearest is Near by comparing every visible tool.
func (e *Engine) Nearest(ctx context.Context, q Query) ([]float32, error) {
	return e.near(ctx, q, true)
}

func (e *Engine) near(ctx context.Context, q Query, exact bool) ([]float32, error) {
	q.TopK = defaultTopK
	s := e.begin(q, e.index.Load())
	if err := s.embed(ctx); err != nil {
		return nil, err
	}
	ask := s.nearestQuery()
	ask.Exact = ask.Exact || exact
	list, err := e.config.Store.Nearest(ctx, ask)
	ranks := make([]float32, len(list))
	for i, t := range list {
		if ranks[i] = t.Cosines[0]; len(t.Cosines) > 1 {
			ranks[i] += slices.Max(t.Cosines[1:])
		}
	}
	return ranks, err
}

// Change gives the index after some tools were removed and others added; Server and
// Title say where a tool is: in which server, and in which domain.
func (w *WordIndex) Change(removed []uuid.UUID, added map[uuid.UUID]embeddings.Tool) {
	var changes []document
	slices.SortFunc(removed, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	for _, id := range slices.Compact(removed) {
		if _, again := added[id]; !again {
			changes = append(changes, document{id: id, removed: true})
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(added), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }) {
		t := added[id]
		changes = append(changes, document{id: id, server: t.Server, domain: t.Title, tool: t})
	}
	w.index = w.index.apply(changes, w.index.revision+1, &stemmer{stop: w.engine.stop})
}

// Parts is how many segments there are.
func (w *WordIndex) Parts() int { return len(w.index.parts) }

// Best gives the n best tools as a search finds them and, beside them, by scoring
// every tool.
func (w *WordIndex) Best(query string, servers []string, domain string, n int) (found, all []string) {
	s := w.index.score(w.engine.terms(query), servers, domain)
	show := func(m match) string { return fmt.Sprintf("%s %x %s", m.name, m.score, m.id) }
	for _, m := range s.top(n) {
		found = append(found, show(m))
	}
	var scored []match
	for i := range w.index.parts {
		p := &w.index.parts[i]
		for place := range uint32(len(p.ids)) {
			if _, sum := s.byTerm(i, place); sum > 0 && !p.isDead(place) {
				scored = append(scored, p.match(i, place, sum))
			}
		}
	}
	slices.SortFunc(scored, match.compare)
	for _, m := range scored[:min(n, len(scored))] {
		all = append(all, show(m))
	}
	return found, all
}

// Hold keeps the word index from being brought up to date until it is let go.
func (e *Engine) Hold() (release func()) {
	e.refreshing <- struct{}{}
	return func() { <-e.refreshing }
}

// Scopes is how many scopes are remembered.
func (w *WordIndex) Scopes() int { return len(*w.index.scopes.list.Load()) }
