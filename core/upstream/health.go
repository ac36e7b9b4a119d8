package upstream

import (
	"sync"
	"time"

	"github.com/toolscout/toolscout/core"
)

// failuresToDown is how many failures in a row turn an unstable server into an
// unavailable one.
const failuresToDown = 3

// server is what the pool knows of one server across its sessions: how it fares,
// which generation it speaks, and how many calls it may have at once.
type server struct {
	id    string
	turns chan struct{} // one taken by each call under way
	tell  *notifier

	mu       sync.Mutex
	health   core.Health
	seen     bool // it has worked at some time
	failures int  // since it last worked
	era      string
}

// connecting notes that a dial has begun. What is known to be broken stays so
// until the dial succeeds.
func (s *server) connecting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.health.State == "" || s.health.State == core.Stopped || s.health.State == core.Misconfigured {
		s.change(core.Connecting, "", "")
	}
}

// connected notes a handshake that came through. It does not make up for earlier
// failures: a server may fall over at each call.
func (s *server) connected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.healthy()
}

// worked notes a request that came through.
func (s *server) worked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = 0
	s.healthy()
}

func (s *server) healthy() {
	now := time.Now()
	s.health.LastSeen = &now
	s.seen = true
	s.change(core.Healthy, "", "")
}

// stopped notes that an idle child was stopped.
func (s *server) stopped() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(core.Stopped, "", "stopped because it was idle; the next call starts it")
}

// failed notes a failure of the server or of the way to it.
func (s *server) failed(f *fault, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.config {
		s.change(core.Misconfigured, f.stage, text)
		return
	}
	s.failures++
	if s.seen && s.failures < failuresToDown {
		s.change(core.Unstable, f.stage, text)
		return
	}
	s.change(core.Down, f.stage, text)
}

// change reports a new observation; s.mu is held.
func (s *server) change(state core.HealthState, stage, message string) {
	h := &s.health
	if h.State == state && h.Stage == stage && h.Message == message {
		return
	}
	if h.State != state {
		h.Since = time.Now()
	}
	h.State, h.Stage, h.Message = state, stage, message
	s.tell.health(s.id, *h)
}

// speaks notes which generation a handshake ended in.
func (s *server) speaks(era, known string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.era == "" {
		s.era = known
	}
	if s.era != era {
		s.era = era
		s.tell.era(s.id, era)
	}
}

// lastEra gives the generation of the last handshake, or else known.
func (s *server) lastEra(known string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.era == "" {
		return known
	}
	return s.era
}
