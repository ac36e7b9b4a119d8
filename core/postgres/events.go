package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

// Whoever stores events holds this lock from before they get their numbers until
// they are committed. So numbers become visible in their order, and a reader that
// goes on from the last number it has seen misses nothing. In a transaction that
// changes something else as well it comes last: nobody who holds it waits for
// another lock.
const lockEvents = `select pg_advisory_xact_lock(hashtextextended('toolscout events', 0))`

const insertEvents = `
	with stored as (
		insert into events (key, instance, tenant_id, type, subject, user_id, server_id, data, created_at)
		select e.key, current_setting('toolscout.instance', true)::uuid, e.tenant_id, e.type, e.subject, e.user_id, e.server_id, e.data, e.time
		from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::uuid[], $7::json[], $8::timestamptz[])
			with ordinality as e (key, tenant_id, type, subject, user_id, server_id, data, time, position)
		order by e.position
		on conflict (key) do nothing
		returning id),
	last as (select max(id) as id from stored)
	select id, pg_notify('toolscout', 'events ' || id) from last where id is not null`

// Event is an event to store, or as it is stored.
type Event struct {
	core.Event
	// Key is given to an event once, before it is stored for the first time: the same
	// event is never stored twice.
	Key string
	// Ours: this instance stored it.
	Ours bool
}

// NewEvent gives an event its key and, if it has none, its time.
func NewEvent(e core.Event) Event {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	return Event{Event: e, Key: newID()}
}

// AppendEvents stores events in their order, all or none, in one round trip, and
// tells every instance that listens. It gives the number of the last, or 0 when all
// were there. What cannot be stored is InvalidParams.
func (s *Store) AppendEvents(ctx context.Context, events []Event) (last int64, err error) {
	if len(events) == 0 {
		return 0, nil
	}
	batch := eventBatch(events, &last)
	return last, wrap("append events", s.pool.SendBatch(ctx, batch).Close())
}

func eventBatch(events []Event, last *int64) *pgx.Batch {
	n := len(events)
	keys, tenants, types, subjects := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	users, servers, data, times := make([]*string, n), make([]*string, n), make([]*string, n), make([]time.Time, n)
	for i, e := range events {
		keys[i], tenants[i], types[i], subjects[i] = e.Key, tenant(e.TenantID), clean(e.Type), clean(e.Subject)
		users[i], servers[i], data[i], times[i] = idOrNil(e.UserID), idOrNil(e.ServerID), document(e.Data), e.Time
		if data[i] == nil {
			data[i] = document(json.RawMessage("{}"))
		}
	}
	var batch pgx.Batch
	batch.Queue(lockEvents)
	batch.Queue(insertEvents, keys, tenants, types, subjects, users, servers, data, times).QueryRow(func(row pgx.Row) error {
		err := row.Scan(last, nil)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return &batch
}

// idOrNil is nil for what is no id: such an event is nobody's.
func idOrNil(id string) *string {
	if !isID(id) {
		return nil
	}
	return &id
}

// EventLog is what there is to know of the events as a whole.
type EventLog struct {
	// Source names the sequence of numbers: another database has another.
	Source string
	// Last is the highest number, Pruned the highest that has been deleted.
	Last, Pruned int64
	// CallsSince: after the event of this number calls were announced without a
	// break, if they are at all.
	CallsSince int64
}

// EventLog describes the events.
func (s *Store) EventLog(ctx context.Context) (EventLog, error) {
	var l EventLog
	err := s.pool.QueryRow(ctx, `
		select source, greatest((select coalesce(max(id), 0) from events), pruned), pruned, listening_since from event_state`).
		Scan(&l.Source, &l.Last, &l.Pruned, &l.CallsSince)
	return l, wrap("read events", err)
}

// Events gives the events of all tenants after a number, in their order, and the
// highest number that has been deleted.
func (s *Store) Events(ctx context.Context, after int64, limit int) (events []Event, pruned int64, err error) {
	// One statement sees one state of the database: what was deleted is told with
	// what is there.
	rows, err := s.pool.Query(ctx, `
		select (select pruned from event_state), id, key, 
		       coalesce(instance = current_setting('toolscout.instance', true)::uuid, false), tenant_id, type, subject,
		       coalesce(user_id::text, ''), coalesce(server_id::text, ''), data, created_at
		from events where id > $1 order by id limit $2`, after, limit)
	if err != nil {
		return nil, 0, wrap("read events", err)
	}
	events, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e Event, err error) {
		err = row.Scan(&pruned, &e.ID, &e.Key, &e.Ours, &e.TenantID, &e.Type, &e.Subject, &e.UserID, &e.ServerID, &e.Data, &e.Time)
		return e, err
	})
	if err == nil && len(events) == 0 {
		err = s.pool.QueryRow(ctx, `select pruned from event_state`).Scan(&pruned)
	}
	return events, pruned, wrap("read events", err)
}

// ListenToCalls has calls announced, on every instance, for as long as d from now.
// When it returns no call begins any more that is not.
func (s *Store) ListenToCalls(ctx context.Context, d time.Duration) error {
	return s.tx(ctx, "listen to calls", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			update event_state set
				listening_since = case when listening_until > now() then listening_since
				                       else greatest((select coalesce(max(id), 0) from events), pruned) end,
				listening_until = greatest(listening_until, now() + $1::interval)`, d)
		return err
	})
}

// PruneEvents deletes the events up to the last one from before a moment, and gives
// their number.
func (s *Store) PruneEvents(ctx context.Context, before time.Time) (int64, error) {
	var pruned int64
	for {
		var n int64
		// Whole beginnings, so that one number tells what is gone.
		err := s.pool.QueryRow(ctx, `
			with gone as (
				delete from events
				where id <= (select max(id) from events where created_at < $1)
				  and id < (select min(id) from events) + $2
				returning id),
			told as (
				update event_state set pruned = greatest(pruned, (select max(id) from gone))
				where exists (select from gone))
			select count(*) from gone`, before, pruneBatch).Scan(&n)
		if err != nil {
			return pruned, wrap("prune events", err)
		}
		if pruned += n; n == 0 {
			return pruned, nil
		}
	}
}
