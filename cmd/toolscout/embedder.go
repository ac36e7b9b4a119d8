package main

import (
	"github.com/toolscout/toolscout/cmd/toolscout/config"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/embeddings/builtin"
)

// newEmbedder makes the model that is configured. It does not reach out. Whoever
// asks it for queries puts a cache before it; the indexer wants to see the model
// itself, which it has to ask for its dimensions.
func newEmbedder(c config.Embeddings, out *egress.Guard) (embeddings.Embedder, error) {
	if c.Provider == "builtin" {
		return builtin.New()
	}
	return embeddings.NewHTTP(embeddings.HTTPConfig{Provider: c.Provider, BaseURL: c.BaseURL, Model: c.Model, APIKey: c.APIKey, Client: out.Client(0)})
}

// remake gives the models that were used before: the one in the binary always (but
// not those of earlier versions, whose vectors it does not understand), one behind
// a service while that service is configured.
func remake(c config.Embeddings, out *egress.Guard) func(core.Model) (embeddings.Embedder, error) {
	return func(m core.Model) (embeddings.Embedder, error) {
		switch {
		case m.Provider+"/"+m.Name == builtin.Name:
			return builtin.New()
		case m.Provider == c.Provider && m.Provider != "builtin":
			c.Model = m.Name
			return newEmbedder(c, out)
		}
		return nil, core.Errorf(core.Unavailable, "the model %s/%s is not configured any more", m.Provider, m.Name)
	}
}

// dictionary lists the words that search takes for well spelt, whichever model is
// active.
func dictionary() ([]string, error) {
	table, err := builtin.New()
	if err != nil {
		return nil, err
	}
	return table.Words(), nil
}
