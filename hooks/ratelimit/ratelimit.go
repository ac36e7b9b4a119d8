// Package ratelimit is the hook that bounds how often, and how many at once, calls
// are made: by whom, with which agent, to which server, of which tool.
//
// # Tokens
//
// Every call takes a token from a bucket that all instances on one database share.
// No stretch of time of any length t sees more than rate*t + burst calls, on all
// instances together. Limits with a burst of up to 10 are exact: each call
// asks the database. For larger ones a busy instance takes some tokens ahead, at
// most a tenth of the burst, and gives back after a second what it did not need: so
// a call may be refused although another instance still holds that many.
//
// # Slots
//
// Calls that run at once are bounded likewise: exactly up to a concurrency of 10,
// beyond that with a tenth taken ahead. An instance that is killed leaves its slots
// taken for [slotLease].
//
// A database that does not answer is a failure of the hook, which closes unless its
// on_error says otherwise.
package ratelimit

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/hooks"
)

// Shared is what instances share; *postgres.Store is it.
type Shared interface {
	TakeTokens(context.Context, postgres.Bucket, postgres.Take) (granted int, wait time.Duration, err error)
	HoldSlots(context.Context, postgres.Slots) (int, error)
	PruneRates(context.Context) (int64, error)
}

// Type makes the type rate_limit, which keeps its buckets in s.
func Type(s Shared) hooks.Type {
	return hooks.Type{
		Name: "rate_limit",
		Description: "Bounds how many calls are made in a time, and how many at once, for each user, agent, server or tool, " +
			"on all instances together. What is too much is refused with rate_limited and when to try again.",
		Level: hooks.Tool, OnError: hooks.Fail, Priority: 200, Inline: true, Paired: true,
		Schema: schema,
		New:    func(i hooks.Instance) (hooks.Hook, error) { return newLimiter(s, i) },
	}
}

// limiter is one configured rate limit.
type limiter struct {
	limits
	buckets *buckets
}

func newLimiter(s Shared, i hooks.Instance) (*limiter, error) {
	l, err := readLimits(i.Config)
	if err != nil {
		return nil, err
	}
	return &limiter{limits: l, buckets: newBuckets(s, i.Key, l)}, nil
}

// Before takes a slot and a token, or rejects the call.
func (l *limiter) Before(ctx context.Context, c *hooks.Call) error {
	b := l.buckets.join(l.key(c))
	if err := l.enter(ctx, b); err != nil {
		l.buckets.part(b)
		return err
	}
	if l.Concurrency == 0 {
		l.buckets.part(b)
		return nil
	}
	c.SetValue(l, b)
	return nil
}

func (l *limiter) enter(ctx context.Context, b *bucket) error {
	if l.Concurrency > 0 {
		if err := b.slots.enter(ctx); err != nil {
			return l.refusal(err, "too many calls at once: the limit is %d%s", l.Concurrency, l.whose())
		}
	}
	if l.Rate == 0 {
		return nil
	}
	err := b.tokens.enter(ctx)
	if err != nil && l.Concurrency > 0 {
		b.slots.leave(ctx)
	}
	return l.refusal(err, "too many calls: the limit is %d per %s%s", l.Rate, l.Per, l.whose())
}

// After frees the slot, however the call ended.
func (l *limiter) After(ctx context.Context, c *hooks.Call) error {
	if b, ok := c.Value(l).(*bucket); ok {
		c.SetValue(l, nil)
		b.slots.leave(ctx)
		l.buckets.part(b)
	}
	return nil
}

// Close gives back what is held.
func (l *limiter) Close() error {
	l.buckets.close()
	return nil
}

// exceeded is a limit that is reached; another try makes sense after wait.
type exceeded struct{ wait time.Duration }

func (exceeded) Error() string { return "the limit is reached" }

// refusal turns what a bucket said into what the caller is told.
func (l *limiter) refusal(err error, format string, args ...any) error {
	var e exceeded
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		r := hooks.Reject(core.RateLimited, format, args...)
		r.Err.RetryAfter = max(e.wait, time.Millisecond)
		r.Err.Hint = "try again in " + inWords(r.Err.RetryAfter)
		return r
	default:
		return core.Errorf(core.Unavailable, "the rate limit cannot be checked at the moment").Because(err)
	}
}

// inWords rounds up, so that who waits as long does not come too early.
func inWords(d time.Duration) string {
	unit := time.Second
	if d < 10*time.Second {
		unit = 100 * time.Millisecond
	}
	text := ((d + unit - 1) / unit * unit).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
