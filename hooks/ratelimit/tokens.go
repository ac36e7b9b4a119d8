package ratelimit

import (
	"context"
	"sync"
	"time"

	"github.com/toolscout/toolscout/core/postgres"
)

// How long tokens that were taken ahead are used, and how long they count in the
// bucket: long enough to give them back before they are void.
const (
	useTokens   = time.Second
	countTokens = 3 * time.Second
)

// busy is how soon the bucket has to be asked again for tokens to be taken ahead: a
// slow caller would give them all back.
const busy = 200 * time.Millisecond

// tokens are those of one bucket as this instance sees it. One question at a time
// is under way; calls that came meanwhile share the next.
type tokens struct {
	take  func(context.Context, postgres.Take) (int, time.Duration, error)
	spawn func(func())
	most  int // that may be taken ahead

	mu       sync.Mutex
	held     int
	until    time.Time // when those held may be used no longer
	size     int       // how many were taken ahead the last time
	settled  int       // of those held, not reported yet
	returned int       // among them
	asking   bool
	asked    time.Time
	empty    time.Time // before then there is no token for anybody
	waiting  []chan error
}

// enter takes one token, or says exceeded.
func (t *tokens) enter(ctx context.Context) error {
	answer, err := t.enqueue(time.Now())
	if answer == nil {
		return err
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err() // its token, if it gets one, is lost
	}
}

// enqueue takes a token that is held. Without one, it gives where the answer will
// come.
func (t *tokens) enqueue(now time.Time) (chan error, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	if t.held > 0 {
		t.held--
		t.settled++
		if 2*t.held <= t.size {
			t.ask()
		}
		return nil, nil
	}
	if wait := t.empty.Sub(now); wait > 0 {
		return nil, exceeded{wait}
	}
	answer := make(chan error, 1)
	t.waiting = append(t.waiting, answer)
	t.ask()
	return answer, nil
}

// expire marks what was held for too long to be given back. It needs the mutex, as do
// all that follow unless they say otherwise.
func (t *tokens) expire(now time.Time) {
	if t.held == 0 || now.Before(t.until) {
		return
	}
	t.giveUp()
}

func (t *tokens) giveUp() {
	t.returned += t.held
	t.settled += t.held
	t.held, t.size = 0, 0
}

// ask starts a question unless one is under way.
func (t *tokens) ask() {
	if t.asking {
		return
	}
	t.asking = true
	t.spawn(t.run)
}

// run asks until nobody waits. It takes the mutex.
func (t *tokens) run() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		t.round()
		if len(t.waiting) == 0 {
			t.asking = false
			return
		}
	}
}

// round is one question and its answer; the mutex is free in between.
func (t *tokens) round() {
	asked := time.Now()
	waiting := t.waiting
	take := postgres.Take{Use: len(waiting), Hold: t.ahead(asked), HoldFor: countTokens, Settled: t.settled, Returned: t.returned}
	t.waiting, t.settled, t.returned = nil, 0, 0
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	granted, wait, err := t.take(ctx, take)
	cancel()
	t.mu.Lock()
	if err != nil {
		// What was settled may be on record or not. It is not told twice: the bucket
		// forgets what it believes to be held by itself.
		answer(waiting, err)
		return
	}
	if take.Use > 0 || take.Hold > 0 {
		t.asked = asked
	}
	used := min(granted, len(waiting))
	answer(waiting[:used], nil)
	answer(waiting[used:], exceeded{wait})
	if used < len(waiting) {
		t.empty = time.Now().Add(wait) // not before, so that who waits gets one
	}
	if granted > used {
		t.held += granted - used
		t.until = asked.Add(useTokens)
	}
	if take.Hold > 0 {
		t.size = t.held
	}
	t.serve()
}

// serve gives what is held to those who came meanwhile.
func (t *tokens) serve() {
	n := min(t.held, len(t.waiting))
	answer(t.waiting[:n], nil)
	t.waiting = t.waiting[n:]
	t.held -= n
	t.settled += n
}

// ahead is how many tokens to take for calls to come: twice as many as the last
// time, while the bucket is asked often.
func (t *tokens) ahead(now time.Time) int {
	if now.Sub(t.asked) > busy && t.held == 0 {
		return 0
	}
	return max(0, min(t.most, 2*t.size+1)-t.held)
}

// tidy reports whether there is anything to remember. It takes the mutex.
func (t *tokens) tidy(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	if t.returned > 0 {
		t.ask()
	}
	return t.asking || t.held > 0 || t.empty.After(now)
}

// close gives back what is held. It takes the mutex.
func (t *tokens) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.giveUp()
	t.most = 0
	if t.returned > 0 {
		t.ask()
	}
}

func answer(waiting []chan error, err error) {
	for _, w := range waiting {
		w <- err
	}
}
