package search

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
)

// search is one search on its way.
type search struct {
	engine *Engine
	query  Query
	limit  int     // candidates of each half
	words  *scores // nil when the word index is missing
	needs  []string
	named  map[string]bool // as squash gives them
	asked  actions
	uses   *uses // nil where use counts nothing

	model   core.Model
	vectors [][]float32 // the query's and its clauses'; nil when they say nothing

	found map[uuid.UUID]*candidate
}

// candidate is a tool that one of the halves proposed.
type candidate struct {
	id      uuid.UUID
	name    string
	server  string
	fact    fact      // zero when the word index does not know it
	cosine  float32   // to the whole query
	clauses []float32 // cosines to the clauses
	meaning float32   // the mean of cosine and that to the nearest clause
	words   float32   // BM25
	byTerm  []float32 // what each term of the query adds to words
	known   bool      // the cosines were looked up
	named   bool      // the query gives its name
	score   float64   // orders the answer
	twin    float64   // orders it among its twins
	share   float64   // how near it comes to the best for the same need: 0 to 1
	likely  float64   // what the answer says of it
}

// embed asks for the vectors of the query and its clauses.
func (s *search) embed(ctx context.Context) error {
	embedder, model, err := s.engine.config.Embedder()
	if err != nil {
		return fmt.Errorf("no active embedding model: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.engine.config.EmbedTimeout)
	defer cancel()
	vectors, err := embedder.Embed(ctx, append([]string{s.query.Text}, s.needs...))
	if err != nil {
		return fmt.Errorf("embed the query: %w", err)
	}
	for _, v := range vectors {
		if len(v) != model.Dimensions {
			return fmt.Errorf("the query's vector has %d dimensions, the model on record %d", len(v), model.Dimensions)
		}
	}
	s.model = model
	if !zero(vectors[0]) {
		s.vectors = vectors
	}
	return nil
}

func zero(v []float32) bool {
	return !slices.ContainsFunc(v, func(x float32) bool { return x != 0 })
}

// gather unites the nearest tools with those that share the query's words, and
// sees to it that each has both scores.
func (s *search) gather(ctx context.Context) error {
	s.gatherWords()
	if s.vectors == nil {
		return nil
	}
	ask := s.nearestQuery()
	ask.And = slices.Collect(maps.Keys(s.found))
	near, err := s.engine.config.Store.Nearest(ctx, ask)
	if err != nil {
		return fmt.Errorf("nearest tools: %w", err)
	}
	s.learn(near)
	return nil
}

// nearestQuery asks for the nearest of the visible tools.
func (s *search) nearestQuery() postgres.NearestQuery {
	q := postgres.NearestQuery{ModelID: s.model.ID, Domain: s.query.Domain, Vectors: s.vectors, Limit: s.limit, Exact: true}
	if s.words == nil {
		q.Servers = postgres.ParseServers(s.query.Servers)
		return q
	}
	q.Exact = exact(s.words.visible, s.words.index.live, len(s.vectors))
	q.Servers, q.Except = s.words.servers, s.words.except
	return q
}

// gatherWords proposes the tools with the best word scores.
func (s *search) gatherWords() {
	s.found = make(map[uuid.UUID]*candidate, 2*s.limit)
	if s.words == nil {
		return
	}
	for _, m := range s.words.top(s.limit) {
		s.found[m.id] = s.candidate(m)
	}
}

// candidate is a tool as the word index knows it.
func (s *search) candidate(m match) *candidate {
	c := &candidate{id: m.id, name: m.name, fact: s.words.index.parts[m.part].facts[m.place]}
	c.server = s.words.index.groups[c.fact.group].server
	c.byTerm, c.words = s.words.byTerm(m.part, m.place)
	return c
}

// exact reports whether to look at the vector of every visible tool, which misses
// none. That takes time with their number. The graph index takes time with the number
// of vectors it is asked for, and all the more the smaller the part of all tools that
// is visible: the others are found too, and left out. Both take the same where the
// square of the visible is so many times all tools and vectors (measured at 100,000
// and 300,000 tools). Few enough are always looked at.
func exact(visible, all, vectors int) bool {
	const always, balance = 20_000, 1500
	return visible <= always && all <= always || visible <= always/2 || visible*visible <= balance*all*vectors
}

// stranger is a tool that the words did not propose; nil if it may not be given. One
// that the index has not heard of can be among the nearest by mistake, or rightly.
func (s *search) stranger(t postgres.ToolCosines) *candidate {
	if s.words != nil {
		x := s.words.index
		if p, place, ok := x.find(t.ToolID); ok {
			if !s.words.allowed[x.parts[p].facts[place].group] {
				return nil
			}
			return s.candidate(x.parts[p].match(p, place, 0))
		}
	}
	server := t.ServerID.String()
	allowed := false
	if groups := s.groups(server); len(groups) > 0 {
		allowed = s.words.allowed[groups[0]]
	} else {
		allowed = slices.Contains(s.query.Servers, server)
	}
	if !allowed {
		return nil
	}
	return &candidate{id: t.ToolID, server: server}
}

// groups are those of a server, as far as the word index knows it.
func (s *search) groups(server string) []uint32 {
	if s.words == nil {
		return nil
	}
	return s.words.index.byServer[server]
}

// learn notes the cosines of tools, some of which may be new.
func (s *search) learn(list []postgres.ToolCosines) {
	for _, t := range list {
		c := s.found[t.ToolID]
		if c == nil {
			if c = s.stranger(t); c == nil {
				continue
			}
			s.found[t.ToolID] = c
		}
		c.known = true
		c.cosine, c.meaning, c.clauses = t.Cosines[0], t.Cosines[0], t.Cosines[1:]
		if len(c.clauses) > 0 {
			c.meaning = (c.cosine + slices.Max(c.clauses)) / 2
		}
	}
}

// withoutVectors starts over with the words alone.
func (s *search) withoutVectors() {
	s.vectors = nil
	s.query.MinSimilarity = 0
	s.gatherWords()
}

// answer orders the candidates and judges them.
func (s *search) answer() Answer {
	if len(s.found) == 0 {
		return Answer{Suggestion: suggestNoKnownWord}
	}
	ranked := s.ranked()
	s.judge(ranked)
	if len(ranked) > s.query.TopK {
		ranked = ranked[:s.query.TopK]
	}
	answer := Answer{Hits: make([]Hit, len(ranked)), Suggestion: s.suggestion(ranked)}
	for i, c := range ranked {
		answer.Hits[i] = Hit{ToolID: c.id.String(), ServerID: c.server, Score: c.likely}
	}
	return answer
}

// ranked gives the candidates best first, and what comes after them where they are
// fewer than what is asked for.
func (s *search) ranked() []*candidate {
	list := make([]*candidate, 0, len(s.found))
	for _, c := range s.found {
		if c.cosine >= float32(s.query.MinSimilarity) || s.query.MinSimilarity == 0 {
			list = append(list, c)
		}
	}
	s.score(list)
	if s.uses != nil {
		s.used(list)
	}
	s.context(list)
	for _, c := range list {
		c.share = max(0, c.score/max(list[0].score, tiny))
	}
	if s.uses != nil {
		s.weighTwins(list)
		placeTwins(list)
	}
	list, twins := variety(list)
	if len(s.needs) > 0 {
		list = s.cover(list)
		if s.uses != nil {
			placeTwins(list)
		}
	}
	list = s.namedFirst(append(list, twins...))
	if s.query.MinSimilarity == 0 && s.words != nil && len(list) < s.query.TopK {
		list = append(list, s.fill(s.query.TopK-len(list))...)
	}
	return list
}

// score gives each candidate the mean of both halves' scores, each divided by the
// best there is: that ranked better than either half and than the fusion of ranks
// on every development set. A little is added where a tool does what is asked for.
func (s *search) score(list []*candidate) {
	var meaning, words float32
	for _, c := range s.found {
		meaning, words = max(meaning, c.meaning), max(words, c.words)
	}
	for _, c := range list {
		// A tool that has no vector yet is judged by its words alone.
		c.score = s.fuse(share(c.meaning, meaning), share(c.words, words), meaning > 0 && c.known, words > 0) +
			s.asked.bonus(c.fact.actions)
	}
}

// inOrder sorts candidates, the best first. Ties go by name and id.
func inOrder(list []*candidate) {
	slices.SortFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.name, b.name), slices.Compare(a.id[:], b.id[:]))
	})
}

// fill gives n more tools, which have neither a word of the query nor a vector.
func (s *search) fill(n int) []*candidate {
	var list []*candidate
	taken := func(id uuid.UUID) bool { return s.found[id] != nil }
	for _, m := range s.words.fill(n, taken) {
		list = append(list, s.candidate(m))
	}
	return list
}

// tiny is above zero, for dividing by what may not be.
const tiny = 1e-9

func share(x, best float32) float64 {
	if best <= 0 || x <= 0 {
		return 0
	}
	return float64(x) / float64(best)
}

// fuse is the weighted mean of both halves, or the one that says anything.
func (s *search) fuse(meaning, words float64, hasMeaning, hasWords bool) float64 {
	switch {
	case hasMeaning && hasWords:
		w := s.weight()
		return w*meaning + (1-w)*words
	case hasMeaning:
		return meaning
	default:
		return words
	}
}
