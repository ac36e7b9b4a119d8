-- What has no vector yet is looked for in the order of changes, tools of one change by
-- their id, and a part at a time: the index has to give just that order.

-- +goose Up
create index mcp_server_tools_changes on mcp_server_tools (revision, id);
drop index mcp_server_tools_revision;

-- +goose Down
create index mcp_server_tools_revision on mcp_server_tools (revision);
drop index mcp_server_tools_changes;
