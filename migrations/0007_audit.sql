-- What happened. Both tables can only grow: not even the gateway's own role can
-- change or delete a row, except in a transaction that says it is retention.
-- There are no foreign keys and ids are text: a row is written whatever the
-- caller sent and whatever was deleted since.

-- +goose Up
create table mcp_config_audit (
    id          uuid             constraint mcp_config_audit_pkey primary key,
    time        timestamptz      not null,
    tenant_id   text             not null,
    request_id  text             not null,
    level       text             not null
        constraint mcp_config_audit_level_known check (level in ('meta', 'http', 'config')),
    action      text             not null,
    actor_id    text             not null,
    -- The name as it was: deleting a user loses no history.
    actor       text             not null,
    agent       text             not null,
    tool_id     text             not null,
    tool_name   text             not null,
    server_id   text             not null,
    server_name text             not null,
    outcome     text             not null
        constraint mcp_config_audit_outcome_known check (outcome in ('ok', 'denied', 'invalid', 'failed', 'timeout', 'rejected')),
    error_kind  text             not null,
    duration_ms double precision not null,
    details     json
);

create index mcp_config_audit_time on mcp_config_audit (tenant_id, time, id);
create index mcp_config_audit_request on mcp_config_audit (request_id);

create table tool_usage (
    id          uuid             constraint tool_usage_pkey primary key,
    time        timestamptz      not null,
    tenant_id   text             not null,
    request_id  text             not null,
    level       text             not null
        constraint tool_usage_level_known check (level in ('meta', 'http', 'config')),
    action      text             not null,
    actor_id    text             not null,
    actor       text             not null,
    agent       text             not null,
    tool_id     text             not null,
    tool_name   text             not null,
    server_id   text             not null,
    server_name text             not null,
    outcome     text             not null
        constraint tool_usage_outcome_known check (outcome in ('ok', 'denied', 'invalid', 'failed', 'timeout', 'rejected')),
    error_kind  text             not null,
    duration_ms double precision not null,
    details     json,
    schema_hash text             not null
);

create index tool_usage_time on tool_usage (tenant_id, time, id);
create index tool_usage_request on tool_usage (request_id);

-- +goose StatementBegin
create function refuse_change() returns trigger language plpgsql as $$
begin
    if current_setting('toolscout.retention', true) = 'on' then
        return null;
    end if;
    raise exception '% on toolscout.% is refused: it is append-only', tg_op, tg_table_name
        using errcode = 'restrict_violation', constraint = 'append_only', table = tg_table_name;
end
$$;
-- +goose StatementEnd

create trigger append_only before update or delete or truncate on mcp_config_audit
    for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on tool_usage
    for each statement execute function refuse_change();

-- +goose Down
drop table tool_usage;
drop table mcp_config_audit;
drop function refuse_change();
