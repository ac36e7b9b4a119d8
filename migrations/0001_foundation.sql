-- The ground that every later table stands on: vectors, tenants, and the one
-- counter that tells whether what an instance remembers is still true.

-- +goose Up
create extension if not exists vector with schema public;

create table tenants (
    id         uuid        constraint tenants_pkey primary key,
    name       text        not null constraint tenants_name_unique unique,
    created_at timestamptz not null default now()
);

-- There is one tenant; the column is everywhere so that more can come.
insert into tenants (id, name) values ('00000000-0000-0000-0000-000000000001', 'default');

-- The row is also a lock: whoever changes servers or tools takes it first, so
-- that revisions become visible in the order of their numbers.
create table revision (
    single  boolean default true constraint revision_pkey primary key
                    constraint revision_single check (single),
    catalog bigint  not null default 0
);

insert into revision default values;

-- +goose Down
drop table revision;
drop table tenants;
-- The extension stays: something else in this database may be using it.
