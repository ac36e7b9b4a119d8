package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Bucket is one of the buckets of a rate limit, which all instances share. It
// holds up to Burst tokens and gains one every Interval.
type Bucket struct {
	// Hook is the key of the hook, Key whom or what the bucket is for.
	Hook, Key string
	// Interval is more than 0. Burst times Interval is at most a year.
	Interval time.Duration
	Burst    int
}

// Take asks for tokens and accounts for those taken earlier.
type Take struct {
	// Use are wanted for calls that wait for them, Hold for calls to come. Fewer may
	// be granted of either, Use first.
	Use, Hold int
	// HoldFor is how long after the asking held tokens count, both in the bucket and
	// as usable.
	HoldFor time.Duration
	// Settled of the tokens held so far are held no more: they were used, or are
	// among the Returned, which go back.
	Settled, Returned int
}

// takeTokens works in whole nanoseconds, so that nothing is ever rounded up. What
// is held cannot be in the bucket as well: it is full when it and they are Burst
// together. So no stretch of time sees more calls than Burst and what is refilled in it,
// although tokens are used later than they are taken.
const takeTokens = `
	with bucket as (
	    select full_at, held, held_until from rate_buckets where hook = @hook and bucket = @bucket for update
	), clock as (
	    select *, (extract(epoch from clock_timestamp()) * 1000000)::bigint * 1000 as now from bucket
	), settled as (
	    select now, held_until,
	           case when held_until > now then greatest(held - @settled::bigint, 0) else 0 end as held,
	           case when held_until > now then @returned::bigint else 0 end as returned,
	           least(full_at, now + @burst::bigint * @interval::bigint) as full_at
	    from clock
	), level as (
	    select now, held, held_until, greatest(full_at - returned * @interval, now + held * @interval) as full_at from settled
	), granted as (
	    select *, greatest(0, least(@use::bigint + @hold::bigint, (now + @burst * @interval - full_at) / @interval)) as n from level
	)
	update rate_buckets b
	set full_at = g.full_at + g.n * @interval,
	    held = g.held + greatest(g.n - @use, 0),
	    held_until = case when g.n > @use then greatest(g.held_until, g.now + @hold_for::bigint) else g.held_until end
	from granted g
	where b.hook = @hook and b.bucket = @bucket
	returning g.n, case when g.n < @use then g.full_at + (g.n + 1) * @interval - (g.now + @burst * @interval) else 0 end`

// TakeTokens takes tokens from a bucket, at most as many as wanted. When that is
// fewer than were wanted for use, wait is how long until there is one more. A
// bucket that is not there yet is full.
func (s *Store) TakeTokens(ctx context.Context, b Bucket, t Take) (granted int, wait time.Duration, err error) {
	args := pgx.StrictNamedArgs{"hook": clean(b.Hook), "bucket": clean(b.Key), "interval": int64(b.Interval), "burst": b.Burst,
		"use": t.Use, "hold": t.Hold, "hold_for": int64(t.HoldFor), "settled": t.Settled, "returned": t.Returned}
	for {
		err = s.pool.QueryRow(ctx, takeTokens, args).Scan(&granted, &wait)
		if !errors.Is(err, pgx.ErrNoRows) {
			return granted, wait, wrap("take tokens", err)
		}
		if _, err = s.pool.Exec(ctx, `insert into rate_buckets (hook, bucket, full_at, held, held_until)
			values ($1, $2, 0, 0, 0) on conflict do nothing`, clean(b.Hook), clean(b.Key)); err != nil {
			return 0, 0, wrap("take tokens", err)
		}
	}
}

// Slots are places for calls that run at the same time.
type Slots struct {
	// Hook is the key of the hook, Key whom or what the limit is for.
	Hook, Key string
	// Limit is how many there are for all holders together.
	Limit int
	// Holder is who asks: a process.
	Holder string
	// Want is how many the holder wants to have from now on, those it has included.
	Want int
	// For is how long they are the holder's, unless it asks again.
	For time.Duration
}

// HoldSlots gives the holder as many slots as it wants, or as the others have left
// it. Asking for what one has keeps it for another while; 0 gives all back.
func (s *Store) HoldSlots(ctx context.Context, h Slots) (int, error) {
	hook, key, holder := clean(h.Hook), clean(h.Key), clean(h.Holder)
	var batch pgx.Batch
	var got int
	// One transaction: the second statement sees what was committed before it got
	// the lock.
	batch.Queue(`select pg_advisory_xact_lock(hashtextextended('rate_slots ' || $1 || ' ' || $2, 0))`, hook, key)
	batch.Queue(`
		insert into rate_slots (hook, bucket, holder, slots, expires_at)
		select $1, $2, $3, greatest(0, least($4::bigint, $5::bigint - coalesce(sum(slots), 0))), clock_timestamp() + $6
		from rate_slots where hook = $1 and bucket = $2 and holder <> $3 and expires_at > clock_timestamp()
		on conflict (hook, bucket, holder) do update set slots = excluded.slots, expires_at = excluded.expires_at
		returning slots`, hook, key, holder, h.Want, h.Limit, h.For).
		QueryRow(func(row pgx.Row) error { return row.Scan(&got) })
	return got, wrap("hold slots", s.pool.SendBatch(ctx, &batch).Close())
}

// PruneRates deletes what says nothing any more: full buckets, expired slots. It
// gives the number of rows.
func (s *Store) PruneRates(ctx context.Context) (int64, error) {
	buckets, err := s.pool.Exec(ctx, `
		delete from rate_buckets where (hook, bucket) in (
		    select hook, bucket from rate_buckets, (select (extract(epoch from clock_timestamp()) * 1000000)::bigint * 1000 as now) clock
		    where full_at < now and held_until < now limit $1 for update of rate_buckets skip locked)`, pruneBatch)
	if err != nil {
		return 0, wrap("prune rates", err)
	}
	slots, err := s.pool.Exec(ctx, `
		delete from rate_slots where (hook, bucket, holder) in (
		    select hook, bucket, holder from rate_slots where expires_at < clock_timestamp() limit $1 for update skip locked)`, pruneBatch)
	return buckets.RowsAffected() + slots.RowsAffected(), wrap("prune rates", err)
}
