package events

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/toolscout/toolscout/core"
)

const (
	// pageSize is how many events are read at once.
	pageSize = 200
	// look is how often the reader looks without a notice.
	look = 5 * time.Second

	// Calls are announced for so long after somebody was last known to listen, and
	// whoever listens says so every renew.
	callsFor, renew = 5 * time.Minute, time.Minute

	noticePrefix = "events "
)

// Notice hears what postgres.Store.Listen tells: there may be new events, or, after
// a lost connection, anything.
func (b *Bus) Notice(payload string) {
	var last int64
	if _, err := fmt.Sscanf(payload, noticePrefix+"%d", &last); err != nil && payload != "" {
		return
	}
	b.mu.Lock()
	known := payload != "" && last <= b.seen
	b.mu.Unlock()
	if !known {
		nudge(b.wake)
	}
}

// locate finds the end of what is stored, from which on the reader reads. It
// reports false when ctx ended first.
func (b *Bus) locate(ctx context.Context) bool {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		l, err := b.store.EventLog(ctx)
		if err == nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.seen = l.Last
			return true
		}
		if !sleep(ctx, pause/2+rand.N(pause)) {
			return false
		}
		b.log.Warn("events not read, trying again", "error", err)
	}
}

// tail gives every new event to the subscriptions.
func (b *Bus) tail(ctx context.Context) {
	timer := time.NewTimer(look)
	defer timer.Stop()
	failed := false
	for {
		more, err := b.advance(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failed {
			b.log.Warn("events not read, trying again", "error", err)
		}
		if failed = err != nil; more && !failed {
			continue
		}
		timer.Reset(look)
		select {
		case <-b.wake:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		if failed && !sleep(ctx, firstPause) {
			return
		}
	}
}

// advance gives the next page to the subscriptions and reports whether there may be
// another.
func (b *Bus) advance(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, appendTimeout)
	defer cancel()
	b.mu.Lock()
	seen := b.seen
	b.mu.Unlock()
	page, _, err := b.store.Events(ctx, seen, pageSize)
	if err != nil || len(page) == 0 {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = page[len(page)-1].ID
	for s, follows := range b.subs {
		if follows {
			s.offer(page)
		}
	}
	return len(page) == pageSize, nil
}

// listen keeps calls announced while a subscription wants them.
func (b *Bus) listen(ctx context.Context) {
	for sleep(ctx, renew) {
		if !b.wanted() {
			continue
		}
		if err := b.listenToCalls(ctx); err != nil && ctx.Err() == nil {
			b.log.Warn("calls may not be announced", "error", err)
		}
	}
}

func (b *Bus) wanted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subs {
		if s.calls {
			return true
		}
	}
	return false
}

// listenToCalls has calls announced from now on. While they are anyway for some
// time, because of us, that costs nothing.
func (b *Bus) listenToCalls(ctx context.Context) error {
	b.mu.Lock()
	enough := time.Until(b.calls) > callsFor-renew/2
	b.mu.Unlock()
	if enough {
		return nil
	}
	until := time.Now().Add(callsFor)
	if err := b.store.ListenToCalls(ctx, callsFor); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = until
	return nil
}

// callTypes are the events that are only stored while somebody listens.
var callTypes = []string{core.EventMetaBefore, core.EventMetaAfter, core.EventToolBefore, core.EventToolAfter, core.EventToolRejected}
