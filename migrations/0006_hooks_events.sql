-- Hooks that are configured in the database, and the outbox of events.

-- +goose Up
create table mcp_hooks (
    id         uuid        constraint mcp_hooks_pkey primary key,
    tenant_id  uuid        not null constraint mcp_hooks_tenant_fkey references tenants,
    -- The scope: neither is global, one is a server's or a user's, both is a
    -- user's on one server.
    user_id    uuid        constraint mcp_hooks_user_fkey references users on delete cascade,
    server_id  uuid        constraint mcp_hooks_server_fkey references mcp_servers on delete cascade,
    name       text        not null
        constraint mcp_hooks_name_valid check (name ~ '^[^[:cntrl:]]{1,100}$'),
    type       text        not null
        constraint mcp_hooks_type_valid check (type ~ '^[a-z][a-z0-9_]{0,62}$'),
    level      text        not null
        constraint mcp_hooks_level_known check (level in ('meta', 'tool')),
    events     text[]      not null default '{}',
    pattern    text        not null default '*',
    servers    text[]      not null default '{}',
    agents     text[]      not null default '{}',
    mode       text        not null default 'enforce'
        constraint mcp_hooks_mode_known check (mode in ('enforce', 'observe', 'background')),
    on_error   text        not null
        constraint mcp_hooks_on_error_known check (on_error in ('fail', 'ignore', 'disable')),
    priority   integer     not null default 0,
    timeout_ms bigint      not null default 0
        constraint mcp_hooks_timeout_valid check (timeout_ms between 0 and 86400000),
    enabled    boolean     not null default true,
    config     json        not null default '{}',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);

-- Names are unique within a scope. (Not "nulls not distinct", which Postgres 14
-- does not know.)
create unique index mcp_hooks_name_unique on mcp_hooks (
    tenant_id,
    coalesce(user_id, '00000000-0000-0000-0000-000000000000'),
    coalesce(server_id, '00000000-0000-0000-0000-000000000000'),
    name);
create index mcp_hooks_user on mcp_hooks (user_id) where user_id is not null;
create index mcp_hooks_server on mcp_hooks (server_id) where server_id is not null;

-- Numbers give the order and what a reader resumes from; a notification carries
-- nothing but one.
create table events (
    id         bigint      generated always as identity constraint events_pkey primary key,
    tenant_id  uuid        not null constraint events_tenant_fkey references tenants,
    type       text        not null
        constraint events_type_valid check (type ~ '^[^[:cntrl:]]{1,200}$'),
    -- Whose it is; null for one that concerns everybody. No foreign key: an event
    -- tells of the past.
    user_id    uuid,
    data       json        not null,
    created_at timestamptz not null default now()
);

create index events_created on events (created_at);

-- +goose Down
drop table events;
drop table mcp_hooks;
