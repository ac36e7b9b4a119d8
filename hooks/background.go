package hooks

import (
	"context"
	"fmt"

	"github.com/toolscout/toolscout/core"
)

// job is work for a hook that nobody waits for.
type job struct {
	entry *Entry
	run   func(*Runner)
	// release gives back the hook that was kept for it.
	release func()
}

var (
	errQueue  = core.Errorf(core.Unavailable, "the background queue is full")
	errClosed = core.Errorf(core.Unavailable, "the background queue is closed")
)

// delayed is a hook in background mode with the call as it was before and after.
type delayed struct {
	entry  *Entry
	before *Call
	after  *Call
}

// later queues the hooks in background mode. When the queue is full the caller
// waits, no longer than the hook may take; what still finds no place is logged
// and warned of, never silently lost.
func (p *passage) later(ctx context.Context) {
	for _, d := range p.delayed {
		d.after = p.call.copy()
		if err := p.runner.queue(ctx, d.entry, d.run); err != nil {
			p.log(d.entry, after, err)
			p.record(d.entry, after, nil, err)
			p.call.Warn(fmt.Sprintf("hook %q was left out: %s", d.entry.Name, core.Public(err).Message))
		}
	}
}

// Handle runs a hook's handler of an event outside calls, in the background. The
// handler is what the entry's hook is. Its failure is logged, and disables the hook
// if the entry says so. Unavailable when the queue stays full for as long as the hook
// may take.
func (r *Runner) Handle(ctx context.Context, e *Entry, what core.Event, h Handler) error {
	if r.Disabled(e) {
		return nil
	}
	return r.queue(ctx, e, func(r *Runner) {
		err := r.usable(e)
		if err == nil {
			err = r.bounded(context.WithoutCancel(ctx), e, func(ctx context.Context) error { return h.Handle(ctx, what) }, timeout(e))
		}
		if err != nil {
			r.blunder(e, Event(what.Type), "", err)
		}
	})
}

// lane is a queue and those who work it off, who are there while there is work.
// What users made for themselves waits in a lane for each user, one after the
// other: however slow it is, it holds up nobody else's hooks. All others share one.
type lane struct {
	jobs chan job
	// most is how many jobs run at once.
	most int
	// entering and running count those who wait for a place, and who work. The
	// Runner's mutex guards them.
	entering, running int
}

// maxOwn is how many calls may wait for the hooks that one user made.
const maxOwn = 64

// owner is whose lane a hook waits in, "" for that of all.
func (e *Entry) owner() string {
	if e.Owned {
		return e.UserID
	}
	return ""
}

func (r *Runner) queue(ctx context.Context, e *Entry, run func(*Runner)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout(e))
	defer cancel()
	l, err := r.enter(e.owner())
	if err != nil {
		return err
	}
	j := job{entry: e, run: run, release: func() {}}
	if e.Keep != nil {
		j.release = e.Keep()
	}
	select {
	case l.jobs <- j:
	default:
		select {
		case l.jobs <- j:
		case <-ctx.Done():
			j.release()
			err = errQueue
		}
	}
	r.entered(e.owner(), l)
	return err
}

// enter gives the lane of somebody's hooks, which stays there until entered is
// called.
func (r *Runner) enter(owner string) (*lane, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	l := r.lanes[owner]
	if l == nil {
		l = &lane{jobs: make(chan job, r.config.Queue), most: r.config.Workers}
		if owner != "" {
			l = &lane{jobs: make(chan job, min(r.config.Queue, maxOwn)), most: 1}
		}
		r.lanes[owner] = l
	}
	l.entering++
	r.done.Add(1)
	return l, nil
}

// entered sees to it that somebody works off what is in a lane.
func (r *Runner) entered(owner string, l *lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.entering--
	if len(l.jobs) > 0 && l.running < l.most {
		l.running++
		r.done.Go(func() { r.work(owner, l) })
	}
	r.leave(owner, l)
	r.done.Done()
}

// leave drops a lane that is empty. It needs the mutex.
func (r *Runner) leave(owner string, l *lane) {
	if l.entering == 0 && l.running == 0 {
		delete(r.lanes, owner)
	}
}

// work runs queued hooks until the lane is empty.
func (r *Runner) work(owner string, l *lane) {
	for {
		j, ok := r.next(owner, l)
		if !ok {
			return
		}
		if !r.Disabled(j.entry) {
			j.run(r)
		}
		j.release()
	}
}

// next takes a job. Without one, whoever asks has ended.
func (r *Runner) next(owner string, l *lane) (job, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case j := <-l.jobs:
		return j, true
	default:
		l.running--
		r.leave(owner, l)
		return job{}, false
	}
}

// run runs both halves. What they edit is nobody's any more. As in a call, After
// follows a Before that failed; a rejection comes too late to count.
func (d delayed) run(r *Runner) {
	if err := r.usable(d.entry); err != nil {
		r.blunder(d.entry, event(d.before.Level, before), d.before.RequestID, err)
		return
	}
	for _, half := range []struct {
		phase
		call *Call
	}{{before, d.before}, {after, d.after}} {
		if !d.entry.takes(half.call.Level, half.phase) {
			continue
		}
		err := r.attempt(context.Background(), d.entry, half.phase, half.call, timeout(d.entry))
		switch {
		case isRejection(err):
			r.config.Logger.Warn("hook rejected a call too late: it runs in the background", "hook", d.entry.Name,
				"event", event(half.call.Level, half.phase), "request_id", half.call.RequestID)
		case err != nil:
			r.blunder(d.entry, event(half.call.Level, half.phase), half.call.RequestID, err)
		case half.phase == before:
			d.after.values = half.call.values
		}
	}
}

// blunder is what follows from a failure in the background.
func (r *Runner) blunder(e *Entry, at Event, requestID string, err error) {
	r.log(e, at, requestID, err)
	if e.OnError == Disable {
		r.disable(e, blame(e, err))
	}
}
