package rest

import (
	"context"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
)

// auditQuery filters audit and usage.
type auditQuery struct {
	Since     time.Time    `json:"since,omitzero" doc:"Not before this time." example:"2026-11-21T00:00:00Z"`
	Until     time.Time    `json:"until,omitzero" doc:"Before this time."`
	Level     string       `json:"level,omitempty" enum:"meta,http,config" doc:"Only this level."`
	Action    string       `json:"action,omitempty" doc:"Only this action." example:"execute_tool"`
	ActorID   string       `json:"actorId,omitempty" doc:"Only what this user did."`
	Outcome   core.Outcome `json:"outcome,omitempty" enum:"ok,denied,invalid,failed,timeout,rejected" doc:"Only what ended so."`
	ToolID    string       `json:"toolId,omitempty" doc:"Only this tool."`
	ServerID  string       `json:"serverId,omitempty" doc:"Only this server."`
	RequestID string       `json:"requestId,omitempty" doc:"Only this request."`
	Page
}

func (q auditQuery) filter() postgres.AuditFilter {
	return postgres.AuditFilter{Since: q.Since, Until: q.Until, Level: q.Level, Action: q.Action, ActorID: q.ActorID,
		Outcome: q.Outcome, ToolID: q.ToolID, ServerID: q.ServerID, RequestID: q.RequestID}
}

func (a *api) audit(ctx context.Context, c call[auditQuery, none]) (List[AuditEntry], error) {
	entries, err := a.admin.Audit(ctx, c.Request, c.query.filter(), c.query.page())
	return listOf(entries, auditEntryOf), err
}

func (a *api) usage(ctx context.Context, c call[auditQuery, none]) (List[UsageEntry], error) {
	entries, err := a.admin.Usage(ctx, c.Request, c.query.filter(), c.query.page())
	return listOf(entries, usageEntryOf), err
}
