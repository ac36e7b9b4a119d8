-- What search by meaning reads. The table is narrow, with the vector stored in
-- the row: a vector that is moved out of a wide row makes an exact scan five
-- times slower. Its HNSW indexes, one per model, are made once they pay.

-- +goose Up
create table embedding_models (
    id         bigint      generated always as identity constraint embedding_models_pkey primary key,
    provider   text        not null
        constraint embedding_models_provider_valid check (char_length(provider) between 1 and 200),
    name       text        not null
        constraint embedding_models_name_valid check (char_length(name) between 1 and 200),
    -- 4000 is what an index on halfvec can hold.
    dimensions integer     not null
        constraint embedding_models_dimensions_valid check (dimensions between 1 and 4000),
    active     boolean     not null default false,
    created_at timestamptz not null default now(),
    constraint embedding_models_name_unique unique (provider, name)
);

create unique index embedding_models_one_active on embedding_models (active) where active;

create table tool_embeddings (
    tool_id   uuid    not null
        constraint tool_embeddings_tool_fkey references mcp_server_tools on delete cascade,
    model_id  bigint  not null
        constraint tool_embeddings_model_fkey references embedding_models on delete cascade,
    -- As in the tool's row: the filters of a search, without a join.
    server_id uuid    not null,
    domain    text,
    -- Of the text that the vector was made of.
    text_hash bytea   not null,
    emb       halfvec not null,
    constraint tool_embeddings_pkey primary key (tool_id, model_id) include (text_hash)
);

alter table tool_embeddings alter column emb set storage plain;
-- A thousand allowed servers against a hundred common values each, for a plan
-- that is made at every search: 1.9 ms instead of 0.6. Nothing compares vectors.
alter table tool_embeddings alter column server_id set statistics 10;
alter table tool_embeddings alter column emb set statistics 0;
create index tool_embeddings_server on tool_embeddings (server_id, model_id);

-- +goose Down
drop table tool_embeddings;
drop table embedding_models;
