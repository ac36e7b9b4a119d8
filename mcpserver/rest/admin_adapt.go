package rest

import (
	"context"
	"encoding/json"

	"github.com/toolscout/toolscout/core/admin"
)

// maxTable bounds a body with a table: 16 MiB, written as base64.
const maxTable = 24 << 20

const tablePath = "/v1/admin/embeddings/table"

// MaxBodies are the paths whose bodies may be larger than others, and how large, in
// bytes: whoever bounds bodies before this package has to let them through.
func MaxBodies() map[string]int64 { return map[string]int64{tablePath: maxTable} }

// CatalogTool is a tool as it is indexed.
type CatalogTool struct {
	ID                string          `json:"id" format:"uuid" doc:"Its id."`
	Name              string          `json:"name" doc:"Its name." example:"gh_create_issue"`
	Title             string          `json:"title,omitempty" doc:"Its name for people."`
	Description       string          `json:"description" doc:"What it does."`
	InputSchema       json.RawMessage `json:"inputSchema" doc:"The JSON Schema of its arguments."`
	ServerName        string          `json:"serverName" doc:"The server's name."`
	ServerDescription string          `json:"serverDescription,omitempty" doc:"What the server is for."`
}

func (a *api) catalogTools(ctx context.Context, c call[Page, none]) (List[CatalogTool], error) {
	tools, err := a.admin.CatalogTools(ctx, c.Request, c.query.page())
	return listOf(tools, func(t admin.CatalogTool) CatalogTool {
		return CatalogTool{ID: t.ID, Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema,
			ServerName: t.ServerName, ServerDescription: t.ServerDescription}
	}), err
}

// Table is a table of the built-in model.
type Table struct {
	Table []byte `json:"table" doc:"The table, in the format that embeddings/builtin describes."`
}

func (a *api) table(ctx context.Context, c call[none, none]) (Table, error) {
	table, err := a.admin.Table(ctx, c.Request)
	return Table{table}, err
}

// TableInput is a table of the built-in model that was adapted to the catalog.
type TableInput struct {
	Base      string  `json:"base" doc:"The model that it was adapted from." example:"builtin/words-256-v2"`
	Table     []byte  `json:"table" doc:"The table itself, 16 MiB at most."`
	Questions int     `json:"questions,omitempty" minimum:"0" doc:"How many questions it was measured on, for the audit."`
	Gain      float64 `json:"gain,omitempty" doc:"What it gained in NDCG@10 there."`
	P         float64 `json:"p,omitempty" minimum:"0" maximum:"1" doc:"How likely that is by chance."`
}

func (a *api) adapt(ctx context.Context, c call[none, TableInput]) (Model, error) {
	model, err := a.admin.Adapt(ctx, c.Request, admin.AdaptedTable(c.body))
	return modelOf(model), err
}

func (a *api) revert(ctx context.Context, c call[none, none]) (Model, error) {
	model, err := a.admin.Revert(ctx, c.Request)
	return modelOf(model), err
}
