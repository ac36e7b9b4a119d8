package rest

import (
	"context"
	"encoding/json"
)

func (a *api) servers(ctx context.Context, c call[Page, none]) (List[VisibleServer], error) {
	return List[VisibleServer]{}, nil
}

func (a *api) serverTools(ctx context.Context, c call[Page, none]) (List[FoundTool], error) {
	return List[FoundTool]{}, nil
}

func (a *api) setPreference(ctx context.Context, c call[none, Switch]) (Preference, error) {
	return Preference{}, nil
}

func (a *api) findTools(ctx context.Context, c call[toolQuery, none]) (json.RawMessage, error) {
	return nil, nil
}
