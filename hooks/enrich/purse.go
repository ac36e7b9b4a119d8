package enrich

import (
	"sync"
	"time"
)

// purse is what one configured hook has spent, and until when it was told to wait.
// It outlives edits of the hook, not the process.
type purse struct {
	hooks int // that have it, guarded by purses.mu

	mu    sync.Mutex
	hour  window
	day   window
	pause time.Time
	used  time.Time
}

// window is what was spent in an hour or a day that began at since.
type window struct {
	since time.Time
	spent float64
}

// purses are those of all hooks, by key.
type purses struct {
	mu    sync.Mutex
	byKey map[string]*purse
}

// of gives the purse of a hook, which leaves it when it is closed. Purses that nobody
// has, and that were not used for longer than any window, are dropped: they are as
// good as new.
func (ps *purses) of(key string) *purse {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for k, p := range ps.byKey {
		if k != key && p.hooks == 0 && p.idle() {
			delete(ps.byKey, k)
		}
	}
	p := ps.byKey[key]
	if p == nil {
		p = &purse{used: time.Now()}
		ps.byKey[key] = p
	}
	p.hooks++
	return p
}

func (ps *purses) leave(p *purse) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p.hooks--
}

func (p *purse) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.used) > 25*time.Hour
}

// aside is what was set aside, and in which hour and day.
type aside struct {
	cost      float64
	hour, day time.Time
}

// take sets cost aside, or says why that cannot be done.
func (p *purse) take(cost, perHour, perDay float64) (a aside, refusal string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now().UTC()
	p.used = now
	p.hour.roll(now.Truncate(time.Hour))
	p.day.roll(now.Truncate(24 * time.Hour))
	switch {
	case now.Before(p.pause):
		return a, "the endpoint asked to wait"
	case perHour > 0 && p.hour.spent+cost > perHour:
		return a, "the budget of the hour is used up"
	case perDay > 0 && p.day.spent+cost > perDay:
		return a, "the budget of the day is used up"
	}
	p.hour.spent += cost
	p.day.spent += cost
	return aside{cost, p.hour.since, p.day.since}, ""
}

// settle puts the real cost in the place of what was set aside.
func (p *purse) settle(a aside, cost float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hour.settle(a.hour, cost-a.cost)
	p.day.settle(a.day, cost-a.cost)
}

// wait has nothing asked for d.
func (p *purse) wait(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(d); until.After(p.pause) {
		p.pause = until
	}
}

// settle corrects what was spent by a difference to what was set aside in a window
// since then. If that is over, it has nothing to give back.
func (w *window) settle(since time.Time, difference float64) {
	if difference > 0 || w.since.Equal(since) {
		w.spent = max(0, w.spent+difference)
	}
}

func (w *window) roll(since time.Time) {
	if !w.since.Equal(since) {
		*w = window{since: since}
	}
}
