package search

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/toolscout/toolscout/core/postgres"
)

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
