package upstream

import (
	"context"
	"sync"
	"time"

	"github.com/toolscout/toolscout/core"
)

// settle is how long the notice of a changed list waits for others like it: many
// servers register their tools one by one, with a notification each.
const settle = 150 * time.Millisecond

// notifier calls the Config's On… functions from one goroutine, so that what they
// do (they write to the database) delays no call. A newer observation of the same
// thing replaces one that has not been told yet.
type notifier struct {
	cfg  *Config
	wake chan struct{}

	mu      sync.Mutex
	notices []notice
}

// notice is something to tell. Kind and server together are what it is about.
type notice struct {
	kind, server string
	due          time.Time
	tell         func()
}

func newNotifier(cfg *Config) *notifier {
	return &notifier{cfg: cfg, wake: make(chan struct{}, 1)}
}

func (n *notifier) health(id string, h core.Health) {
	if n.cfg.OnHealth != nil {
		n.add(notice{kind: "health", server: id, tell: func() { n.cfg.OnHealth(id, h) }})
	}
}

func (n *notifier) era(id, era string) {
	if n.cfg.OnEra != nil {
		n.add(notice{kind: "era", server: id, tell: func() { n.cfg.OnEra(id, era) }})
	}
}

func (n *notifier) changed(id string) {
	if n.cfg.OnToolsChanged != nil && id != "" { // "" is a trial's
		n.add(notice{kind: "tools", server: id, due: time.Now().Add(settle), tell: func() { n.cfg.OnToolsChanged(id) }})
	}
}

func (n *notifier) add(x notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, old := range n.notices {
		if old.kind == x.kind && old.server == x.server {
			x.due = old.due // or else a steady stream would never be told
			n.notices[i] = x
			return
		}
	}
	n.notices = append(n.notices, x)
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// next takes the first notice that is due, or says how long to wait.
func (n *notifier) next() (tell func(), wait time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	wait = time.Hour
	for i, x := range n.notices {
		left := time.Until(x.due)
		if left <= 0 {
			n.notices = append(n.notices[:i], n.notices[i+1:]...)
			return x.tell, 0
		}
		wait = min(wait, left)
	}
	return nil, wait
}

// run tells until ctx ends, and then what is due.
func (n *notifier) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		tell, wait := n.next()
		if tell != nil {
			tell()
			continue
		}
		timer.Reset(wait)
		select {
		case <-n.wake:
		case <-timer.C:
		case <-ctx.Done():
			for tell, _ := n.next(); tell != nil; tell, _ = n.next() {
				tell()
			}
			return
		}
	}
}
