package ratelimit_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/hooks"
)

// TestTwoInstances: on one database, under load from both, no more calls are let
// through than the limit says, and hardly fewer.
func TestTwoInstances(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	for name, tc := range map[string]struct {
		config      string
		most, least int
	}{
		"small":     {`{"rate": 7, "per": "24h"}`, 7, 7},
		"large":     {`{"rate": 400, "per": "24h"}`, 400, 360},
		"two_users": {`{"rate": 50, "per": "24h", "by": ["user"]}`, 100, 90},
		"refilled":  {`{"rate": 1000, "per": "1s", "burst": 60}`, 60, 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var admitted atomic.Int64
			var callers sync.WaitGroup
			start := time.Now()
			for range 2 {
				l := newLimit(t, openStore(t, url), tc.config)
				defer l.close()
				for i := range 8 {
					callers.Go(func() {
						for range 100 {
							err := l.call(newCall([]string{"ann", "bob"}[i%2], "a", "s", "t"), nil)
							switch {
							case err == nil:
								admitted.Add(1)
							case !errors.Is(err, core.RateLimited):
								t.Error(err)
							}
						}
					})
				}
			}
			callers.Wait()
			if name == "refilled" {
				tc.most += int(time.Since(start) / time.Millisecond)
			}
			if n := int(admitted.Load()); n > tc.most || n < tc.least {
				t.Errorf("%d calls admitted, want %d to %d", n, tc.least, tc.most)
			}
		})
	}
}

func openStore(t testing.TB, url string) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), url, postgres.Options{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

// TestNoStretchSeesMore: two instances under changing load, watched through every
// window of time.
func TestNoStretchSeesMore(t *testing.T) {
	t.Parallel()
	t.Run("steady", func(t *testing.T) { t.Parallel(); noStretchSeesMore(t, nil) })
	random := rand.New(rand.NewPCG(1, 2))
	t.Run("questions_and_answers_get_lost", func(t *testing.T) {
		t.Parallel()
		noStretchSeesMore(t, func() (question, answer bool) { return random.IntN(10) == 0, random.IntN(10) == 0 })
	})
}

func noStretchSeesMore(t *testing.T, lose func() (question, answer bool)) {
	synctest.Test(t, func(t *testing.T) {
		const burst, interval = 40, 10 * time.Millisecond
		db := local{lose: lose}
		var mu sync.Mutex
		var times []time.Time
		var callers sync.WaitGroup
		for i := range 2 {
			l := newLimit(t, &db, `{"rate": 100, "per": "1s", "burst": 40}`)
			defer l.close()
			for j := range 4 {
				callers.Go(func() {
					random := rand.New(rand.NewPCG(uint64(i), uint64(j)))
					for range 400 {
						if l.ask() == nil {
							mu.Lock()
							times = append(times, time.Now())
							mu.Unlock()
						}
						if random.IntN(50) == 0 {
							time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
						}
						time.Sleep(time.Duration(random.Int64N(int64(10 * time.Millisecond))))
					}
				})
			}
		}
		callers.Wait()
		for i, from := range times {
			for n, to := range times[i:] {
				if most := burst + int(to.Sub(from)/interval) + 1; n+1 > most {
					t.Fatalf("%d calls in %v, want at most %d", n+1, to.Sub(from), most)
				}
			}
		}
		if len(times) < 500 {
			t.Errorf("only %d calls were let through", len(times))
		}
	})
}

// TestConcurrencyOfTwoInstances counts those that run.
func TestConcurrencyOfTwoInstances(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	for name, tc := range map[string]struct {
		config string
		most   int64
	}{"small": {`{"concurrency": 3}`, 3}, "large": {`{"concurrency": 20}`, 20}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var running, peak, admitted atomic.Int64
			var callers sync.WaitGroup
			for range 2 {
				l := newLimit(t, openStore(t, url), tc.config)
				defer l.close()
				for range 16 {
					callers.Go(func() {
						for range 30 {
							err := l.call(newCall("ann", "a", "s", "t"), func(context.Context, *hooks.Call) error {
								n := running.Add(1)
								for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
								}
								admitted.Add(1)
								runtime.Gosched()
								running.Add(-1)
								return nil
							})
							if err != nil && !errors.Is(err, core.RateLimited) {
								t.Error(err)
							}
						}
					})
				}
			}
			callers.Wait()
			if peak.Load() > tc.most || admitted.Load() == 0 {
				t.Errorf("%d at once, want at most %d; %d in all", peak.Load(), tc.most, admitted.Load())
			}
		})
	}
}

func BenchmarkAllowed(b *testing.B) {
	for name, config := range map[string]string{
		"rate":             `{"rate": 1000000000, "per": "1s", "by": ["user", "tool"]}`,
		"rate+concurrency": `{"rate": 1000000000, "per": "1s", "concurrency": 1000, "by": ["user"]}`,
	} {
		b.Run(name, func(b *testing.B) {
			l := newLimit(b, openStore(b, pgtest.URL(b)), config)
			defer l.close()
			b.ReportAllocs()
			for b.Loop() {
				if err := l.ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
