package search

import (
	"runtime"

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

	engine *Engine
	index  *index
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
	var servers []string
	for server := range w.index.byServer {
		servers = append(servers, server)
	}
	s := w.index.score(w.engine.terms(query), servers, "", &w.engine.pool)
	defer s.release(&w.engine.pool)
	return len(s.top(n))
}

// Hold keeps the word index from being brought up to date until it is let go.
func (e *Engine) Hold() (release func()) {
	e.refreshing <- struct{}{}
	return func() { <-e.refreshing }
}
