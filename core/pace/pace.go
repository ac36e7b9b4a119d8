// Package pace keeps work in the background from being felt by searches.
//
// To register, embed and index a hundred thousand tools is more than enough work for
// every processor there is. Done all at once it makes each search several times as
// slow; done one piece at a time, with a rest after each while people search, it takes
// a third as long again and searches keep most of the machine.
package pace

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// After a piece of work a rest of this share of its time follows, at most mostRest.
	restShare, mostRest = 0.3, 100 * time.Millisecond
	// Nobody searches when this long no search has begun: then there are no rests.
	quiet = time.Second
)

// Pace gives turns to work in the background: one at a time, first come, first
// served. All parts of a process share one. The methods of nil give turns to
// everybody at once. It is safe for concurrent use.
type Pace struct {
	turn     chan struct{} // holds one value while somebody has the turn
	made     time.Time
	searched atomic.Int64 // how long after that a search last began, a Duration
}

// New makes a Pace.
func New() *Pace {
	p := &Pace{turn: make(chan struct{}, 1), made: time.Now()}
	p.searched.Store(int64(-2 * quiet))
	return p
}

// Searched says that a search begins.
func (p *Pace) Searched() {
	if p != nil {
		p.searched.Store(int64(time.Since(p.made)))
	}
}

// Do does a piece of work when its turn has come, and gives its error; that of ctx if
// it ends before. Pieces are short, as others wait, and never wait for a piece
// themselves.
func (p *Pace) Do(ctx context.Context, work func() error) error {
	if p == nil {
		return work()
	}
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for a turn: %w", ctx.Err())
	}
	defer p.rest(time.Now())
	return work()
}

// rest passes the turn on, after a while where people search. Who worked need not
// wait for that.
func (p *Pace) rest(begun time.Time) {
	next := func() { <-p.turn }
	if time.Since(p.made)-time.Duration(p.searched.Load()) > quiet {
		next()
		return
	}
	rest := time.Duration(float64(time.Since(begun)) * restShare)
	time.AfterFunc(min(rest, mostRest), next)
}
