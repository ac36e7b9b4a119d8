package rest

import (
	"context"
	"encoding/json"

	"github.com/toolscout/toolscout/core/gateway"
)

// visibleQuery filters the servers of a caller.
type visibleQuery struct {
	Query string `json:"query,omitempty" doc:"Looked for in names and descriptions."`
	Page
}

func (a *api) servers(ctx context.Context, c call[visibleQuery, none]) (json.RawMessage, error) {
	return a.do(ctx, c.Request, gateway.ListServers, c.query)
}

func (a *api) serverTools(ctx context.Context, c call[Page, none]) (json.RawMessage, error) {
	return a.do(ctx, c.Request, gateway.ServerTools, struct {
		ServerID string `json:"server_id"`
		Page
	}{c.path("id"), c.query})
}

func (a *api) setPreference(ctx context.Context, c call[none, Switch]) (json.RawMessage, error) {
	return a.do(ctx, c.Request, gateway.SetPreference, struct {
		ServerID string `json:"server_id"`
		Switch
	}{c.path("id"), c.body})
}
