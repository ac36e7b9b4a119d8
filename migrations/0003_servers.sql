-- What is registered: servers, the domains they belong to, and how users have
-- switched them.

-- +goose Up
create table domains (
    tenant_id   uuid        not null constraint domains_tenant_fkey references tenants,
    id          text        not null
        constraint domains_id_valid check (id ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    name        text        not null
        constraint domains_name_valid check (name ~ '^[^[:cntrl:]]{1,100}$'),
    description text        not null default ''
        constraint domains_description_valid check (char_length(description) <= 4000),
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    constraint domains_pkey primary key (tenant_id, id)
);

create table mcp_servers (
    id              uuid        constraint mcp_servers_pkey primary key,
    tenant_id       uuid        not null constraint mcp_servers_tenant_fkey references tenants,
    name            text        not null
        constraint mcp_servers_name_valid check (name ~ '^[^[:cntrl:]]{1,100}$' and name = btrim(name)),
    description     text        not null default ''
        constraint mcp_servers_description_valid check (char_length(description) <= 10000),
    domain          text        not null,
    transport       text        not null
        constraint mcp_servers_transport_known check (transport in ('stdio', 'http', 'sse')),
    url             text        not null default ''
        constraint mcp_servers_url_valid check (url ~ '^(https?://|[$][{])[^[:cntrl:][:space:]]+$' or url = ''),
    command         text        not null default '',
    args            text[]      not null default '{}',
    env             jsonb       not null default '{}',
    headers         jsonb       not null default '{}',
    prefix          text        not null default ''
        constraint mcp_servers_prefix_valid check (prefix ~ '^[A-Za-z0-9_./-]{0,64}$'),
    allowed_tools   text[]      not null default '{}',
    blocked_tools   text[]      not null default '{}',
    required_roles  text[]      not null default '{}',
    agent_allowlist text[]      not null default '{}',
    tags            text[]      not null default '{}',
    visibility      text        not null
        constraint mcp_servers_visibility_known check (visibility in ('visible', 'hidden', 'user')),
    owner_id        uuid,
    isolation       text        not null
        constraint mcp_servers_isolation_known check (isolation in ('shared', 'user', 'session')),
    timeout_ms      bigint      not null default 0
        constraint mcp_servers_timeout_valid check (timeout_ms between 0 and 86400000),
    status          text        not null
        constraint mcp_servers_status_known check (status in ('active', 'inactive')),
    origin          text        not null
        constraint mcp_servers_origin_known check (origin in ('api', 'file')),
    -- Counts the edits of the configuration.
    version         bigint      not null default 1,
    -- What was observed, as opposed to configured: it changes without an edit.
    era             text        not null default ''
        constraint mcp_servers_era_known check (era in ('', 'modern', 'legacy')),
    health          jsonb       not null
        constraint mcp_servers_health_known check (health ->> 'state' in
            ('connecting', 'healthy', 'unstable', 'unavailable', 'misconfigured', 'stopped')),
    tool_count      integer     not null default 0,
    created_at      timestamptz not null default now(),
    updated_at      timestamptz not null default now(),
    constraint mcp_servers_name_unique unique (tenant_id, name),
    constraint mcp_servers_domain_fkey foreign key (tenant_id, domain) references domains,
    -- A server that one user owns goes with its user.
    constraint mcp_servers_owner_fkey foreign key (tenant_id, owner_id)
        references users (tenant_id, id) on delete cascade,
    constraint mcp_servers_owner_with_visibility check ((visibility = 'user') = (owner_id is not null)),
    constraint mcp_servers_target_valid check (
        case transport
            when 'stdio' then command <> '' and url = '' and headers = '{}'
            else url <> '' and command = '' and args = '{}'
        end)
);

create index mcp_servers_owner on mcp_servers (owner_id) where owner_id is not null;

create table user_mcp_preferences (
    user_id    uuid        not null constraint user_mcp_preferences_user_fkey references users on delete cascade,
    server_id  uuid        not null constraint user_mcp_preferences_server_fkey references mcp_servers on delete cascade,
    granted    boolean     not null default false,
    -- Null until the user touches the switch.
    enabled    boolean,
    updated_at timestamptz not null default now(),
    constraint user_mcp_preferences_pkey primary key (user_id, server_id)
);

create index user_mcp_preferences_server on user_mcp_preferences (server_id);

-- +goose Down
drop table user_mcp_preferences;
drop table mcp_servers;
drop table domains;
