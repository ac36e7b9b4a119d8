package ratelimit_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
)

// local stands for the database where time is to be ours: exact, by the same rules,
// and away when told so.
type local struct {
	away  atomic.Bool
	asked atomic.Int64
	slow  time.Duration // how much longer an answer takes
	// lose, if set, says whether the next question, or its answer, does not arrive.
	lose func() (question, answer bool)

	mu      sync.Mutex
	buckets map[string]*level
	slots   map[string]lease // by bucket and holder
}

type lease struct {
	n     int
	until time.Time
}

type level struct {
	full, until time.Time
	held        int
}

var errAway = core.Errorf(core.Unavailable, "the database cannot be reached")

func (l *local) TakeTokens(ctx context.Context, b postgres.Bucket, t postgres.Take) (int, time.Duration, error) {
	l.asked.Add(1)
	if l.away.Load() {
		return 0, 0, errAway
	}
	if err := l.work(ctx); err != nil {
		return 0, 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	question, answer := false, false
	if l.lose != nil {
		question, answer = l.lose()
	}
	if question {
		return 0, 0, errAway
	}
	n, wait := l.grant(b, t)
	if answer {
		return 0, 0, errAway
	}
	return n, wait, nil
}

// work is what an answer takes.
func (l *local) work(ctx context.Context) error {
	select {
	case <-time.After(time.Millisecond + l.slow):
		return nil
	case <-ctx.Done():
		return core.Errorf(core.Unavailable, "the database did not answer").Because(ctx.Err())
	}
}

// grant needs the mutex.
func (l *local) grant(b postgres.Bucket, t postgres.Take) (int, time.Duration) {
	v := l.buckets[b.Hook+b.Key]
	if v == nil {
		v = &level{}
		if l.buckets == nil {
			l.buckets = map[string]*level{}
		}
		l.buckets[b.Hook+b.Key] = v
	}
	now := time.Now()
	if now.Before(v.until) {
		v.held -= t.Settled
		v.full = v.full.Add(-time.Duration(t.Returned) * b.Interval)
	} else {
		v.held = 0
	}
	if least := now.Add(time.Duration(v.held) * b.Interval); v.full.Before(least) {
		v.full = least
	}
	room := now.Add(time.Duration(b.Burst) * b.Interval).Sub(v.full)
	n := max(0, min(t.Use+t.Hold, int(room/b.Interval)))
	v.full = v.full.Add(time.Duration(n) * b.Interval)
	if n > t.Use {
		v.held += n - t.Use
		v.until = now.Add(t.HoldFor)
	}
	if n >= t.Use {
		return n, 0
	}
	return n, time.Duration(n+1)*b.Interval - room
}

func (l *local) HoldSlots(ctx context.Context, s postgres.Slots) (int, error) {
	l.asked.Add(1)
	if l.away.Load() {
		return 0, errAway
	}
	if err := l.work(ctx); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.slots == nil {
		l.slots = map[string]lease{}
	}
	others := 0
	for k, held := range l.slots {
		if strings.HasPrefix(k, s.Hook+s.Key) && !strings.HasSuffix(k, s.Holder) && time.Now().Before(held.until) {
			others += held.n
		}
	}
	n := max(0, min(s.Want, s.Limit-others))
	l.slots[s.Hook+s.Key+s.Holder] = lease{n, time.Now().Add(s.For)}
	return n, nil
}

func (l *local) PruneRates(context.Context) (int64, error) { return 0, nil }
