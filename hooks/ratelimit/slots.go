package ratelimit

import (
	"context"
	"sync"
	"time"
)

// slotLease is how long slots stay taken by an instance that was killed. A living
// one renews them several times in that time.
const (
	slotLease = 30 * time.Second
	slotRenew = slotLease / 3
)

// slotWait is what callers are told to wait for a slot. Nobody knows when a call
// will end.
const slotWait = time.Second

// slots are those of one bucket as this instance sees it. Like tokens: one question
// at a time is under way, calls that came meanwhile share the next.
type slots struct {
	hold  func(ctx context.Context, n int) (int, error)
	spawn func(func())
	limit int
	most  int // that may be taken ahead

	mu       sync.Mutex
	running  int
	have     int
	renewed  time.Time // when those held were last asked for
	unsure   bool      // whether the last question arrived
	idle     time.Time // when one was last needed
	asking   bool
	entering []chan error
	leaving  []chan error
}

// enter takes a slot, or says exceeded.
func (s *slots) enter(ctx context.Context) error {
	wait, err := s.enqueue(time.Now())
	if wait == nil {
		return err
	}
	select {
	case err := <-wait:
		return err
	case <-ctx.Done():
	}
	// A slot that comes after all is freed.
	s.spawn(func() {
		if <-wait == nil {
			s.leave(context.Background())
		}
	})
	return ctx.Err()
}

func (s *slots) enqueue(now time.Time) (chan error, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running >= s.limit {
		return nil, exceeded{slotWait}
	}
	if s.running < s.have && now.Sub(s.renewed) < slotLease/2 {
		s.running++
		return nil, nil
	}
	wait := make(chan error, 1)
	s.entering = append(s.entering, wait)
	s.ask()
	return wait, nil
}

// leave frees a slot. Where every slot counts it waits until the others can have
// it, no longer than ctx; should that fail, they get it soon after.
func (s *slots) leave(ctx context.Context) {
	s.mu.Lock()
	s.running--
	s.idle = time.Now()
	if s.most > 0 {
		s.mu.Unlock()
		return
	}
	wait := make(chan error, 1)
	s.leaving = append(s.leaving, wait)
	s.ask()
	s.mu.Unlock()
	select {
	case <-wait:
	case <-ctx.Done():
	}
}

// ask starts a question unless one is under way. It needs the mutex.
func (s *slots) ask() {
	if s.asking {
		return
	}
	s.asking = true
	s.spawn(s.run)
}

func (s *slots) run() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		s.round()
		if len(s.entering)+len(s.leaving) == 0 {
			s.asking = false
			return
		}
	}
}

// round is one question and its answer; the mutex, which it needs, is free in between.
func (s *slots) round() {
	asked := time.Now()
	leaving, n := s.leaving, len(s.entering)
	s.leaving = nil
	want := min(s.limit, s.running+n)
	if n > 0 || asked.Sub(s.idle) < busy {
		want = min(s.limit, want+s.most)
	}
	s.have = min(s.have, want) // what is being given back is nobody's
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	got, err := s.hold(ctx, want)
	cancel()
	s.mu.Lock()
	answer(leaving, nil)
	s.unsure = err != nil
	if err != nil {
		answer(s.entering[:n], err)
		s.entering = s.entering[n:]
		return
	}
	s.have, s.renewed = got, asked
	free := min(n, max(0, got-s.running))
	answer(s.entering[:free], nil)
	s.running += free
	if free > 0 {
		s.idle = asked
	}
	if got == want && want < s.limit {
		n = free // there was room: who came meanwhile took theirs, so they ask again
	}
	answer(s.entering[free:n], exceeded{slotWait})
	s.entering = s.entering[n:]
}

// tidy renews what is needed and gives back what is not. It reports whether there is
// anything to remember.
func (s *slots) tidy(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	spare := s.have > s.running && now.Sub(s.idle) >= useTokens
	if s.unsure || spare || s.have > 0 && now.Sub(s.renewed) >= slotRenew {
		s.ask()
	}
	return s.asking || s.have > 0 || s.running > 0
}

// close gives back what is held.
func (s *slots) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = 0
	if s.have > 0 || s.unsure {
		s.ask()
	}
}
