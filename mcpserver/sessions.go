package mcpserver

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/toolscout/toolscout/core"
)

// owner is whom a session belongs to. Another token of the same user is another
// owner: it may be narrower.
type owner struct{ userID, tokenID string }

func ownerOf(r core.Request) owner { return owner{r.Principal.UserID, r.Principal.TokenID} }

// String is the owner as the SDK compares it.
func (o owner) String() string { return o.userID + "/" + o.tokenID }

// session is an open MCP session.
type session struct {
	id    string
	owner owner
	sdk   *mcp.ServerSession
	sse   *sseConn // nil for a session of /mcp

	used atomic.Int64 // when it was last left alone, in Unix nanoseconds

	mu    sync.Mutex
	busy  int // HTTP requests running in it, streams included
	calls map[string]context.CancelFunc
}

func (s *session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy == 0
}

// begin notes a call under the id that its client gave it. It reports false when
// that id is already in use.
func (s *session) begin(id string, cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.calls[id]; ok {
		return false
	}
	if s.calls == nil {
		s.calls = map[string]context.CancelFunc{}
	}
	s.calls[id] = cancel
	return true
}

func (s *session) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

// cancel cancels the call with an id; it reports whether there was one.
func (s *session) cancel(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	cancel, ok := s.calls[id]
	if ok {
		cancel()
	}
	return ok
}

// sessions are the open ones, bounded in all and by user.
type sessions struct {
	max, perUser int

	mu     sync.Mutex
	closed bool
	byID   map[string]*session
	held   map[string]int // places by user
	total  int            // places of all users

	ending  sync.WaitGroup // sessions on their way out
	running sync.WaitGroup // requests inside of sessions
}

// place is the right to open a session. It is filled or given back.
type place struct {
	owner  owner
	filled bool
}

func newSessions(most, perUser int) *sessions {
	return &sessions{max: most, perUser: perUser, byID: map[string]*session{}, held: map[string]int{}}
}

// reserve takes a place. At a bound it ends the owner's longest idle session;
// without one it refuses: RateLimited for the user's own bound, Unavailable for
// that of all.
func (t *sessions) reserve(o owner) (*place, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, core.Errorf(core.Unavailable, "the server is shutting down")
	}
	mine := t.held[o.userID] >= t.perUser
	if (mine || t.total >= t.max) && !t.dropIdle(o.userID) {
		if mine {
			e := core.Errorf(core.RateLimited, "you have %d sessions open, and none is idle", t.held[o.userID])
			e.RetryAfter = 5 * time.Second
			return nil, e
		}
		e := core.Errorf(core.Unavailable, "too many sessions are open")
		e.RetryAfter = 30 * time.Second
		return nil, e
	}
	t.held[o.userID]++
	t.total++
	return &place{owner: o}, nil
}

// dropIdle ends the longest idle session of a user; t.mu is held.
func (t *sessions) dropIdle(userID string) bool {
	var oldest *session
	for _, s := range t.byID {
		if s.owner.userID == userID && s.idle() && (oldest == nil || s.used.Load() < oldest.used.Load()) {
			oldest = s
		}
	}
	if oldest == nil {
		return false
	}
	t.remove(oldest)
	return true
}

// fill turns a place into a session. It is nil after closeAll.
func (t *sessions) fill(p *place, id string, sdk *mcp.ServerSession, sse *sseConn) *session {
	s := &session{id: id, owner: p.owner, sdk: sdk, sse: sse}
	s.used.Store(time.Now().UnixNano())
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	p.filled = true
	t.byID[id] = s
	return s
}

// giveBack returns a place that was not filled.
func (t *sessions) giveBack(p *place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !p.filled {
		t.free(p.owner.userID)
	}
}

func (t *sessions) free(userID string) {
	t.total--
	if t.held[userID]--; t.held[userID] == 0 {
		delete(t.held, userID)
	}
}

// enter finds the session of an owner and marks it as in use until leave; nil
// when there is none, or when it is somebody else's: nobody learns which.
func (t *sessions) enter(id string, o owner) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	if s == nil || s.owner != o {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy++
	t.running.Add(1)
	return s
}

func (t *sessions) leave(s *session) {
	s.used.Store(time.Now().UnixNano())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	t.running.Done()
}

// drop ends a session: its calls are cancelled, its streams closed.
func (t *sessions) drop(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cancel := range s.calls {
		cancel()
	}
}

// remove takes a session out and closes it behind the caller's back: the SDK's
// Close waits for the calls under way. t.mu is held.
func (t *sessions) remove(s *session) {
	if t.byID[s.id] != s {
		return
	}
	delete(t.byID, s.id)
	t.free(s.owner.userID)
	t.ending.Go(func() {
		if s.sse != nil {
			s.sse.drain()
		}
		_ = s.sdk.Close() // what is left of a closed session interests nobody
	})
}

// sweep ends the sessions that were idle for longer than timeout, until ctx ends.
func (t *sessions) sweep(ctx context.Context, timeout time.Duration) {
	tick := time.NewTicker(max(timeout/8, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			t.dropOlder(now.Add(-timeout).UnixNano())
		}
	}
}

func (t *sessions) dropOlder(than int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.byID {
		if s.used.Load() < than && s.idle() {
			t.remove(s)
		}
	}
}

// closeAll ends all sessions, lets no new one in, and waits until the last request
// has left.
func (t *sessions) closeAll() {
	t.mu.Lock()
	t.closed = true
	for _, s := range t.byID {
		t.remove(s)
	}
	t.mu.Unlock()
	t.ending.Wait()
	t.running.Wait()
}
