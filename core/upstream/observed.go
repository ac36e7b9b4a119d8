package upstream

import "github.com/toolscout/toolscout/core"

// Health gives what this pool observed last of a server, without the way through
// OnHealth; false when it has observed nothing yet.
func (p *Pool) Health(serverID string) (core.Health, bool) {
	s, ok := p.servers.Load(serverID)
	if !ok {
		return core.Health{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.health, s.health.State != ""
}
