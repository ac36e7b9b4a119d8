package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/embeddings/builtin"
)

// Models lists the embedding models on record.
func (a *Admin) Models(ctx context.Context, req core.Request) (models []core.Model, err error) {
	err = a.read(ctx, req, "index.models", func() error {
		models, err = a.store.Models(ctx)
		return err
	})
	return models, err
}

// ModelPatch is what can be changed of an embedding model.
type ModelPatch struct {
	// Weight is the share of meaning against words in the scores of searches with
	// it, from 0 to below 1; 0 goes back to the usual one. nil leaves it.
	Weight *float64
}

// UpdateModel changes an embedding model: searches heed it at once, on every
// instance.
func (a *Admin) UpdateModel(ctx context.Context, req core.Request, id int64, p ModelPatch) (model core.Model, err error) {
	err = a.change(ctx, req, "index.model", func(by *core.AuditEntry) error {
		if p.Weight == nil {
			return core.Errorf(core.InvalidParams, "there is nothing to change").WithHint("give a weight")
		}
		by.Details = details("model", map[string]any{"id": id, "weight": *p.Weight})
		model, err = a.store.SetModelWeight(ctx, *by, id, *p.Weight)
		return err
	})
	return model, err
}

// StartIndex indexes what is pending, or everything anew, in the background.
func (a *Admin) StartIndex(ctx context.Context, req core.Request, full bool) (status core.IndexStatus, err error) {
	err = a.change(ctx, req, "index.start", func(by *core.AuditEntry) error {
		by.Details = details("full", full)
		if err := a.indexer.Reindex(ctx, full); err != nil {
			return err
		}
		if status, err = a.indexStatus(ctx); err != nil {
			return err
		}
		return a.audit.Record(ctx, timed(by))
	})
	return status, err
}

// IndexStatus says how far indexing has come.
func (a *Admin) IndexStatus(ctx context.Context, req core.Request) (status core.IndexStatus, err error) {
	err = a.read(ctx, req, "index.status", func() error {
		status, err = a.indexStatus(ctx)
		return err
	})
	return status, err
}

// indexStatus adds what is chosen in the database to what this instance knows.
func (a *Admin) indexStatus(ctx context.Context) (core.IndexStatus, error) {
	status, err := a.indexer.Status(ctx)
	if err != nil {
		return status, err
	}
	status.Chosen = status.Model
	if !strings.HasPrefix(status.Model, "builtin/") {
		return status, nil // tables are of the built-in model
	}
	table, adapted, err := a.store.WantedTable(ctx)
	if status.Chosen = builtin.Name; adapted {
		status.Chosen = table.Provider + "/" + table.Name
	}
	return status, err
}

// Trial is a search to be tried out, among the tools of every active server.
type Trial struct {
	Query, Domain string
	TopK          int // 10 unless said, at most 50
	MinSimilarity float64
	// Weight is the share of meaning against words, below 1; 0 leaves it to the model.
	Weight float64
}

// TrialHit is a tool that a trial found.
type TrialHit struct {
	Tool       core.Tool
	ServerName string
	Score      float64
}

// TrialAnswer is what a trial found. Model is "" when there was none to ask.
type TrialAnswer struct {
	Hits       []TrialHit
	Model      string
	Suggestion string
	Degraded   string
}

// TrySearch searches as a caller would who sees every active server.
func (a *Admin) TrySearch(ctx context.Context, req core.Request, t Trial) (answer TrialAnswer, err error) {
	err = a.read(ctx, req, "index.search", func() error {
		if err := invalid(t.validate()); err != nil {
			return err
		}
		answer, err = a.trySearch(ctx, req, t)
		return err
	})
	return answer, err
}

func (t *Trial) validate() []core.Fault {
	var f faults
	if t.TopK == 0 {
		t.TopK = 10
	}
	if strings.TrimSpace(t.Query) == "" {
		f.add("/query", "is empty")
	}
	if t.TopK < 1 || t.TopK > 50 {
		f.add("/topK", "want 1 to 50")
	}
	if !(t.MinSimilarity >= 0 && t.MinSimilarity <= 1) {
		f.add("/minSimilarity", "want 0 to 1")
	}
	if !(t.Weight >= 0 && t.Weight < 1) {
		f.add("/weight", "want 0 to below 1")
	}
	return f
}

// activeServers lists the active servers of the caller's tenant, and says at which
// revision of the catalog.
func (a *Admin) activeServers(ctx context.Context, req core.Request) ([]core.Server, int64, error) {
	servers, catalog, err := a.store.AllServers(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("list the servers: %w", err)
	}
	return slices.DeleteFunc(servers, func(s core.Server) bool {
		return s.Status != core.Active || s.TenantID != req.Principal.TenantID
	}), catalog, nil
}

func (a *Admin) trySearch(ctx context.Context, req core.Request, t Trial) (TrialAnswer, error) {
	servers, catalog, err := a.activeServers(ctx, req)
	if err != nil {
		return TrialAnswer{}, err
	}
	names := make(map[string]string, len(servers))
	ids := make([]string, len(servers))
	for i, s := range servers {
		names[s.ID], ids[i] = s.Name, s.ID
	}
	found, err := a.engine.Search(ctx, search.Query{Text: t.Query, Domain: t.Domain, Servers: ids, TopK: t.TopK,
		MinSimilarity: t.MinSimilarity, Weight: t.Weight, AtLeast: catalog})
	if err != nil {
		return TrialAnswer{}, err
	}
	answer := TrialAnswer{Hits: []TrialHit{}, Suggestion: found.Suggestion, Degraded: found.Degraded}
	if _, model, err := a.indexer.Active(); err == nil {
		answer.Model = model.Name
	}
	hitIDs := make([]string, len(found.Hits))
	for i, h := range found.Hits {
		hitIDs[i] = h.ToolID
	}
	tools, err := a.store.ToolsByID(ctx, hitIDs)
	if err != nil {
		return TrialAnswer{}, fmt.Errorf("read what was found: %w", err)
	}
	for _, h := range found.Hits {
		if tool, ok := tools[h.ToolID]; ok { // gone since the search
			answer.Hits = append(answer.Hits, TrialHit{Tool: tool, ServerName: names[h.ServerID], Score: h.Score})
		}
	}
	return answer, nil
}
