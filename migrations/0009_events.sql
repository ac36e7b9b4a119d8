-- What the stream of events needs: what an event is about, who stored it, and what
-- there is to know of the events as a whole.

-- +goose Up
alter table events
    -- Given by whoever publishes: a batch that was sent again, because nobody knows
    -- whether it arrived, leaves one row.
    add column key       uuid not null default gen_random_uuid(),
    -- The instance that stored it, and alone hands it to hooks.
    add column instance  uuid,
    add column server_id uuid,
    add column subject   text not null default '';

create unique index events_key_unique on events (key);

create table event_state (
    single          boolean     default true constraint events_state_pkey primary key
                                constraint events_state_single check (single),
    -- Names this sequence of numbers among those of other databases.
    source          uuid        not null default gen_random_uuid(),
    -- The highest number that has been deleted.
    pruned          bigint      not null default 0,
    -- Calls are announced until then, and were without a break after the event of
    -- this number.
    listening_until timestamptz not null default '-infinity',
    listening_since bigint      not null default 0
);

insert into event_state default values;

-- +goose Down
drop table event_state;
drop index events_key_unique;
alter table events
    drop column key,
    drop column instance,
    drop column server_id,
    drop column subject;
