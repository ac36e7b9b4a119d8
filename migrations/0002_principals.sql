-- Who may ask: users, and the tokens they ask with. Only the hash of a token is
-- ever stored.

-- +goose Up
create table users (
    id         uuid        constraint users_pkey primary key,
    tenant_id  uuid        not null constraint users_tenant_fkey references tenants,
    name       text        not null
        constraint users_name_valid check (name ~ '^[^[:cntrl:]]{1,100}$' and name = btrim(name)),
    email      text        not null default ''
        constraint users_email_valid check (email = '' or email ~ '^[^[:cntrl:][:space:]]{1,250}@[^[:cntrl:][:space:]@]{1,250}$'),
    roles      text[]      not null default '{}'
        constraint users_roles_valid check (
            cardinality(roles) <= 64 and array_position(roles, null) is null
            and '' <> all (roles) and char_length(array_to_string(roles, '')) <= 6400),
    -- Counts the changes of this user's roles and switches.
    revision   bigint      not null default 0,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint users_name_unique unique (tenant_id, name),
    -- What lets other tables demand a user of their own tenant.
    constraint users_tenant_unique unique (tenant_id, id)
);

create table api_tokens (
    id           uuid        constraint api_tokens_pkey primary key,
    user_id      uuid        not null constraint api_tokens_user_fkey references users on delete cascade,
    name         text        not null
        constraint api_tokens_name_valid check (name ~ '^[^[:cntrl:]]{1,100}$'),
    agent        text        not null default ''
        constraint api_tokens_agent_valid check (agent ~ '^[^[:cntrl:]]{0,100}$'),
    secret_hash  bytea       not null constraint api_tokens_secret_unique unique
        constraint api_tokens_secret_is_sha256 check (octet_length(secret_hash) = 32),
    created_at   timestamptz not null default now(),
    expires_at   timestamptz
        constraint api_tokens_expiry_finite check (expires_at < 'infinity' and expires_at > '-infinity'),
    last_used_at timestamptz,
    revoked_at   timestamptz
);

create index api_tokens_user on api_tokens (user_id, id);

-- +goose Down
drop table api_tokens;
drop table users;
