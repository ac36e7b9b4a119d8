package upstream

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/toolscout/toolscout/core"
)

// slot is the place of one key's session: there is at most one live, and at most
// one dial at a time, for which everybody waits.
type slot struct {
	key Key

	mu       sync.Mutex
	gone     bool // no longer in the pool's map: look again
	live     *session
	dialing  *dialing
	failures int       // dials failed in a row
	deaths   int       // sessions ended early in a row, without a call that worked
	next     time.Time // no dial before
	last     *fault    // why the last one failed
}

// dialing is a dial under way. It belongs to the pool: it goes on when the caller
// that began it has left.
type dialing struct {
	done chan struct{}
	err  error // set before done is closed
}

const (
	// longestBackoff bounds the pause between dials.
	longestBackoff = time.Minute
	// earlyEnd is the age under which a session's end counts like a failed dial once
	// it has happened earlyEnds times: a child that dies at each call must not be
	// started over and over.
	earlyEnd  = 30 * time.Second
	earlyEnds = 3
	// acquireTries bounds how often a session may vanish between a dial and its use.
	acquireTries = 3
)

// acquire gives the live session of a key, and dials if there is none. Every
// session acquired is released.
func (p *Pool) acquire(ctx context.Context, key Key, t *target) (*session, error) {
	for range acquireTries {
		sl, _ := p.slots.LoadOrCompute(key, func() *slot { return &slot{key: key} })
		s, d, err := p.take(sl, t)
		if s != nil || err != nil {
			return s, err
		}
		if d == nil {
			continue // the slot was given up between the look and the lock
		}
		select {
		case <-d.done:
			if d.err != nil {
				return nil, d.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, faultf(stageConnect, "ended each session at once")
}

// take gives the slot's session, or the dial to wait for, which it begins if need be.
func (p *Pool) take(sl *slot, t *target) (*session, *dialing, error) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.gone {
		return nil, nil, nil
	}
	if s := sl.live; s != nil {
		if !s.over() {
			s.refs++
			s.used = time.Now()
			return s, nil, nil
		}
		p.ended(sl, s) // its watcher has not come round to it yet
	}
	if sl.dialing != nil {
		return nil, sl.dialing, nil
	}
	if wait := time.Until(sl.next); wait > 0 {
		f := *sl.last
		f.until = sl.next
		return nil, nil, &f
	}
	d := &dialing{done: make(chan struct{})}
	if !p.tasks.start(func() { p.fill(sl, d, t) }) {
		return nil, nil, errClosed
	}
	sl.dialing = d
	return nil, d, nil
}

// fill dials for a slot.
func (p *Pool) fill(sl *slot, d *dialing, t *target) {
	defer close(d.done)
	srv := p.server(t.id)
	srv.connecting()
	ctx, cancel := context.WithTimeout(p.ctx, p.dialTimeout(t))
	defer cancel()
	s, err := p.dial(ctx, t, srv.lastEra(t.era))
	if err == nil && !p.adopt(s) {
		err = errClosed
	}
	sl.mu.Lock()
	sl.dialing = nil
	useless := err != nil || sl.gone
	switch {
	case err != nil:
		d.err = p.pause(sl, srv, t, err)
	case !useless:
		s.slot, sl.live, sl.failures = sl, s, 0
	}
	sl.mu.Unlock()
	if useless {
		if s != nil {
			s.close()
		}
		return
	}
	srv.speaks(s.info.Era, t.era)
	srv.connected()
	p.tasks.start(func() { p.watch(sl, s) })
}

// pause notes a failure and sets when the next dial may be; sl.mu is held.
func (p *Pool) pause(sl *slot, srv *server, t *target, err error) error {
	if p.ctx.Err() != nil {
		return errClosed
	}
	f := asFault(stageConnect, err)
	sl.failures++
	sl.last = f
	if !f.config {
		d := min(p.cfg.Backoff<<min(sl.failures-1, 16), longestBackoff)
		sl.next = time.Now().Add(d/2 + rand.N(d/2+1))
	}
	if !f.healthy {
		p.failed(srv, t, f)
	}
	return f
}

// failed notes a failure of a server, and logs it.
func (p *Pool) failed(srv *server, t *target, f *fault) {
	text := t.mask.clean(f.text)
	p.cfg.Logger.Warn("upstream failed", "upstream", t.name, "stage", f.stage, "reason", text)
	srv.failed(f, text)
}

// watch notices the end of a session that nobody closed.
func (p *Pool) watch(sl *slot, s *session) {
	<-s.wire.ended()
	sl.mu.Lock()
	defer sl.mu.Unlock()
	p.ended(sl, s)
}

// ended notes the end of a session that nobody closed; sl.mu is held.
func (p *Pool) ended(sl *slot, s *session) {
	if s.retired {
		return
	}
	p.retire(sl, s)
	if p.ctx.Err() != nil {
		return // Close ends it, which says nothing about the server
	}
	srv := p.server(s.target.id)
	f := asFault(stageCall, s.wire.why())
	if f.healthy {
		return
	}
	sl.deaths++
	if time.Since(s.made) > earlyEnd {
		sl.deaths = 0
	}
	if sl.deaths >= earlyEnds {
		_ = p.pause(sl, srv, s.target, f)
		return
	}
	p.failed(srv, s.target, f)
}

// retire takes a session out of use, and closes it when the last call on it has
// ended; sl.mu is held.
func (p *Pool) retire(sl *slot, s *session) {
	if sl.live == s {
		sl.live = nil
	}
	if s.retired {
		return
	}
	s.retired = true
	if s.refs == 0 {
		p.end(s)
	}
}

// end closes a session in the background. When the pool is closing, Close does it.
func (p *Pool) end(s *session) { p.tasks.start(s.close) }

// release ends one use of a session, with the error that it ended in.
func (p *Pool) release(s *session, err error) {
	sl := s.slot
	sl.mu.Lock()
	defer sl.mu.Unlock()
	s.refs--
	s.used = time.Now()
	if err == nil {
		sl.deaths = 0
	}
	if s.over() {
		p.ended(sl, s)
	}
	var f *fault
	if errors.As(err, &f) && f.evict {
		p.retire(sl, s)
	}
	if s.retired && s.refs == 0 {
		p.end(s)
	}
}

// dialTimeout bounds one dial.
func (p *Pool) dialTimeout(t *target) time.Duration {
	if p.cfg.DialTimeout > 0 {
		return p.cfg.DialTimeout
	}
	if t.transport == core.Stdio {
		return time.Minute // a package may have to be fetched first
	}
	return 15 * time.Second
}
