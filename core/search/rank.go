package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	known   bool      // the cosines were looked up
	named   bool      // the query gives its name
	score   float64   // orders the answer
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
	near, err := s.engine.config.Store.Nearest(ctx, s.nearestQuery())
	if err != nil {
		return fmt.Errorf("nearest tools: %w", err)
	}
	if err := s.learn(near); err != nil {
		return err
	}
	var missing []string
	for id, c := range s.found {
		if !c.known {
			missing = append(missing, id.String())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	rest, err := s.engine.config.Store.Cosines(ctx, s.model.ID, missing, s.vectors)
	if err != nil {
		return fmt.Errorf("cosines of %d tools: %w", len(missing), err)
	}
	return s.learn(rest)
}

// nearestQuery asks for the nearest of the visible tools. Where most servers are
// allowed it names the others: sending 10,000 ids, and comparing each row with
// them, took ten times as long as the search itself.
func (s *search) nearestQuery() postgres.NearestQuery {
	q := postgres.NearestQuery{ModelID: s.model.ID, Servers: s.query.Servers, Domain: s.query.Domain,
		Vectors: s.vectors, Limit: s.limit, Exact: true}
	if s.words == nil {
		return q
	}
	q.Exact = s.words.visible <= exactLimit
	if hidden := s.words.hidden(); len(hidden) < len(q.Servers)/2 {
		q.Servers, q.Except = hidden, true
	}
	return q
}

// allows reports whether tools of a server may be given. One that the index has
// not heard of can be among the nearest by mistake, or rightly.
func (s *search) allows(server string) bool {
	if s.words != nil {
		if groups := s.words.index.byServer[server]; len(groups) > 0 {
			return s.words.allowed[groups[0]]
		}
	}
	return slices.Contains(s.query.Servers, server)
}

// gatherWords proposes the tools with the best word scores.
func (s *search) gatherWords() {
	s.found = make(map[uuid.UUID]*candidate, 2*s.limit)
	if s.words == nil {
		return
	}
	for _, m := range s.words.top(s.limit) {
		s.add(m)
	}
}

func (s *search) add(m match) {
	c := &candidate{id: m.id}
	s.describe(c)
	s.found[m.id] = c
}

// describe notes what the word index knows of a tool.
func (s *search) describe(c *candidate) {
	if s.words == nil {
		return
	}
	x := s.words.index
	p, place, ok := x.find(c.id)
	if !ok {
		return
	}
	c.name, c.fact, c.words = x.parts[p].names[place], x.parts[p].facts[place], s.words.byPart[p][place]
	c.server = x.groups[c.fact.group].server
}

// learn notes the cosines of tools, some of which may be new.
func (s *search) learn(list []postgres.ToolCosines) error {
	for _, t := range list {
		id, err := uuid.Parse(t.ToolID)
		if err != nil || len(t.Cosines) != len(s.vectors) {
			return errors.Join(errors.New("the database answered no cosines"), err)
		}
		if !s.allows(t.ServerID) {
			continue
		}
		c := s.found[id]
		if c == nil {
			c = &candidate{id: id, server: t.ServerID}
			s.describe(c)
			s.found[id] = c
		}
		c.known = true
		c.cosine, c.meaning, c.clauses = t.Cosines[0], t.Cosines[0], t.Cosines[1:]
		if len(c.clauses) > 0 {
			c.meaning = (c.cosine + slices.Max(c.clauses)) / 2
		}
	}
	return nil
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
	s.context(list)
	for _, c := range list {
		c.share = max(0, c.score/max(list[0].score, tiny))
	}
	list, twins := variety(list)
	if len(s.needs) > 0 {
		list = s.cover(list)
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
		c := &candidate{id: m.id}
		s.describe(c)
		list = append(list, c)
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
