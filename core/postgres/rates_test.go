package postgres_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

// taker takes from one bucket and fails the test on an error.
func taker(t *testing.T, store *postgres.Store, b postgres.Bucket) func(postgres.Take) (int, time.Duration) {
	return func(take postgres.Take) (int, time.Duration) {
		t.Helper()
		n, wait, err := store.TakeTokens(t.Context(), b, take)
		check(t, err)
		return n, wait
	}
}

func TestTakeTokens(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	take := taker(t, store, postgres.Bucket{Hook: "h", Key: "k", Interval: time.Hour, Burst: 10})
	for _, step := range []struct {
		name string
		take postgres.Take
		want int
	}{
		{"for_use", postgres.Take{Use: 3}, 3},
		{"to_hold", postgres.Take{Use: 1, Hold: 4, HoldFor: time.Minute}, 5},
		{"gives_back", postgres.Take{Use: 1, Settled: 2, Returned: 2}, 1},
		{"all_there_is", postgres.Take{Use: 9}, 3},
		{"nothing_left", postgres.Take{Use: 1}, 0},
		{"nothing_wanted", postgres.Take{}, 0},
	} {
		n, wait := take(step.take)
		if n != step.want || (wait > 0) != (n < step.take.Use) || wait > time.Hour {
			t.Errorf("%s: got %d, wait %v; want %d", step.name, n, wait, step.want)
		}
	}
	other := taker(t, store, postgres.Bucket{Hook: "h", Key: "other", Interval: time.Hour, Burst: 1})
	if n, _ := other(postgres.Take{Use: 1}); n != 1 {
		t.Errorf("another bucket gave %d", n)
	}
}

// TestTakeTokensWait: what a bucket says of the next token is exact.
func TestTakeTokensWait(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	take := taker(t, store, postgres.Bucket{Hook: "h", Key: "k", Interval: time.Minute, Burst: 2})
	take(postgres.Take{Use: 2})
	_, wait := take(postgres.Take{Use: 1})
	if wait <= 55*time.Second || wait > time.Minute {
		t.Fatalf("got %v", wait)
	}
	// As if the time had passed.
	exec(t, conn, `update rate_buckets set full_at = full_at - $1::bigint`, int64(wait))
	if n, _ := take(postgres.Take{Use: 2}); n != 1 {
		t.Errorf("got %d tokens", n)
	}
}

// TestHeldTokensCount: what is held is not refilled, so that together there are never
// more than the burst.
func TestHeldTokensCount(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	b := postgres.Bucket{Hook: "h", Key: "k", Interval: time.Hour, Burst: 10}
	take := taker(t, store, b)
	if n, _ := take(postgres.Take{Hold: 6, HoldFor: time.Hour}); n != 6 {
		t.Fatalf("got %d", n)
	}
	exec(t, conn, `update rate_buckets set full_at = 0`) // a long time passes
	if n, _ := take(postgres.Take{Use: 10}); n != 4 {
		t.Errorf("got %d beside 6 that are held", n)
	}
	if n, _ := take(postgres.Take{Use: 10, Settled: 6}); n != 0 {
		t.Errorf("got %d after those held were used", n)
	}
	exec(t, conn, `update rate_buckets set full_at = 0, held = 6, held_until = 0`)
	if n, _ := take(postgres.Take{Use: 20, Settled: 6, Returned: 6}); n != 10 {
		t.Errorf("got %d after those held were void", n)
	}
}

// TestTakeTokensFollowsTheLimit: a smaller bucket takes effect at once, and a clock
// that was set back stops nobody for longer than a bucket takes to fill.
func TestTakeTokensFollowsTheLimit(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	take := taker(t, store, postgres.Bucket{Hook: "h", Key: "k", Interval: time.Hour, Burst: 100})
	take(postgres.Take{Use: 100})
	smaller := taker(t, store, postgres.Bucket{Hook: "h", Key: "k", Interval: time.Minute, Burst: 2})
	for _, query := range []string{`update rate_buckets set full_at = full_at`, `update rate_buckets set full_at = full_at + 1000000000000000`} {
		exec(t, conn, query)
		if n, wait := smaller(postgres.Take{Use: 1}); n != 0 || wait > time.Minute {
			t.Errorf("got %d, wait %v", n, wait)
		}
	}
}

func TestTakeTokensAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	const burst, callers = 50, 8
	var granted atomic.Int64
	var wait sync.WaitGroup
	for i := range 2 {
		store, err := postgres.Open(t.Context(), url, postgres.Options{MaxConns: 4})
		check(t, err)
		t.Cleanup(store.Close)
		for range callers {
			wait.Go(func() {
				for range 20 {
					n, _, err := store.TakeTokens(t.Context(), postgres.Bucket{Hook: "h", Key: "k", Interval: time.Hour, Burst: burst},
						postgres.Take{Use: 1 + i, Hold: 1, HoldFor: time.Minute})
					if err != nil {
						t.Error(err)
					}
					granted.Add(int64(n))
				}
			})
		}
	}
	wait.Wait()
	if granted.Load() != burst {
		t.Errorf("granted %d, want %d", granted.Load(), burst)
	}
}

func TestHoldSlots(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	hold := func(holder string, want int) int {
		t.Helper()
		return must(store.HoldSlots(t.Context(), postgres.Slots{Hook: "h", Key: "k", Limit: 5, Holder: holder, Want: want, For: time.Minute}))(t)
	}
	for i, step := range []struct {
		holder     string
		want, gets int
	}{{"a", 3, 3}, {"b", 3, 2}, {"a", 5, 3}, {"a", 1, 1}, {"b", 9, 4}, {"c", 1, 0}, {"b", 0, 0}, {"c", 9, 4}} {
		if got := hold(step.holder, step.want); got != step.gets {
			t.Errorf("step %d: %s got %d of %d, want %d", i, step.holder, got, step.want, step.gets)
		}
	}
	exec(t, conn, `update rate_slots set expires_at = now() - interval '1 second' where holder = 'c'`) // killed
	if got := hold("b", 9); got != 4 {
		t.Errorf("after a holder's end: got %d", got)
	}
}

func TestHoldSlotsAtOnce(t *testing.T) {
	t.Parallel()
	store := pgtest.New(t)
	const limit = 7
	var got atomic.Int64
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			n, err := store.HoldSlots(t.Context(), postgres.Slots{Hook: "h", Key: "k", Limit: limit, Holder: fmt.Sprint(i), Want: 1, For: time.Minute})
			if err != nil {
				t.Error(err)
			}
			got.Add(int64(n))
		})
	}
	wait.Wait()
	if got.Load() != limit {
		t.Errorf("%d slots given out, want %d", got.Load(), limit)
	}
}

func TestPruneRates(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	slow := taker(t, store, postgres.Bucket{Hook: "slow", Key: "k", Interval: time.Hour, Burst: 10})
	fast := taker(t, store, postgres.Bucket{Hook: "fast", Key: "k", Interval: time.Nanosecond, Burst: 10})
	slow(postgres.Take{Use: 1})
	fast(postgres.Take{Use: 1})
	for _, h := range []postgres.Slots{{Holder: "a", For: time.Minute}, {Holder: "b", For: -time.Minute}} {
		h.Hook, h.Key, h.Limit, h.Want = "h", "k", 5, 1
		must(store.HoldSlots(t.Context(), h))(t)
	}
	if n := must(store.PruneRates(t.Context()))(t); n != 2 {
		t.Errorf("pruned %d rows", n)
	}
	if left := value[string](t, conn, `select (select hook from rate_buckets) || ' ' || (select holder from rate_slots)`); left != "slow a" {
		t.Errorf("left are %s", left)
	}
}
