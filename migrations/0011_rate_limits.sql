-- What instances that share this database share of their rate limits.
--
-- Both tables are unlogged: a call that waits for a token must not wait for a
-- disk, and what they hold is of interest for seconds. After a crash of the
-- database they are empty, so every bucket is full again and slots come back with
-- their next renewal; a standby does not have them.

-- +goose Up
create unlogged table rate_buckets (
    -- The key of the hook and a hash of whom or what the bucket is for.
    hook       text   not null,
    bucket     text   not null,
    -- Times are nanoseconds since 1970 by the database's clock. full_at is when the
    -- bucket would be full: each token taken moves it on by what it takes to refill
    -- one. So a bucket whose full_at has passed is as good as no row.
    full_at    bigint not null,
    -- Tokens that instances took and may not have used yet, and when the last of
    -- them is void.
    held       bigint not null,
    held_until bigint not null,
    constraint rate_buckets_pkey primary key (hook, bucket)
) with (fillfactor = 50);

create unlogged table rate_slots (
    hook       text        not null,
    bucket     text        not null,
    -- The hook in one process, while it has one configuration.
    holder     text        not null,
    slots      integer     not null,
    expires_at timestamptz not null,
    constraint rate_slots_pkey primary key (hook, bucket, holder)
) with (fillfactor = 50);

-- +goose Down
drop table rate_slots;
drop table rate_buckets;
