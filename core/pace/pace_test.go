package pace_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolscout/toolscout/core/pace"
)

// piece is work of 100 ms that notes when it began.
func piece(p *pace.Pace, began *time.Duration, since time.Time) error {
	return p.Do(context.Background(), func() error {
		*began = time.Since(since)
		time.Sleep(100 * time.Millisecond)
		return nil
	})
}

func TestOneAtATimeInOrder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		make     func() *pace.Pace
		want     []time.Duration
		searched bool
	}{
		"nobody searches": {pace.New, []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond}, false},
		"people search":   {pace.New, []time.Duration{0, 130 * time.Millisecond, 260 * time.Millisecond}, true},
		"without turns":   {func() *pace.Pace { return nil }, []time.Duration{0, 0, 0}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := test.make()
				if test.searched {
					p.Searched()
				}
				start := time.Now()
				began := make([]time.Duration, len(test.want))
				var all sync.WaitGroup
				for i := range began {
					all.Go(func() {
						if err := piece(p, &began[i], start); err != nil {
							t.Error(err)
						}
					})
					synctest.Wait() // it has the turn, or stands in line
				}
				all.Wait()
				if !slices.Equal(began, test.want) {
					t.Errorf("began after %v, want %v", began, test.want)
				}
			})
		})
	}
}

func TestRestsEndWhenSearchesDo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, start := pace.New(), time.Now()
		p.Searched()
		var began time.Duration
		for _, want := range []time.Duration{0, 130, 260, 390, 520, 650, 780, 910, 1010, 1110} {
			if err := piece(p, &began, start); err != nil || began != want*time.Millisecond {
				t.Errorf("began after %v, %v; want %d ms", began, err, want)
			}
		}
	})
}

func TestWorkThatFailsPassesTheTurnOn(t *testing.T) {
	t.Parallel()
	p, sad := pace.New(), errors.New("sad")
	for range 2 {
		if err := p.Do(t.Context(), func() error { return sad }); !errors.Is(err, sad) {
			t.Errorf("got %v", err)
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := pace.New()
	ctx, cancel := context.WithCancel(t.Context())
	err := p.Do(t.Context(), func() error {
		cancel()
		return p.Do(ctx, func() error { return errors.New("had the turn") })
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
