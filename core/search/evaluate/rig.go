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
}

// NewRig puts the built-in model on record and makes an engine that uses it.
func NewRig(ctx context.Context, store *postgres.Store) (*Rig, error) {
	table, err := builtin.New()
	if err != nil {
		return nil, err
	}
	provider, name, _ := strings.Cut(table.Name(), "/")
	model, err := store.EnsureModel(ctx, provider, name, table.Dimensions())
	if err != nil {
		return nil, fmt.Errorf("put the model on record: %w", err)
	}
	active := func() (embeddings.Embedder, core.Model, error) { return table, model, nil }
	return &Rig{Store: store, Embedder: table, Model: model,
		Engine: search.New(search.Config{Store: store, Embedder: active, Dictionary: table.Words()})}, nil
}

// Catalog is what Fill registered.
type Catalog struct {
	// Servers are the servers' ids, in the order of their names.
	Servers []string
	// Sizes are how many tools each has.
	Sizes []int
	// Origins are the ids that the tools have in their set, by id in the database.
	Origins map[string]string
}

// nameless is the name of the server of tools that have none. The word index and
// the embedding drop numbers of five digits, so it adds nothing to their texts.
const nameless = "00000"

// Fill registers tools, a server for every server of the set, and indexes them.
func (r *Rig) Fill(ctx context.Context, tools []Tool) (*Catalog, error) {
	byServer := make(map[string][]Tool)
	for _, t := range tools {
		name := cmp.Or(strings.TrimSpace(t.Server), nameless)
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
	return c, r.index(ctx)
}

func (r *Rig) fillServer(ctx context.Context, c *Catalog, name string, tools []Tool) error {
	server, err := r.Store.CreateServer(ctx, entry("server.create"), core.Server{TenantID: core.DefaultTenant,
		Name: name, Transport: core.HTTP, URL: "http://127.0.0.1/mcp"})
	if err != nil {
		return err
	}
	var diff postgres.ToolDiff
	for _, t := range tools {
		diff.Upsert = append(diff.Upsert, stored(t))
	}
	if _, err := r.Store.ApplyTools(ctx, server.ID, diff); err != nil {
		return err
	}
	list, err := r.Store.ServerTools(ctx, server.ID)
	if err != nil {
		return err
	}
	for _, t := range list {
		c.Origins[t.ID] = t.OriginName
	}
	c.Servers = append(c.Servers, server.ID)
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
	return core.Tool{Name: t.Name, OriginName: t.ID, Description: t.Description, InputSchema: schema,
		SchemaHash: hex.EncodeToString(hash[:])}
}

func entry(action string) core.AuditEntry {
	return core.Request{ID: "evaluation", Principal: core.Principal{TenantID: core.DefaultTenant}}.Entry(core.LevelConfig, action)
}

// index gives every tool a vector and brings the word index up to date.
func (r *Rig) index(ctx context.Context) error {
	for {
		pending, err := r.Store.Pending(ctx, r.Model.ID, 1000)
		if err != nil {
			return err
		}
		if len(pending) == 0 {
			break
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

// Result is what a set came to.
type Result struct {
	Set     string `json:"set"`
	Tools   int    `json:"tools"`
	Queries int    `json:"queries"`
	Scores
	P50 float64 `json:"p50Ms"`
	P99 float64 `json:"p99Ms"`
	// Ranked are the ids found for each query, in the order of the set.
	Ranked [][]string `json:"-"`
}

// Run registers a set, searches for each of its queries and takes the set away
// again. K is how many tools each search is asked for; 10 are enough for every
// score but MRR.
func (r *Rig) Run(ctx context.Context, set Set, k int) (Result, error) {
	catalog, err := r.Fill(ctx, set.Tools)
	if err != nil {
		return Result{}, fmt.Errorf("register %s: %w", set.Name, err)
	}
	result := Result{Set: set.Name, Tools: len(set.Tools), Queries: len(set.Queries)}
	var all []Scores
	var took []time.Duration
	for _, q := range set.Queries {
		start := time.Now()
		answer, err := r.Engine.Search(ctx, search.Query{Text: q.Text, Servers: catalog.Servers, TopK: k})
		if err != nil {
			return Result{}, fmt.Errorf("search for query %s of %s: %w", q.ID, set.Name, err)
		}
		took = append(took, time.Since(start))
		if answer.Degraded != "" {
			return Result{}, fmt.Errorf("query %s of %s was answered without %s", q.ID, set.Name, answer.Degraded)
		}
		ranked := make([]string, len(answer.Hits))
		for i, hit := range answer.Hits {
			ranked[i] = catalog.Origins[hit.ToolID]
		}
		result.Ranked = append(result.Ranked, ranked)
		all = append(all, Score(q, ranked))
	}
	result.Scores = Mean(all)
	result.P50, result.P99 = Percentile(took, .5), Percentile(took, .99)
	return result, r.Drop(ctx, catalog)
}

// Percentile gives the duration, in milliseconds, below which a share p of all
// lies; 0 for none.
func Percentile(all []time.Duration, p float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	at := min(int(p*float64(len(sorted))), len(sorted)-1)
	return float64(sorted[at].Microseconds()) / 1000
}
