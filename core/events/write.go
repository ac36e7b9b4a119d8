package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
)

// The bounds of an event, of a group, and of waiting.
const (
	maxType    = 200      // characters
	maxSubject = 1000     // characters
	maxData    = 80 << 10 // bytes: arguments and a result as the audit keeps them, 32 KiB each, and the rest

	groupSize = 512
	// linger is how long the first of a group that nobody waits for waits for company.
	linger = 10 * time.Millisecond
	// patience is how long a publisher waits for a place in the queue.
	patience      = 5 * time.Second
	appendTimeout = 10 * time.Second
	// The pauses between attempts to store a group double from the first to the longest.
	firstPause, longestPause = 50 * time.Millisecond, 5 * time.Second
)

// entry is an event on its way into the database.
type entry struct {
	postgres.Event
	done chan error // nil when nobody waits
}

// Publish takes an event in and stores it soon. When the queue is full it waits,
// and then is Unavailable. InvalidParams for what can be no event. Its time is now.
func (b *Bus) Publish(ctx context.Context, e core.Event) error { return b.enqueue(ctx, e, nil) }

// PublishSync is Publish and returns when the event is stored for good. After an
// error other than InvalidParams it may yet be.
func (b *Bus) PublishSync(ctx context.Context, e core.Event) error {
	done := make(chan error, 1)
	if err := b.enqueue(ctx, e, done); err != nil {
		return err
	}
	nudge(b.hurry)
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return core.Errorf(core.Unavailable, "the event is not stored yet").Because(ctx.Err())
	}
}

// Announce is Publish for what must never be held up, such as a call: an event for
// which there is no place is dropped, which is counted and logged.
func (b *Bus) Announce(e core.Event) {
	if err := check(&e); err != nil {
		b.drop(e.Type, err)
		return
	}
	if !b.slots.TryAcquire(1) {
		b.drop(e.Type, errors.New("the queue is full"))
		return
	}
	if err := b.add(e, nil); err != nil {
		b.drop(e.Type, err)
	}
}

// drop counts an event that is given up. Every doubling of their number is logged:
// a flood must not make another one.
func (b *Bus) drop(typ string, err error) {
	if n := b.dropped.Add(1); n&(n-1) == 0 {
		b.log.Warn("events dropped", "type", typ, "so_far", n, "error", err)
	}
}

func (b *Bus) enqueue(ctx context.Context, e core.Event, done chan error) error {
	if err := check(&e); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := b.slots.Acquire(ctx, 1); err != nil {
		return core.Errorf(core.Unavailable, "there are more events than can be stored at the moment").Because(err)
	}
	return b.add(e, done)
}

// add queues an event that has its slot.
func (b *Bus) add(e core.Event, done chan error) error {
	e.ID, e.Time = 0, time.Now()
	b.writing.Lock()
	defer b.writing.Unlock()
	if b.closing {
		b.slots.Release(1)
		return errStopping
	}
	b.pending = append(b.pending, entry{postgres.NewEvent(e), done})
	nudge(b.kick)
	return nil
}

// check makes an event one that can be stored: InvalidParams otherwise.
func check(e *core.Event) error {
	if len(e.Data) == 0 {
		e.Data = json.RawMessage("{}")
	}
	switch {
	case e.Type == "" || utf8.RuneCountInString(e.Type) > maxType || !printable(e.Type):
		return core.Errorf(core.InvalidParams, "an event's type has 1 to %d characters, without control characters", maxType)
	case utf8.RuneCountInString(e.Subject) > maxSubject:
		return core.Errorf(core.InvalidParams, "an event's subject has at most %d characters", maxSubject)
	case e.UserID != "" && !isID(e.UserID) || e.ServerID != "" && !isID(e.ServerID):
		return core.Errorf(core.InvalidParams, "an event's user and server are named by their ids")
	case len(e.Data) > maxData:
		return core.Errorf(core.InvalidParams, "an event's data has at most %d bytes", maxData)
	case !bytes.HasPrefix(bytes.TrimSpace(e.Data), []byte("{")) || !json.Valid(e.Data):
		return core.Errorf(core.InvalidParams, "an event's data is a JSON object")
	}
	return nil
}

func printable(s string) bool {
	for _, r := range s {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return false
		}
	}
	return true
}

func isID(id string) bool { return len(id) == 36 && uuid.Validate(id) == nil }

// Close stores what is in the queue. When ctx ends first it gives up and says how
// much was lost. Call it when nobody publishes any more.
func (b *Bus) Close(ctx context.Context) error {
	b.writing.Lock()
	b.closing = true
	b.writing.Unlock()
	nudge(b.kick)
	nudge(b.hurry)
	select {
	case <-b.stored:
	case <-ctx.Done():
		b.abandon()
		<-b.stored
	}
	b.writing.Lock()
	lost := len(b.pending)
	b.writing.Unlock()
	if lost > 0 {
		return fmt.Errorf("store events: %d lost: %w", lost, ctx.Err())
	}
	return nil
}

// write stores groups until the queue is closed and empty, or it is abandoned.
func (b *Bus) write(ctx context.Context) {
	defer close(b.stored)
	for ctx.Err() == nil {
		group, closing := b.group()
		switch {
		case len(group) > 0:
			b.storeAll(ctx, group)
		case closing:
			return
		default:
			b.await(ctx)
		}
	}
}

// await waits for a first event, and then a little for others to join it.
func (b *Bus) await(ctx context.Context) {
	select {
	case <-b.kick:
	case <-ctx.Done():
		return
	}
	t := time.NewTimer(linger)
	defer t.Stop()
	select {
	case <-t.C:
	case <-b.hurry:
	case <-ctx.Done():
	}
}

// group gives the first of what is pending, which stays so until it is stored.
func (b *Bus) group() (group []entry, closing bool) {
	b.writing.Lock()
	defer b.writing.Unlock()
	return b.pending[:min(len(b.pending), groupSize)], b.closing
}

// storeAll stores a group. One that the database refuses for what is in it is
// halved until the event in question is alone, which is given up.
func (b *Bus) storeAll(ctx context.Context, group []entry) {
	pause := firstPause
	for try := 1; ; try++ {
		last, err := b.append(ctx, group)
		switch {
		case err == nil:
			b.settle(group, nil)
			b.Notice(fmt.Sprintf("%s%d", noticePrefix, last))
			return
		case ctx.Err() != nil:
			return
		case refused(err, try) && len(group) > 1:
			b.storeAll(ctx, group[:len(group)/2])
			b.storeAll(ctx, group[len(group)/2:])
			return
		case refused(err, try):
			b.drop(group[0].Type, err)
			b.settle(group, err)
			return
		}
		b.log.Warn("events not stored, trying again", "events", len(group), "error", err)
		sleep(ctx, pause/2+rand.N(pause))
		pause = min(2*pause, longestPause)
	}
}

func (b *Bus) append(ctx context.Context, group []entry) (int64, error) {
	events := make([]postgres.Event, len(group))
	for i, e := range group {
		events[i] = e.Event
	}
	ctx, cancel := context.WithTimeout(ctx, appendTimeout)
	defer cancel()
	return b.store.AppendEvents(ctx, events)
}

// settle takes a group out of the queue and tells who waits.
func (b *Bus) settle(group []entry, err error) {
	b.writing.Lock()
	b.pending = b.pending[len(group):]
	if len(b.pending) == 0 {
		b.pending = nil
	}
	b.writing.Unlock()
	for _, e := range group {
		if e.done != nil {
			e.done <- err
		}
	}
	b.slots.Release(int64(len(group)))
}

// refused reports whether the database answered and did not want an event, as
// opposed to being away. An error that we do not know gets some more tries.
func refused(err error, try int) bool {
	const tries = 5
	switch core.Public(err).Kind {
	case core.Unavailable, core.Timeout:
		return false
	case core.Internal:
		return try >= tries
	default:
		return true
	}
}
