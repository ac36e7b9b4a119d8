package rest

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookbook"
	"github.com/toolscout/toolscout/core/hookset"
)

// hookQuery filters hooks.
type hookQuery struct {
	Type   string  `json:"type,omitempty" doc:"Only this type."`
	User   *string `json:"user,omitempty" doc:"Only those of this user, by id or name; given without a value, those of no user in particular."`
	Server *string `json:"server,omitempty" doc:"Only those of this server, by id or name; given without a value, those of no server in particular."`
	Page
}

func (a *api) adminHooks(ctx context.Context, c call[hookQuery, none]) (List[Hook], error) {
	q := c.query
	hooks, err := a.admin.Hooks(ctx, c.Request, hookbook.Filter{User: q.User, Server: q.Server, Type: q.Type}, q.page())
	return listOf(hooks, hookOf), err
}

func (a *api) adminHook(ctx context.Context, c call[none, none]) (Hook, error) {
	h, err := a.admin.Hook(ctx, c.Request, c.path("id"))
	return hookOf(h), err
}

func (a *api) createAnyHook(ctx context.Context, c call[none, NewHook]) (Hook, error) {
	h, err := a.admin.CreateHook(ctx, c.Request, hookbook.Patch(c.body))
	c.header.Set("Location", "/v1/admin/hooks/"+url.PathEscape(h.ID))
	return hookOf(h), err
}

func (a *api) updateAnyHook(ctx context.Context, c call[none, Patch[HookInput]]) (Hook, error) {
	h, err := a.admin.UpdateHook(ctx, c.Request, c.path("id"), hookbook.Patch(c.body))
	return hookOf(h), err
}

func (a *api) deleteAnyHook(ctx context.Context, c call[none, none]) (none, error) {
	return none{}, a.admin.DeleteHook(ctx, c.Request, c.path("id"))
}

func (a *api) testHook(ctx context.Context, c call[none, HookTrial]) (json.RawMessage, error) {
	raw, err := core.EncodeJSON(c.body)
	if err != nil {
		return nil, err
	}
	var trial hookset.Trial
	if err := json.Unmarshal(raw, &trial); err != nil {
		return nil, err
	}
	result, err := a.admin.TestHook(ctx, c.Request, trial)
	if err != nil {
		return nil, err
	}
	return core.EncodeJSON(result)
}

// effectiveQuery says whose call of what is to be explained.
type effectiveQuery struct {
	User  string `json:"user,omitempty" doc:"Whose calls, by id or name; one's own when left out."`
	Tool  string `json:"tool,omitempty" doc:"The tool that is called: its id, or a name that the user can see. Without it, only the outer chain is shown."`
	Agent string `json:"agent,omitempty" doc:"The agent that makes the calls."`
}

func (a *api) effectiveHooks(ctx context.Context, c call[effectiveQuery, none]) (json.RawMessage, error) {
	p, err := a.admin.Principal(ctx, c.Request, c.query.User, c.query.Agent)
	if err != nil {
		return nil, err
	}
	explained, err := a.gateway.Effective(ctx, c.Request, p, c.query.Tool)
	if err != nil {
		return nil, err
	}
	return core.EncodeJSON(explained)
}
