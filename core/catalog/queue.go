package catalog

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/toolscout/toolscout/core"
)

// record is what is remembered of the looks at a server.
type record struct {
	ended    time.Time // of the last one
	failures int       // in a row
	idle     int       // how many in quick succession found nothing new
	warnings []string
}

// Enqueue asks for a server to be listed in the background: soon, or a little
// later if it has just been. It needs Run.
func (s *Syncer) Enqueue(serverID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[serverID]
	gap := min(firstGap<<min(r.idle, 10), longestGap)
	if rest := gap - time.Since(r.ended); rest > 0 {
		s.schedule(serverID, rest)
		return
	}
	s.push(serverID)
}

// push queues a server now; s.mu is held.
func (s *Syncer) push(serverID string) {
	s.unschedule(serverID)
	if slices.Contains(s.queue, serverID) {
		return
	}
	s.queue = append(s.queue, serverID)
	nudge(s.wake)
}

func (s *Syncer) dequeue() (id string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return "", false
	}
	id = s.queue[0]
	s.queue = s.queue[1:]
	return id, true
}

// remember notes how a look went. A server that could not be listed is looked at
// again after a pause that doubles from time to time.
func (s *Syncer) remember(serverID string, result SyncResult, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, core.NotFound) || errors.Is(err, core.Conflict) { // deleted or inactive
		delete(s.records, serverID)
		s.unschedule(serverID)
		return
	}
	r := s.records[serverID]
	switch {
	case err == nil && !result.differs() && time.Since(r.ended) < 2*longestGap:
		r.idle++
	default:
		r.idle = 0
	}
	r.ended = time.Now()
	if err == nil {
		r.failures, r.warnings = 0, result.Warnings
	} else {
		s.schedule(serverID, jitter(min(firstRetry<<min(r.failures, 10), s.interval)))
		r.failures++
	}
	s.records[serverID] = r
}

// schedule queues a server later; s.mu is held.
func (s *Syncer) schedule(serverID string, pause time.Duration) {
	s.unschedule(serverID)
	if s.ended {
		return
	}
	s.timers[serverID] = time.AfterFunc(pause, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.push(serverID)
	})
}

func (s *Syncer) unschedule(serverID string) {
	if timer := s.timers[serverID]; timer != nil {
		timer.Stop()
		delete(s.timers, serverID)
	}
}

// jitter is a duration give or take a fifth.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
