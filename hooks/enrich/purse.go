package enrich

import (
	"sync"
	"time"
)

// purse is what one configured hook has spent, and until when it was told to wait.
// It outlives edits of the hook, not the process.
type purse struct {
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

// of gives the purse of a hook. Purses that were not used for longer than any
// window are dropped: they are as good as new.
func (ps *purses) of(key string) *purse {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for k, p := range ps.byKey {
		if k != key && p.idle() {
			delete(ps.byKey, k)
		}
	}
	p := ps.byKey[key]
	if p == nil {
		p = &purse{used: time.Now()}
		ps.byKey[key] = p
	}
	return p
}

func (p *purse) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.used) > 25*time.Hour
}

// take sets cost aside, or says why that cannot be done.
func (p *purse) take(cost, perHour, perDay float64) (refusal string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now().UTC()
	p.used = now
	p.hour.roll(now.Truncate(time.Hour))
	p.day.roll(now.Truncate(24 * time.Hour))
	switch {
	case now.Before(p.pause):
		return "the endpoint asked to wait"
	case perHour > 0 && p.hour.spent+cost > perHour:
		return "the budget of the hour is used up"
	case perDay > 0 && p.day.spent+cost > perDay:
		return "the budget of the day is used up"
	}
	p.hour.spent += cost
	p.day.spent += cost
	return ""
}

// settle corrects what was set aside by the difference to the real cost.
func (p *purse) settle(difference float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hour.spent = max(0, p.hour.spent+difference)
	p.day.spent = max(0, p.day.spent+difference)
}

// wait has nothing asked for d.
func (p *purse) wait(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pause = time.Now().Add(d)
}

func (w *window) roll(since time.Time) {
	if !w.since.Equal(since) {
		*w = window{since: since}
	}
}
