package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/core/postgres"
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
// not those of earlier versions, whose vectors it does not understand), one that was
// adapted from it while the database has its table, one behind a service while that
// service is configured.
func remake(c config.Embeddings, out *egress.Guard, store *postgres.Store) func(context.Context, core.Model) (embeddings.Embedder, error) {
	return func(ctx context.Context, m core.Model) (embeddings.Embedder, error) {
		name := m.Provider + "/" + m.Name
		switch {
		case name == builtin.Name:
			return builtin.New()
		case m.Provider == c.Provider && m.Provider != "builtin":
			c.Model = m.Name
			return newEmbedder(c, out)
		}
		table, err := store.TableData(ctx, m.ID)
		if errors.Is(err, core.NotFound) {
			return nil, core.Errorf(core.Unavailable, "the model %s is not configured any more", name)
		}
		if err != nil {
			return nil, err
		}
		model, err := builtin.Parse(string(table))
		if err != nil {
			return nil, fmt.Errorf("read the table of %s: %w", name, err)
		}
		return model.Named(name), nil
	}
}

// choose says which table of the built-in model is wanted: one that was adapted to the
// catalog, or the one in the binary. Another model stays the one that is configured.
func choose(c config.Embeddings, store *postgres.Store) func(context.Context) (core.Model, error) {
	if c.Provider != "builtin" {
		return nil
	}
	return func(ctx context.Context) (core.Model, error) {
		m, adapted, err := store.WantedTable(ctx)
		if err == nil && !adapted {
			m.Provider, m.Name, _ = strings.Cut(builtin.Name, "/")
		}
		return m, err
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
