package admin

import (
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/secret"
)

// masked gives a server as answers show it.
func masked(s core.Server) core.Server {
	s.Env, s.Headers = secret.MaskAll(s.Env), secret.MaskAll(s.Headers)
	return s
}

// opened gives a server with its stored credentials readable, to be validated;
// one that does not open is left as it is.
func (a *Admin) opened(s core.Server) core.Server {
	open := func(values map[string]string) map[string]string {
		out := make(map[string]string, len(values))
		for k, v := range values {
			if plain, err := a.secrets.Open(v); err == nil {
				v = plain
			}
			out[k] = v
		}
		return out
	}
	s.Env, s.Headers = open(s.Env), open(s.Headers)
	return s
}

// resealed seals the values that are new, and keeps those that are stored.
func (a *Admin) resealed(values, stored map[string]string) map[string]string {
	sealed := a.secrets.SealAll(values)
	for name, value := range values {
		if old, ok := stored[name]; ok && old == value {
			sealed[name] = old
		}
	}
	return sealed
}

// noMasks refuses masks where there is nothing stored that they could stand for.
func (f *faults) noMasks(at string, values map[string]string) {
	f.unmask(at, values, nil)
}
