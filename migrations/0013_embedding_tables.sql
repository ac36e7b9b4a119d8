-- The table of the built-in model can be adapted to a catalog. It is kept here,
-- where every instance finds it, and says which of the tables is wanted: the one
-- chosen last, or the one in the program where none is.

-- +goose Up
create table embedding_tables (
    model_id   bigint      constraint embedding_tables_pkey primary key
        constraint embedding_tables_model_fkey references embedding_models on delete cascade,
    -- What it was adapted from.
    base       text        not null,
    data       bytea       not null
        constraint embedding_tables_data_valid check (octet_length(data) between 1 and 16777216),
    -- Null for one that was turned away from.
    chosen_at  timestamptz,
    created_at timestamptz not null default now()
);

alter table embedding_tables alter column data set storage external;

-- +goose Down
drop table embedding_tables;
