// Package search finds tools by meaning and by words.
//
// Two halves rank the tools that a caller may see: the cosine between the query's
// vector and the tool's, in Postgres, and BM25 over an index of words that is kept
// in memory and follows the catalog by its revision number. Every tool that one of
// them proposes gets both scores, and the mean of the two orders the answer. Where
// one half is missing the other ranks alone, and the answer says so.
package search

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/pace"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/embeddings"
)

const (
	defaultTopK = 10
	// Each half proposes four times what is asked for, and at least this many.
	minCandidates = 100
	// A search does not wait longer for the embedding service, unless it is told to.
	embedTimeout = 3 * time.Second
)

// The halves of a search, as Answer.Degraded names the missing one.
const (
	Vectors = "vectors"
	Words   = "words"
)

// Config is what an Engine needs.
type Config struct {
	Store *postgres.Store
	// Embedder gives the active model. An error means that there is none now: the
	// search goes on by words.
	Embedder func() (embeddings.Embedder, core.Model, error)
	// EmbedTimeout is how long a search waits for the vectors of its query before it
	// goes on by words; 3 s when it is 0.
	EmbedTimeout time.Duration
	// Dictionary lists words that are not misspelt, the commonest first; without
	// it no spelling is mended.
	Dictionary []string
	// Pace, if set, is told of searches, and gives Refresh its turns.
	Pace   *pace.Pace
	Logger *slog.Logger // nil discards
}

// Engine searches. It is safe for concurrent use.
type Engine struct {
	config  Config
	stop    map[string]bool
	request map[string]bool // terms
	actions map[string]actions
	speller *speller

	news  chan struct{} // capacity 1: something was heard
	mu    sync.Mutex
	heard int64 // the latest revision that was, since Run looked; mu guards it

	refreshing chan struct{} // holds one value while somebody refreshes
	index      atomic.Pointer[index]
	uses       atomic.Pointer[uses] // nil where use counts nothing
	usage      usage                // of RefreshUsage alone
}

// New makes an Engine. Its word index is read at the first Refresh or Search.
func New(config Config) *Engine {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	config.EmbedTimeout = cmp.Or(config.EmbedTimeout, embedTimeout)
	e := &Engine{config: config, stop: stopWords(), request: make(map[string]bool), actions: actionsOf(),
		news: make(chan struct{}, 1), refreshing: make(chan struct{}, 1)}
	for w := range wordSet(requestList) {
		e.request[stem(w)] = true
	}
	if len(config.Dictionary) > 0 {
		e.speller = newSpeller(config.Dictionary)
	}
	return e
}

// Query is what is looked for, and where.
type Query struct {
	Text string
	// Servers are the ids of the servers whose tools may be found; no others are
	// ever looked at.
	Servers []string
	// Domain narrows the search to one domain; "" does not.
	Domain string
	// TopK is how many tools to give; 10 when it is 0.
	TopK int
	// MinSimilarity bounds the cosine between the whole query and a tool. It is
	// ignored when the vectors are missing.
	MinSimilarity float64
	// Weight is the share of meaning against words, to try one out; 0 leaves that to
	// the model.
	Weight float64
	// AtLeast is the catalog revision that the answer must know of.
	AtLeast int64
}

// Hit is a tool that was found. Score is how likely it is right, 0 to 1: over the
// development sets together, half of those that say 0.5 are. On one catalog it can
// be well off (docs/search.md).
type Hit struct {
	ToolID   string
	ServerID string
	Score    float64
}

// Answer is what was found, best first. As many as were asked for are given while
// the caller may see that many, so the last may fit badly; where even the first
// does, Suggestion says what to do. Degraded names the half of the search that
// was missing, if one was.
type Answer struct {
	Hits       []Hit
	Suggestion string
	Degraded   string
}

// Search finds the tools that fit a query. It fails only when both halves do.
func (e *Engine) Search(ctx context.Context, q Query) (Answer, error) {
	if q.TopK <= 0 {
		q.TopK = defaultTopK
	}
	q.Text = clip(q.Text, maxQuery)
	if len(q.Servers) == 0 {
		return Answer{Suggestion: suggestNothingVisible(q.Domain)}, nil
	}
	e.config.Pace.Searched()
	index, wordsErr := e.fresh(ctx, q.AtLeast, q.Servers)
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	s := e.begin(q, index)
	if s.words != nil && s.words.visible == 0 {
		return Answer{Suggestion: suggestNothingVisible(q.Domain)}, nil
	}
	vectorsErr := s.embed(ctx)
	if vectorsErr == nil {
		vectorsErr = s.gather(ctx)
	}
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	degraded := ""
	switch {
	case wordsErr != nil && vectorsErr != nil:
		return Answer{}, core.Errorf(core.Unavailable, "neither half of the search is available").
			Because(errors.Join(wordsErr, vectorsErr))
	case wordsErr != nil:
		degraded = Words
		e.config.Logger.Warn("search without words", "error", wordsErr)
	case vectorsErr != nil:
		degraded = Vectors
		e.config.Logger.Warn("search without vectors", "error", vectorsErr)
		s.withoutVectors()
	}
	answer := s.answer()
	answer.Degraded = degraded
	return answer, nil
}

// begin reads the query and prepares what its words are worth. The index is nil where
// it is missing.
func (e *Engine) begin(q Query, x *index) *search {
	if cleaned := withoutData(q.Text); cleaned != "" {
		q.Text = cleaned
	}
	if x != nil {
		q.Text = e.mend(q.Text, x)
	}
	s := &search{engine: e, query: q, limit: max(minCandidates, 4*q.TopK), needs: clauses(q.Text), named: named(q.Text), uses: e.uses.Load()}
	s.asked = e.asked(q.Text, s.needs)
	if x != nil {
		s.words = x.score(e.terms(q.Text), q.Servers, q.Domain)
	}
	return s
}

// terms are the words of a query as the index knows them, each once: counting a
// word twice that somebody says twice ranked worse on every development set.
func (e *Engine) terms(text string) []queryTerm {
	var terms []queryTerm
	seen := make(map[string]bool)
	stems := stemmer{stop: e.stop}
	stems.terms(text, func(term string, _ uint32) {
		if seen[term] {
			return
		}
		seen[term] = true
		weight := 1.0
		if e.request[term] {
			weight = requestWeight
		}
		terms = append(terms, queryTerm{term, weight})
	})
	return terms
}

// asked is what a query asks to be done: the first verb of each need says it.
func (e *Engine) asked(text string, needs []string) actions {
	var stems stemmer
	if len(needs) == 0 {
		return stems.first(text, e.actions)
	}
	var asked actions
	for _, need := range needs {
		asked |= stems.first(need, e.actions)
	}
	return asked
}

func clip(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
