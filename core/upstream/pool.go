package upstream

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/egress"
)

// Pool keeps one live session per Key, made when it is first needed. It is safe
// for concurrent use.
type Pool struct {
	cfg              Config
	trusted, guarded *http.Transport
	notify           *notifier
	slots            *xsync.MapOf[Key, *slot]
	servers          *xsync.MapOf[string, *server]
	tasks            tasks
	ctx              context.Context // ends when the pool closes
	cancel           context.CancelFunc
	notified         chan struct{} // closed when the notifier has told everything
	stopNotifier     context.CancelFunc

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{} // all that must be closed, in use or retired
	children int
}

// New makes a Pool. Close it.
func New(cfg Config) *Pool {
	cfg.setDefaults()
	p := &Pool{cfg: cfg, trusted: cfg.Trusted.Transport(), guarded: cfg.Guarded.Transport(),
		slots: xsync.NewMapOf[Key, *slot](), servers: xsync.NewMapOf[string, *server](),
		sessions: map[*session]struct{}{}, notified: make(chan struct{})}
	p.notify = newNotifier(&p.cfg)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	ctx, stop := context.WithCancel(context.Background())
	p.stopNotifier = stop
	go func() {
		defer close(p.notified)
		p.notify.run(ctx)
	}()
	p.tasks.start(p.sweep)
	return p
}

func (c *Config) setDefaults() {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Getenv == nil {
		c.Getenv = os.LookupEnv
	}
	if c.Trusted == nil {
		c.Trusted = egress.New(egress.Config{AllowPrivate: true})
	}
	if c.Guarded == nil {
		c.Guarded = egress.New(egress.Config{})
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	c.MaxChildren = orDefault(c.MaxChildren, 64)
	c.IdleTimeout = orDefault(c.IdleTimeout, 15*time.Minute)
	c.CallTimeout = orDefault(c.CallTimeout, 30*time.Second)
	c.Backoff = orDefault(c.Backoff, time.Second)
	c.MaxResponse = orDefault(c.MaxResponse, 16<<20)
	c.PerServer = orDefault(c.PerServer, 32)
}

func orDefault[T int | int64 | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// Close ends every call, session and child process, and waits for them.
func (p *Pool) Close() error {
	p.cancel()
	p.mu.Lock()
	p.closed = true
	var ending sync.WaitGroup
	for s := range p.sessions {
		ending.Go(s.close)
	}
	p.mu.Unlock()
	ending.Wait()
	p.tasks.wait()
	p.stopNotifier()
	<-p.notified
	p.trusted.CloseIdleConnections()
	p.guarded.CloseIdleConnections()
	return nil
}

// adopt makes the pool responsible for a session; false when it is closing.
func (p *Pool) adopt(s *session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.sessions[s] = struct{}{}
	onEnd := s.onEnd
	s.onEnd = func() {
		onEnd()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.sessions, s)
	}
	return true
}

// server gives what is known of a server.
func (p *Pool) server(id string) *server {
	s, _ := p.servers.LoadOrCompute(id, func() *server {
		return &server{id: id, tell: p.notify, turns: make(chan struct{}, p.cfg.PerServer)}
	})
	return s
}

// Drop forgets a server whose configuration has changed or that is gone. Its
// sessions take no further calls, and close when those under way have ended.
func (p *Pool) Drop(serverID string) {
	p.slots.Range(func(key Key, sl *slot) bool {
		if key.ServerID == serverID {
			p.discard(key, sl)
		}
		return true
	})
	p.servers.Delete(serverID)
}

func (p *Pool) discard(key Key, sl *slot) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	sl.gone = true
	p.slots.Delete(key)
	if sl.live != nil {
		p.retire(sl, sl.live)
	}
}

// sweep stops what is idle, until the pool closes.
func (p *Pool) sweep() {
	for sleep(p.ctx, min(max(p.cfg.IdleTimeout/4, 10*time.Millisecond), time.Minute)) == nil {
		p.slots.Range(func(key Key, sl *slot) bool {
			p.sweepSlot(key, sl)
			return true
		})
	}
}

func (p *Pool) sweepSlot(key Key, sl *slot) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if s := sl.live; s != nil && s.refs == 0 && time.Since(s.used) > p.cfg.IdleTimeout {
		p.retire(sl, s)
		p.noteStopped(s)
	}
	if sl.live == nil && sl.dialing == nil && time.Since(sl.next) > p.cfg.IdleTimeout {
		sl.gone = true
		p.slots.Delete(key)
	}
}

func (p *Pool) noteStopped(s *session) {
	if s.target.transport == core.Stdio {
		p.server(s.target.id).stopped()
	}
}

// childPause is how often somebody who waits for a child's place looks for one.
const childPause = 20 * time.Millisecond

// childSlot takes one of the places for children. When there is none it stops the
// child that has been idle longest, or waits for one to become idle, as long as ctx
// lasts. The place is given back by release.
func (p *Pool) childSlot(ctx context.Context) (release func(), err error) {
	for {
		if p.takeChild() {
			return sync.OnceFunc(p.giveChild), nil
		}
		if ctx.Err() == nil && p.stopIdleChild() {
			continue
		}
		if sleep(ctx, childPause) != nil {
			f := faultf(stageStart, "cannot be started: all %d child processes are in use", p.cfg.MaxChildren)
			f.healthy = true
			return nil, f
		}
	}
}

func (p *Pool) takeChild() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.children >= p.cfg.MaxChildren {
		return false
	}
	p.children++
	return true
}

func (p *Pool) giveChild() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.children--
}

// stopIdleChild stops the child that has been idle longest, and reports whether
// there was one.
func (p *Pool) stopIdleChild() bool {
	var oldest *session
	var since time.Time
	p.slots.Range(func(_ Key, sl *slot) bool {
		sl.mu.Lock()
		defer sl.mu.Unlock()
		s := sl.live
		if s != nil && s.refs == 0 && s.target.transport == core.Stdio && (oldest == nil || s.used.Before(since)) {
			oldest, since = s, s.used
		}
		return true
	})
	if oldest == nil {
		return false
	}
	sl := oldest.slot
	sl.mu.Lock()
	if sl.live == oldest && oldest.refs == 0 {
		p.retire(sl, oldest)
		p.noteStopped(oldest)
	}
	idle := oldest.retired && oldest.refs == 0
	sl.mu.Unlock()
	if idle {
		oldest.close() // waits, so that its place is free
	}
	return true
}

// deadline bounds a call by the server's own timeout, by the default where neither
// the caller nor the server says, and by the life of the pool.
func (p *Pool) deadline(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); timeout <= 0 && !bounded {
		timeout = p.cfg.CallTimeout
	}
	cancel := context.CancelFunc(func() {})
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.ctx, func() { end(errClosed) })
	return ctx, func() {
		stop()
		end(nil)
		cancel()
	}
}

// closing replaces the cancellation that comes of closing the pool.
func closing(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && context.Cause(ctx) == errClosed {
		return errClosed
	}
	return err
}
