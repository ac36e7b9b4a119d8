package ratelimit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/toolscout/toolscout/core/postgres"
)

// The times by which buckets live.
const (
	tick = 250 * time.Millisecond
	// askTimeout ends a question that nobody answers, so that the next has its turn.
	// It is no limit for callers: they wait as long as their hook may take, and on a
	// busy machine a question too has to wait for a connection.
	askTimeout = 10 * time.Second
	forget     = time.Minute     // a bucket that nobody used for so long
	pruneEvery = 5 * time.Minute // what is shared and says nothing any more
)

// buckets are those of one hook that calls came upon lately. What they share with
// other instances is in the database; these hold only what is taken ahead.
type buckets struct {
	shared Shared
	hook   string
	holder string
	limits limits
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu  sync.Mutex
	all map[string]*bucket
}

// bucket is what one user, agent, server or tool has.
type bucket struct {
	tokens *tokens
	slots  *slots

	users int // guarded by buckets.mu, as is:
	last  time.Time
}

func newBuckets(s Shared, hook string, l limits) *buckets {
	ctx, cancel := context.WithCancel(context.Background())
	bs := &buckets{shared: s, hook: hook, holder: uuid.NewString(), limits: l, stop: cancel, all: map[string]*bucket{}}
	bs.done.Go(func() { bs.tidy(ctx) })
	return bs
}

// join gives the bucket of a key. Part with it.
func (bs *buckets) join(key string) *bucket {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.all[key]
	if b == nil {
		b = bs.make(key)
		bs.all[key] = b
	}
	b.users++
	return b
}

func (bs *buckets) part(b *bucket) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b.users--
	b.last = time.Now()
}

func (bs *buckets) make(key string) *bucket {
	sum := sha256.Sum256([]byte(key))
	hash := hex.EncodeToString(sum[:16])
	shared := postgres.Bucket{Hook: bs.hook, Key: hash, Interval: bs.limits.interval, Burst: bs.limits.Burst}
	slot := postgres.Slots{Hook: bs.hook, Key: hash, Limit: bs.limits.Concurrency, Holder: bs.holder, For: slotLease}
	return &bucket{
		tokens: &tokens{spawn: bs.done.Go, most: ahead(bs.limits.Burst),
			take: func(ctx context.Context, t postgres.Take) (int, time.Duration, error) {
				return bs.shared.TakeTokens(ctx, shared, t)
			}},
		slots: &slots{spawn: bs.done.Go, limit: slot.Limit, most: ahead(slot.Limit),
			hold: func(ctx context.Context, n int) (int, error) {
				want := slot
				want.Want = n
				return bs.shared.HoldSlots(ctx, want)
			}},
	}
}

// ahead is how many may be taken ahead of a limit.
func ahead(limit int) int {
	if limit <= 10 {
		return 0
	}
	return limit / 10
}

// tidy gives back what is not needed, keeps what is, and forgets who is gone.
func (bs *buckets) tidy(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	prune := time.Now().Add(rand.N(pruneEvery))
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			bs.sweep(now)
			if now.After(prune) {
				prune = now.Add(pruneEvery/2 + rand.N(pruneEvery))
				bs.prune(ctx)
			}
		}
	}
}

func (bs *buckets) sweep(now time.Time) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	for key, b := range bs.all {
		// Both are asked: each gives back what is its own.
		busy := b.tokens.tidy(now)
		if b.slots.tidy(now) || busy || b.users > 0 || now.Sub(b.last) < forget {
			continue
		}
		delete(bs.all, key)
	}
}

func (bs *buckets) prune(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, _ = bs.shared.PruneRates(ctx) // the next one will
}

// close gives back everything and waits for the end of it.
func (bs *buckets) close() {
	bs.stop()
	bs.done.Wait()
	bs.mu.Lock()
	defer bs.mu.Unlock()
	for _, b := range bs.all {
		b.tokens.close()
		b.slots.close()
	}
	bs.done.Wait()
}
