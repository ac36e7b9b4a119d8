package core

import (
	"encoding/json"
	"time"
)

// Request is one use of the gateway: who asks, and the id that ties together
// everything it leaves behind. It is made fresh at the door for every request.
type Request struct {
	ID        string
	Principal Principal
}

// Outcome is how a call ended.
type Outcome string

// The outcomes.
const (
	OutcomeOK       Outcome = "ok"
	OutcomeDenied   Outcome = "denied"
	OutcomeInvalid  Outcome = "invalid"
	OutcomeFailed   Outcome = "failed"
	OutcomeTimeout  Outcome = "timeout"
	OutcomeRejected Outcome = "rejected"
)

// OutcomeOf maps an error to the outcome that the audit records.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OutcomeOK
	}
	switch Public(err).Kind {
	case Denied, NotFound, Unauthenticated:
		return OutcomeDenied
	case InvalidParams, Conflict:
		return OutcomeInvalid
	case Timeout:
		return OutcomeTimeout
	case HookRejected, RateLimited:
		return OutcomeRejected
	default:
		return OutcomeFailed
	}
}

// The levels of an audit entry.
const (
	LevelMeta   = "meta"   // a meta-tool, over MCP
	LevelHTTP   = "http"   // the same over REST
	LevelConfig = "config" // a change of configuration
)

// AuditEntry is one row of the audit: a call of a meta-tool or a change of
// configuration, however it ended.
type AuditEntry struct {
	ID         string          `json:"id"`
	Time       time.Time       `json:"time"`
	RequestID  string          `json:"requestId"`
	TenantID   string          `json:"-"`
	Level      string          `json:"level"`
	Action     string          `json:"action"`
	ActorID    string          `json:"actorId,omitempty"`
	Actor      string          `json:"actor,omitempty"`
	Agent      string          `json:"agent,omitempty"`
	ToolID     string          `json:"toolId,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	ServerID   string          `json:"serverId,omitempty"`
	ServerName string          `json:"serverName,omitempty"`
	Outcome    Outcome         `json:"outcome"`
	ErrorKind  Kind            `json:"errorKind,omitempty"`
	DurationMs float64         `json:"durationMs"`
	Details    json.RawMessage `json:"details,omitempty"`
}

// UsageEntry is one row of the usage: one real call of a real tool.
type UsageEntry struct {
	AuditEntry
	SchemaHash string `json:"schemaHash,omitempty"`
}

// Entry is the beginning of an audit entry: everything that is known of a
// request before it is carried out.
func (r Request) Entry(level, action string) AuditEntry {
	p := r.Principal
	return AuditEntry{Time: time.Now(), RequestID: r.ID, TenantID: p.TenantID, Level: level,
		Action: action, ActorID: p.UserID, Actor: p.UserName, Agent: p.Agent, Outcome: OutcomeOK}
}
