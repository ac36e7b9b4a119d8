package rest

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/gateway"
)

// hookID is the argument of the gateway's actions on one hook.
type hookID struct {
	ID string `json:"hook_id"`
}

func (a *api) hooks(ctx context.Context, c call[Page, none]) (json.RawMessage, error) {
	return a.do(ctx, c.Request, gateway.ListHooks, c.query)
}

func (a *api) hook(ctx context.Context, c call[none, none]) (json.RawMessage, error) {
	return a.do(ctx, c.Request, gateway.GetHook, hookID{c.path("id")})
}

func (a *api) createHook(ctx context.Context, c call[none, NewHook]) (json.RawMessage, error) {
	made, err := a.do(ctx, c.Request, gateway.CreateHook, c.body)
	if err != nil {
		return nil, err
	}
	var id struct{ ID string }
	if err := json.Unmarshal(made, &id); err != nil {
		return nil, err
	}
	c.header.Set("Location", "/v1/hooks/"+url.PathEscape(id.ID))
	return made, nil
}

func (a *api) updateHook(ctx context.Context, c call[none, Patch[HookInput]]) (json.RawMessage, error) {
	id, err := core.EncodeJSON(c.path("id"))
	if err != nil {
		return nil, err
	}
	args := map[string]json.RawMessage{"hook_id": id}
	maps.Copy(args, c.body)
	return a.do(ctx, c.Request, gateway.UpdateHook, args)
}

func (a *api) deleteHook(ctx context.Context, c call[none, none]) (none, error) {
	_, err := a.do(ctx, c.Request, gateway.DeleteHook, hookID{c.path("id")})
	return none{}, err
}

func (a *api) hookTypes(ctx context.Context, c call[Page, none]) (List[HookType], error) {
	raw, err := a.do(ctx, c.Request, gateway.HookTypes, struct{}{})
	if err != nil {
		return List[HookType]{}, err
	}
	var all List[HookType]
	if err := json.Unmarshal(raw, &all); err != nil {
		return List[HookType]{}, err
	}
	return part(all.Items, c.query, func(t HookType) string { return t.Name }, func(t HookType) HookType { return t })
}
