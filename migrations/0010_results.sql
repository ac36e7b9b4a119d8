-- Results that were cut before they went out, kept whole for a while so that whoever
-- made the call can read the rest.

-- +goose Up
create table results (
    id         uuid        constraint results_pkey primary key,
    tenant_id  uuid        not null constraint results_tenant_fkey references tenants,
    -- Who may read it, and where it came from: with either it goes.
    user_id    uuid        not null constraint results_user_fkey references users on delete cascade,
    agent      text        not null,
    server_id  uuid        not null constraint results_server_fkey references mcp_servers on delete cascade,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    page_bytes integer     not null
        constraint results_page_valid check (page_bytes between 1 and 16777216),
    size       integer     not null
        constraint results_size_valid check (size = octet_length(body)),
    -- JSON as the hooks left it, as bytes: text refuses what JSON in the wild holds.
    body       bytea       not null
);

-- It lives for minutes: compressing it would cost more than it saves.
alter table results alter column body set storage external;

create index results_user on results (user_id, created_at);
create index results_server on results (server_id);
create index results_expiry on results (expires_at);

-- +goose Down
drop table results;
