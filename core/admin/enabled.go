package admin

import (
	"context"

	"github.com/toolscout/toolscout/core"
)

// Enabled tells of each server how the caller has switched it for themselves. A
// hidden server is off until it is granted.
func (a *Admin) Enabled(ctx context.Context, req core.Request) (func(core.Server) bool, error) {
	prefs, _, err := a.store.Preferences(ctx, req.Principal.UserID)
	if err != nil {
		return nil, err
	}
	return func(s core.Server) bool {
		p := prefs[s.ID]
		return (p.Enabled == nil || *p.Enabled) && (s.Visibility != core.Hidden || p.Granted)
	}, nil
}
