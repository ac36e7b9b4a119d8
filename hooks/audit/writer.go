package audit

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"github.com/toolscout/toolscout/core"
)

// Config holds a Writer's values; only Append is required.
type Config struct {
	// Append writes rows in one transaction. A row whose id is already there is
	// not written again.
	Append func(context.Context, []core.AuditEntry, []core.UsageEntry) error
	// Queue is how many rows of each kind may be under way (4096).
	Queue int
	// Linger is how long the first row of a batch waits for company when nobody
	// waits for it (50 ms).
	Linger time.Duration
	// Sync makes every answer wait until its row is written.
	Sync bool
	// Values records arguments as they are instead of by shape.
	Values bool
	Logger *slog.Logger
}

// The bounds of a batch and of one attempt to write it, and the pauses between
// attempts.
const (
	batchRows      = 512
	appendTimeout  = 10 * time.Second
	firstPause     = 50 * time.Millisecond
	longestPause   = 5 * time.Second
	refusalsNeeded = 10
)

// Writer writes audit and usage rows in the background, in batches, in order.
//
// A row needs a slot before the call that it is about begins. So a full queue
// makes callers wait and then refuses them while nothing has happened yet, and
// whatever has happened finds its place in the queue. While the database is away
// rows are kept and tried again.
type Writer struct {
	config Config
	// The two kinds have slots of their own: a call holds one for its audit row
	// while it waits for one for its usage row.
	audit, usage *semaphore.Weighted
	kick         chan struct{} // capacity 1: something to do
	hurry        chan struct{} // capacity 1: do it now
	abandon      context.CancelFunc
	done         chan struct{}

	waiting atomic.Int64
	lost    atomic.Int64

	mu      sync.Mutex
	pending []row
	closing bool
}

// row is one line in the queue. A row without an entry is there for its done.
type row struct {
	audit *core.AuditEntry
	usage *core.UsageEntry
	done  chan struct{} // nil when nobody waits
	tries int
}

// NewWriter starts a Writer. Close it.
func NewWriter(c Config) *Writer {
	c.Queue = cmp.Or(c.Queue, 4096)
	c.Linger = cmp.Or(c.Linger, 50*time.Millisecond)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &Writer{config: c, kick: make(chan struct{}, 1), hurry: make(chan struct{}, 1), abandon: cancel,
		done: make(chan struct{}), audit: semaphore.NewWeighted(int64(c.Queue)), usage: semaphore.NewWeighted(int64(c.Queue))}
	go w.run(ctx)
	return w
}

// Waiting is how many rows are not written yet.
func (w *Writer) Waiting() int { return int(w.waiting.Load()) }

// Lost is how many rows the database refused for good. Each was logged whole.
func (w *Writer) Lost() int { return int(w.lost.Load()) }

// Record writes one audit row: what no chain goes through, such as a refused
// change of configuration. Unavailable when the queue stays full.
func (w *Writer) Record(ctx context.Context, e core.AuditEntry) error {
	if err := w.reserve(ctx, w.audit); err != nil {
		return err
	}
	return w.put(ctx, row{audit: &e}, false)
}

// Flush waits until every row that was put in so far is written.
func (w *Writer) Flush(ctx context.Context) error {
	return w.await(ctx, row{done: make(chan struct{})})
}

// Close waits until every call under way has left its row and all rows are
// written. When ctx ends first it gives up and says how many were lost.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closing = true
	w.mu.Unlock()
	nudge(w.hurry)
	nudge(w.kick)
	all := int64(w.config.Queue)
	err := w.audit.Acquire(ctx, all)
	if err == nil {
		err = w.usage.Acquire(ctx, all)
	}
	w.abandon()
	<-w.done
	if n := w.Waiting(); n > 0 {
		w.config.Logger.Error("audit rows lost at shutdown", "rows", n)
		return fmt.Errorf("write the audit: %d rows lost: %w", n, err)
	}
	return nil
}

// reserve takes a slot for one row before anything happens.
func (w *Writer) reserve(ctx context.Context, slots *semaphore.Weighted) error {
	err := slots.Acquire(ctx, 1)
	if err == nil && ctx.Err() != nil {
		slots.Release(1)
		err = ctx.Err()
	}
	if err != nil {
		return core.Errorf(core.Unavailable, "the audit cannot take more calls at the moment").Because(err)
	}
	return nil
}

// put queues a row that has its slot, and waits for it in sync mode or when now says
// so.
func (w *Writer) put(ctx context.Context, r row, now bool) error {
	if !w.config.Sync && !now {
		w.queue(r)
		return nil
	}
	r.done = make(chan struct{})
	return w.await(ctx, r)
}

func (w *Writer) await(ctx context.Context, r row) error {
	w.queue(r)
	nudge(w.hurry)
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return core.Errorf(core.Unavailable, "the call is not on record yet").Because(ctx.Err())
	}
}

func (w *Writer) queue(r row) {
	// The id is ours, so that a batch whose commit was cut off can be sent again.
	if r.audit != nil {
		r.audit.ID = cmp.Or(r.audit.ID, newID())
		w.waiting.Add(1)
	}
	if r.usage != nil {
		r.usage.ID = cmp.Or(r.usage.ID, newID())
		w.waiting.Add(1)
	}
	w.mu.Lock()
	w.pending = append(w.pending, r)
	w.mu.Unlock()
	nudge(w.kick)
}

// run writes batches until it is abandoned.
func (w *Writer) run(ctx context.Context) {
	defer close(w.done)
	for ctx.Err() == nil {
		batch := w.take()
		if batch == nil {
			w.sleep(ctx)
			continue
		}
		w.write(ctx, batch)
	}
}

// sleep waits for a first row, and then a little for others to join it.
func (w *Writer) sleep(ctx context.Context) {
	select {
	case <-w.kick:
	case <-ctx.Done():
		return
	}
	w.mu.Lock()
	now := w.closing
	w.mu.Unlock()
	if now {
		return
	}
	linger := time.NewTimer(w.config.Linger)
	defer linger.Stop()
	select {
	case <-linger.C:
	case <-w.hurry:
	case <-ctx.Done():
	}
}

func (w *Writer) take() []row {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.pending), batchRows)
	if n == 0 {
		w.pending = nil
		return nil
	}
	batch := w.pending[:n:n]
	w.pending = w.pending[n:]
	return batch
}

// write sends a batch until it is written. A batch that the database refuses for
// what is in it is halved until the row in question is alone.
func (w *Writer) write(ctx context.Context, batch []row) {
	pause := firstPause
	for ctx.Err() == nil {
		err := w.append(ctx, batch)
		if err == nil {
			w.settle(batch)
			return
		}
		if refused(err) {
			if len(batch) > 1 {
				w.write(ctx, batch[:len(batch)/2])
				w.write(ctx, batch[len(batch)/2:])
				return
			}
			if batch[0].tries++; batch[0].tries >= refusalsNeeded {
				w.lose(batch[0], err)
				return
			}
		}
		w.config.Logger.Warn("audit not written, trying again", "rows", len(batch), "err", err)
		wait(ctx, pause/2+rand.N(pause))
		pause = min(2*pause, longestPause)
	}
}

func (w *Writer) append(ctx context.Context, batch []row) error {
	var audits []core.AuditEntry
	var usages []core.UsageEntry
	for _, r := range batch {
		if r.audit != nil {
			audits = append(audits, *r.audit)
		}
		if r.usage != nil {
			usages = append(usages, *r.usage)
		}
	}
	if len(audits)+len(usages) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, appendTimeout)
	defer cancel()
	return w.config.Append(ctx, audits, usages)
}

// settle frees the slots of rows that are done with and tells who waits.
func (w *Writer) settle(batch []row) {
	for _, r := range batch {
		if r.audit != nil {
			w.waiting.Add(-1)
			w.audit.Release(1)
		}
		if r.usage != nil {
			w.waiting.Add(-1)
			w.usage.Release(1)
		}
		if r.done != nil {
			close(r.done)
		}
	}
}

// lose gives up a row that can never be written, so that those behind it can. It
// goes to the log whole.
func (w *Writer) lose(r row, err error) {
	w.lost.Add(1)
	w.config.Logger.Error("audit row refused by the database", "audit", r.audit, "usage", r.usage, "err", err)
	w.settle([]row{r})
}

// refused reports whether the database answered and did not want the rows, as
// opposed to being away.
func refused(err error) bool {
	switch core.Public(err).Kind {
	case core.Unavailable, core.Timeout:
		return false
	default:
		return true
	}
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }
