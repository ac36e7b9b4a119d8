package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/toolscout/toolscout/core"
)

// A request asks the database who its token stands for, and that round trip costs
// as much as everything else the gateway does for a call. So what the database
// answered is held as a lease: for a moment, counted from before the question was
// sent, it may be used again.
//
// Nothing gets stale by that, on any instance, because whoever changes anything
// waits until every lease given out before has run its length, and says only then
// that the change is done (Store.tx). It needs no common clock and no message that
// might be late: both sides measure a duration by themselves.
type leases struct {
	length time.Duration // 0: every request asks
	ask    func(ctx context.Context, secretHash [32]byte) (core.Principal, error)

	renewals sync.WaitGroup

	mu     sync.Mutex
	closed bool
	held   map[[32]byte]*lease
}

// lease is what the database answered about a token.
type lease struct {
	principal core.Principal
	asked     time.Time
	renewing  bool
}

// sweep is how many leases are held before those that have run out are dropped.
const sweep = 1024

func newLeases(length time.Duration, ask func(context.Context, [32]byte) (core.Principal, error)) *leases {
	return &leases{length: length, ask: ask, held: map[[32]byte]*lease{}}
}

// principal answers from a lease, which is renewed in its second half without
// anybody waiting for it, and otherwise asks.
func (l *leases) principal(ctx context.Context, secretHash [32]byte) (core.Principal, error) {
	if l.length <= 0 {
		return l.ask(ctx, secretHash)
	}
	if p, ok := l.valid(secretHash); ok {
		return p, nil
	}
	return l.fetch(ctx, secretHash)
}

func (l *leases) valid(secretHash [32]byte) (core.Principal, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.held[secretHash]
	if held == nil {
		return core.Principal{}, false
	}
	age := time.Since(held.asked)
	if age >= l.length {
		return core.Principal{}, false
	}
	if age >= l.length/2 && !held.renewing && !l.closed {
		held.renewing = true
		l.renewals.Go(func() { l.renew(secretHash) })
	}
	return held.principal, true
}

func (l *leases) renew(secretHash [32]byte) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = l.fetch(ctx, secretHash) // the next request asks again, and is told
}

func (l *leases) fetch(ctx context.Context, secretHash [32]byte) (core.Principal, error) {
	asked := time.Now()
	p, err := l.ask(ctx, secretHash)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.held[secretHash]
	switch {
	case err != nil:
		delete(l.held, secretHash)
	case now == nil || now.asked.Before(asked):
		l.held[secretHash] = &lease{principal: p, asked: asked}
		l.drop()
	}
	return p, err
}

// drop makes room; callers hold the lock.
func (l *leases) drop() {
	if len(l.held) < sweep {
		return
	}
	for hash, held := range l.held {
		if time.Since(held.asked) >= l.length {
			delete(l.held, hash)
		}
	}
}

// waitOut returns when no lease is valid any more that was given before the call.
func (l *leases) waitOut() {
	if l.length > 0 {
		time.Sleep(l.length)
	}
}

// close waits for the renewals under way.
func (l *leases) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.renewals.Wait()
}
