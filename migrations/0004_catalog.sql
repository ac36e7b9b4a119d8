-- What servers offer. Definitions are json and not jsonb, which would reorder
-- keys, round numbers and refuse \u0000.

-- +goose Up
create table mcp_server_tools (
    id              uuid        constraint mcp_server_tools_pkey primary key,
    server_id       uuid        not null
        constraint mcp_server_tools_server_fkey references mcp_servers on delete cascade,
    -- Bytewise order: pages must not depend on the locale of a machine.
    name            text        collate "C" not null
        constraint mcp_server_tools_name_valid check (char_length(name) between 1 and 1000),
    origin_name     text        collate "C" not null
        constraint mcp_server_tools_origin_name_valid check (char_length(origin_name) between 1 and 1000),
    title           text        not null default '',
    description     text        not null default '',
    -- Its own; null when it is in its server's.
    domain          text,

    -- In force: what is found, described, validated against and called.
    input_schema    json,
    output_schema   json,
    annotations     json,
    definition      json        not null,
    schema_hash     text        not null default '',
    signature       text        not null default '',
    warnings        text[]      not null default '{}',
    -- SHA-256 of all that a vector is made of.
    text_hash       bytea       not null,

    -- Last seen: null where that is what is in force. A change that is held back
    -- differs.
    seen_definition json,
    seen_hash       text,
    seen_at         timestamptz not null default now(),

    -- The catalog revision of the last change, for whoever follows along.
    revision        bigint      not null,
    created_at      timestamptz not null default now(),
    updated_at      timestamptz not null default now(),
    -- Removal is soft, so that a tool which comes back has the id it had.
    removed_at      timestamptz,
    constraint mcp_server_tools_origin_name_unique unique (server_id, origin_name)
);

create index mcp_server_tools_revision on mcp_server_tools (revision);
create index mcp_server_tools_name on mcp_server_tools (name, id) where removed_at is null;
-- With the hash, so that what lacks a vector is found without reading the rows.
create index mcp_server_tools_text on mcp_server_tools (id) include (text_hash) where removed_at is null;
create index mcp_server_tools_domain on mcp_server_tools (server_id) where domain is not null and removed_at is null;

-- Tools that went with their server: followers must hear of them too.
create table mcp_server_tools_gone (
    id       uuid        constraint mcp_server_tools_gone_pkey primary key,
    revision bigint      not null,
    gone_at  timestamptz not null default now()
);

create index mcp_server_tools_gone_revision on mcp_server_tools_gone (revision);

create table mcp_server_resources (
    server_id  uuid    not null
        constraint mcp_server_resources_server_fkey references mcp_servers on delete cascade,
    position   integer not null,
    definition json    not null,
    constraint mcp_server_resources_pkey primary key (server_id, position)
);

create table mcp_server_prompts (
    server_id  uuid    not null
        constraint mcp_server_prompts_server_fkey references mcp_servers on delete cascade,
    position   integer not null,
    definition json    not null,
    constraint mcp_server_prompts_pkey primary key (server_id, position)
);

-- +goose Down
drop table mcp_server_prompts;
drop table mcp_server_resources;
drop table mcp_server_tools_gone;
drop table mcp_server_tools;
