-- Whether tools of some servers changed since a revision is asked by searches while
-- others' tools come in by the thousand: it must not depend on how many came.

-- +goose Up
create index mcp_server_tools_server_revision on mcp_server_tools (server_id, revision);

-- +goose Down
drop index mcp_server_tools_server_revision;
