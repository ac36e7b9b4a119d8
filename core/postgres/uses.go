package postgres

import (
	"context"
	"sync"
	"time"
)

// useInterval is how often at most the last use of a token is written down.
const useInterval = time.Minute

// uses remembers which tokens were used, and writes that down in the background:
// no caller waits for it. What cannot be written is forgotten.
type uses struct {
	save func(ctx context.Context, tokenIDs []string) error
	wake chan struct{} // capacity 1
	quit chan struct{}
	done chan struct{}

	mu     sync.Mutex
	closed bool
	last   map[string]time.Time // when each token was last noted
	noted  []string             // not written yet
}

func recordUses(save func(context.Context, []string) error) *uses {
	u := &uses{save: save, wake: make(chan struct{}, 1), quit: make(chan struct{}),
		done: make(chan struct{}), last: map[string]time.Time{}}
	go u.run()
	return u
}

// note says that a token was used just now.
func (u *uses) note(tokenID string) {
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || now.Sub(u.last[tokenID]) < useInterval {
		return
	}
	u.last[tokenID] = now
	u.noted = append(u.noted, tokenID)
	select {
	case u.wake <- struct{}{}:
	default: // it is awake
	}
}

func (u *uses) run() {
	defer close(u.done)
	for {
		select {
		case <-u.wake:
			u.write()
		case <-u.quit:
			u.write()
			return
		}
	}
}

// write saves what was noted, and forgets tokens that may be noted again anyway.
func (u *uses) write() {
	u.mu.Lock()
	tokens := u.noted
	u.noted = nil
	for id, at := range u.last {
		if time.Since(at) >= useInterval {
			delete(u.last, id)
		}
	}
	u.mu.Unlock()
	if len(tokens) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if u.save(ctx, tokens) == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, id := range tokens {
		delete(u.last, id)
	}
}

// close writes the rest and waits for the end of it.
func (u *uses) close() {
	u.mu.Lock()
	closed := u.closed
	u.closed = true
	u.mu.Unlock()
	if !closed {
		close(u.quit)
	}
	<-u.done
}
