package events_test

import (
	"context"
	"sync"
	"testing"

	"github.com/toolscout/toolscout/core/events"
)

// BenchmarkPublish is how fast events are stored: one after the other by somebody
// who waits for each, by many at once, and by one who does not wait.
func BenchmarkPublish(b *testing.B) {
	e := numbered("n", 1)
	b.Run("sync", func(b *testing.B) {
		bus := newInstance(b, newURL(b))
		for b.Loop() {
			publish(b, bus, e)
		}
	})
	b.Run("sync by 64", func(b *testing.B) {
		bus := newInstance(b, newURL(b))
		b.SetParallelism(32) // for each of two processors
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if err := bus.PublishSync(context.Background(), e); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("async", func(b *testing.B) {
		bus := newInstance(b, newURL(b))
		for b.Loop() {
			if err := bus.Publish(b.Context(), e); err != nil {
				b.Fatal(err)
			}
		}
		publish(b, bus, e) // behind all others
	})
}

// BenchmarkFanOut is how long it takes until 100 subscriptions have an event that
// was published, one event after the other and in a flood.
func BenchmarkFanOut(b *testing.B) {
	const readers = 100
	follow := func(b *testing.B, bus *instance, each func(n int)) (wait func()) {
		var all sync.WaitGroup
		for range readers {
			s := bus.subscribe(b, events.Filter{After: events.Latest})
			all.Go(func() {
				for n := 0; n < b.N; {
					batch, err := s.Next(context.Background())
					if err != nil {
						b.Error(err)
						return
					}
					n += len(batch.Events)
					each(len(batch.Events))
				}
			})
		}
		return all.Wait
	}
	b.Run("one by one", func(b *testing.B) {
		bus := newInstance(b, newURL(b))
		got := make(chan int, readers)
		wait := follow(b, bus, func(n int) { got <- n })
		b.ResetTimer()
		for range b.N {
			publish(b, bus, numbered("n", 1))
			for range readers {
				<-got
			}
		}
		wait()
	})
	b.Run("flood", func(b *testing.B) {
		bus := newInstance(b, newURL(b), func(c *events.Config) { c.Buffer = 1 << 20 })
		wait := follow(b, bus, func(int) {})
		b.ResetTimer()
		for range b.N {
			if err := bus.Publish(context.Background(), numbered("n", 1)); err != nil {
				b.Fatal(err)
			}
		}
		wait()
	})
}
