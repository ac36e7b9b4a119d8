package rest

import (
	"context"
	"strconv"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/admin"
)

func (a *api) domains(ctx context.Context, c call[Page, none]) (List[Domain], error) {
	domains, err := a.admin.Domains(ctx, c.Request)
	if err != nil {
		return List[Domain]{}, err
	}
	return part(domains, c.query, func(d core.Domain) string { return d.ID }, domainOf)
}

func (a *api) putDomain(ctx context.Context, c call[none, DomainInput]) (Domain, error) {
	d, err := a.admin.PutDomain(ctx, c.Request, core.Domain{ID: c.path("domain"), Name: c.body.Name, Description: c.body.Description})
	return domainOf(d), err
}

func (a *api) models(ctx context.Context, c call[Page, none]) (List[Model], error) {
	models, err := a.admin.Models(ctx, c.Request)
	if err != nil {
		return List[Model]{}, err
	}
	return part(models, c.query, modelKey, modelOf)
}

// ModelInput is what to change of an embedding model.
type ModelInput struct {
	Weight *float64 `json:"weight,omitempty" minimum:"0" maximum:"0.99" doc:"The share of meaning against words in a score; 0 goes back to the usual one."`
}

func (a *api) updateModel(ctx context.Context, c call[none, ModelInput]) (Model, error) {
	id, err := strconv.ParseInt(c.path("id"), 10, 64)
	if err != nil {
		return Model{}, a.admin.Refuse(ctx, c.Request, "index.model", core.Errorf(core.NotFound, "there is no embedding model %q", c.path("id")))
	}
	model, err := a.admin.UpdateModel(ctx, c.Request, id, admin.ModelPatch(c.body))
	return modelOf(model), err
}

func (a *api) startIndex(ctx context.Context, c call[none, IndexInput]) (IndexStatus, error) {
	status, err := a.admin.StartIndex(ctx, c.Request, c.body.Full)
	return IndexStatus(status), err
}

func (a *api) indexStatus(ctx context.Context, c call[none, none]) (IndexStatus, error) {
	status, err := a.admin.IndexStatus(ctx, c.Request)
	return IndexStatus(status), err
}

// Trial is a search to try.
type Trial struct {
	Query         string  `json:"query" doc:"What is looked for." example:"read a file"`
	Domain        string  `json:"domain,omitempty" doc:"Only tools of this domain."`
	TopK          int     `json:"topK,omitempty" minimum:"1" maximum:"50" default:"10" doc:"How many tools at most."`
	MinSimilarity float64 `json:"minSimilarity,omitempty" minimum:"0" maximum:"1" doc:"The least cosine; 0 means no bound."`
	Weight        float64 `json:"weight,omitempty" minimum:"0" maximum:"0.99" doc:"The share of meaning against words in a score; 0 means the model's own."`
}

// TrialAnswer is what a search found among the tools of every active server.
type TrialAnswer struct {
	Items      []TrialHit `json:"items" doc:"The tools, the best first."`
	Model      string     `json:"model,omitempty" doc:"The embedding model that was asked."`
	Suggestion string     `json:"suggestion,omitempty" doc:"What to try when nothing really fits."`
	Degraded   string     `json:"degraded,omitempty" doc:"Which half of the search was missing."`
}

// TrialHit is a tool that a search found.
type TrialHit struct {
	ID          string  `json:"id" format:"uuid" doc:"Its id."`
	Name        string  `json:"name" doc:"Its name."`
	Description string  `json:"description" doc:"What it does."`
	Domain      string  `json:"domain" doc:"Its domain."`
	ServerID    string  `json:"serverId" format:"uuid" doc:"Its server."`
	ServerName  string  `json:"serverName" doc:"The server's name."`
	Signature   string  `json:"signature,omitempty" doc:"How to call it, in one line."`
	Score       float64 `json:"score" doc:"How likely it is right, 0 to 1."`
}

func (a *api) trySearch(ctx context.Context, c call[none, Trial]) (TrialAnswer, error) {
	found, err := a.admin.TrySearch(ctx, c.Request, admin.Trial(c.body))
	answer := TrialAnswer{Items: make([]TrialHit, 0, len(found.Hits)), Model: found.Model,
		Suggestion: found.Suggestion, Degraded: found.Degraded}
	for _, h := range found.Hits {
		answer.Items = append(answer.Items, TrialHit{ID: h.Tool.ID, Name: h.Tool.Name, Description: h.Tool.Description,
			Domain: h.Tool.Domain, ServerID: h.Tool.ServerID, ServerName: h.ServerName,
			Signature: h.Tool.Signature, Score: h.Score})
	}
	return answer, err
}
