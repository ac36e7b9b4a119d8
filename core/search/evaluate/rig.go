package evaluate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/pace"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/embeddings/builtin"
)

// Rig is the real search, with the built-in model, over a database that it may
// fill and empty.
type Rig struct {
	Store    *postgres.Store
	Engine   *search.Engine
	Embedder embeddings.Embedder
	Model    core.Model
	// Progress, if set, hears how long work comes along.
	Progress func(string)
	// Pace, if set, gives Register its turns.
	Pace *pace.Pace
}

// NewRig puts the built-in model on record and makes an engine that uses it.
func NewRig(ctx context.Context, store *postgres.Store) (*Rig, error) {
	table, err := builtin.New()
	if err != nil {
		return nil, err
	}
	return NewRigWith(ctx, store, table)
}

// NewRigWith is NewRig with another model. One behind a service is asked for its
// dimensions first.
func NewRigWith(ctx context.Context, store *postgres.Store, e embeddings.Embedder) (*Rig, error) {
	if p, ok := e.(interface{ Probe(context.Context) error }); ok {
		if err := p.Probe(ctx); err != nil {
			return nil, fmt.Errorf("ask the model %s: %w", e.Name(), err)
		}
		e = embeddings.Cached(e, queryCache)
	}
	table, err := builtin.New()
	if err != nil {
		return nil, err
	}
	provider, name, _ := strings.Cut(e.Name(), "/")
	model, err := store.EnsureModel(ctx, provider, name, e.Dimensions())
	if err != nil {
		return nil, fmt.Errorf("put the model on record: %w", err)
	}
	r := &Rig{Store: store, Embedder: e, Model: model}
	r.Engine = search.New(search.Config{Store: store, Dictionary: table.Words(), EmbedTimeout: patience,
		Embedder: func() (embeddings.Embedder, core.Model, error) { return r.Embedder, r.Model, nil }})
	return r, nil
}

// patience is how long a measured search waits for its model: how well a model finds
// does not depend on how busy it is.
const patience = time.Minute

// queryCache is how many queries are remembered for a model behind a service: each
// is asked again for every weight that is tried.
const queryCache = 20_000

func (r *Rig) say(format string, args ...any) {
	if r.Progress != nil {
		r.Progress(fmt.Sprintf(format, args...))
	}
}

// Catalog is what Fill registered.
type Catalog struct {
	// Servers are the servers' ids, in the order of their names, and Names these.
	Servers, Names []string
	// Sizes are how many tools each has.
	Sizes []int
	// Origins are the ids that the tools have in their set, by id in the database.
	Origins map[string]string
}

// nameless is the name of the server of tools that have none. The word index and
// the embedding drop numbers of five digits, so it adds nothing to their texts.
const nameless = "00000"

// Fill registers tools and indexes them.
func (r *Rig) Fill(ctx context.Context, tools []Tool) (*Catalog, error) {
	c, err := r.Register(ctx, tools)
	if err != nil {
		return nil, err
	}
	return c, r.index(ctx)
}

// Register registers tools, a server for every server of the set.
func (r *Rig) Register(ctx context.Context, tools []Tool) (*Catalog, error) {
	byServer := make(map[string][]Tool)
	for _, t := range tools {
		name := serverOf(t)
		byServer[name] = append(byServer[name], t)
	}
	names := make([]string, 0, len(byServer))
	for name := range byServer {
		names = append(names, name)
	}
	slices.Sort(names)
	c := &Catalog{Origins: make(map[string]string, len(tools))}
	for _, name := range names {
		if err := r.fillServer(ctx, c, name, byServer[name]); err != nil {
			return nil, fmt.Errorf("server %q of the set: %w", name, err)
		}
	}
	return c, nil
}

// serverOf is the name of the server that a tool is registered under.
func serverOf(t Tool) string { return cmp.Or(strings.TrimSpace(t.Server), nameless) }

func (r *Rig) fillServer(ctx context.Context, c *Catalog, name string, tools []Tool) error {
	server, err := r.Store.CreateServer(ctx, entry("server.create"), core.Server{TenantID: core.DefaultTenant,
		Name: name, Transport: core.HTTP, URL: "http://127.0.0.1/mcp"})
	if err != nil {
		return err
	}
	var diff postgres.ToolDiff
	var list []core.Tool
	for _, step := range []func() error{
		func() error {
			for _, t := range tools {
				diff.Upsert = append(diff.Upsert, stored(t))
			}
			return nil
		},
		func() error {
			_, err := r.Store.ApplyTools(ctx, server.ID, diff)
			return err
		},
		func() error {
			list, err = r.Store.ServerTools(ctx, server.ID)
			return err
		},
	} {
		if err := r.Pace.Do(ctx, step); err != nil {
			return err
		}
	}
	for _, t := range list {
		c.Origins[t.ID] = t.OriginName
	}
	c.Servers, c.Names = append(c.Servers, server.ID), append(c.Names, name)
	c.Sizes = append(c.Sizes, len(list))
	return nil
}

// stored is a tool of a set as the catalog keeps it. Its id in the set stands for
// the original name: names need not be unique.
func stored(t Tool) core.Tool {
	hash := sha256.Sum256([]byte(t.ID))
	schema := t.InputSchema
	if !json.Valid(schema) {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return core.Tool{Name: t.Name, OriginName: t.ID, Description: t.Description, InputSchema: schema, Signature: core.Signature(schema),
		SchemaHash: hex.EncodeToString(hash[:])}
}

func entry(action string) core.AuditEntry {
	return core.Request{ID: "evaluation", Principal: core.Principal{TenantID: core.DefaultTenant}}.Entry(core.LevelConfig, action)
}

// batch is how many tools are indexed at once. A model behind a service takes its time
// for them: what is saved, and told, comes in small steps.
const batch = 128

// index gives every tool a vector and brings the word index up to date.
func (r *Rig) index(ctx context.Context) error {
	told := time.Now()
	var place postgres.Place
	for done := 0; ; {
		pending, next, err := r.Store.Pending(ctx, r.Model.ID, place, batch)
		if err != nil {
			return err
		}
		if next == place {
			break
		}
		place = next
		if len(pending) == 0 {
			continue
		}
		tools := make([]embeddings.Tool, len(pending))
		for i, t := range pending {
			tools[i] = embeddings.Describe(t.Tool, t.ServerName)
		}
		vectors, err := embeddings.EmbedTools(ctx, r.Embedder, tools)
		if err != nil {
			return err
		}
		rows := make([]postgres.ToolVector, len(pending))
		for i, t := range pending {
			rows[i] = postgres.ToolVector{ToolID: t.ID, TextHash: t.TextHash, Vector: vectors[i]}
		}
		if err := r.Store.SaveVectors(ctx, r.Model.ID, rows); err != nil {
			return err
		}
		if done += len(rows); time.Since(told) > progressEvery {
			told = time.Now()
			r.say("%d tools indexed", done)
		}
	}
	if err := r.Store.BuildVectorIndex(ctx, r.Model.ID); err != nil {
		return err
	}
	return r.Refresh(ctx)
}

// Refresh makes the engine know of everything in the database.
func (r *Rig) Refresh(ctx context.Context) error {
	_, revision, err := r.Store.AllServers(ctx)
	if err != nil {
		return err
	}
	return r.Engine.Refresh(ctx, revision)
}

// Drop deletes what Fill registered, so that another set starts afresh.
func (r *Rig) Drop(ctx context.Context, c *Catalog) error {
	for _, id := range c.Servers {
		if err := r.Store.DeleteServer(ctx, entry("server.delete"), core.DefaultTenant, id); err != nil {
			return fmt.Errorf("delete server %s: %w", id, err)
		}
	}
	return r.Refresh(ctx)
}
