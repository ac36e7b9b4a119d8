-- What hooks in the database need to be used: a number by which every instance
-- knows whether it has the newest, edits that can be told apart, a mark on those
-- that failed, and on those that a user made.

-- +goose Up
alter table revision add column hooks bigint not null default 0;

alter table mcp_hooks
    -- Counts the edits.
    add column version         bigint      not null default 1,
    -- Its user made it, and may change it; otherwise an admin did, for them.
    add column owned           boolean     not null default false,
    -- Its own failure disabled it; the next edit gives it another chance.
    add column disabled_at     timestamptz,
    add column disabled_reason text        not null default '',
    add constraint mcp_hooks_owned_by_user check (user_id is not null or not owned),
    -- What is read into lists of text must be such: no nulls, one dimension.
    add constraint mcp_hooks_lists_valid check (
        coalesce(array_ndims(events), 1) = 1 and array_position(events, null) is null and
        coalesce(array_ndims(servers), 1) = 1 and array_position(servers, null) is null and
        coalesce(array_ndims(agents), 1) = 1 and array_position(agents, null) is null),
    add constraint mcp_hooks_dates_finite check (isfinite(created_at) and isfinite(updated_at) and isfinite(disabled_at)),
    drop constraint mcp_hooks_level_known,
    add constraint mcp_hooks_level_known check (level in ('meta', 'tool', 'both'));

-- +goose Down
-- Whoever knows no level for both chains does not know hooks of this table either.
update mcp_hooks set level = 'tool' where level = 'both';
alter table mcp_hooks
    drop constraint mcp_hooks_level_known,
    add constraint mcp_hooks_level_known check (level in ('meta', 'tool')),
    drop constraint mcp_hooks_dates_finite,
    drop constraint mcp_hooks_lists_valid,
    drop constraint mcp_hooks_owned_by_user,
    drop column disabled_reason,
    drop column disabled_at,
    drop column owned,
    drop column version;
alter table revision drop column hooks;
