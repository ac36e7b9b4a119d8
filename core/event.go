package core

import (
	"encoding/json"
	"time"
)

// Event is something that happened. Events of one database have a common order,
// which their numbers follow.
type Event struct {
	// ID is given when the event is stored, 0 before.
	ID   int64
	Time time.Time
	Type string
	// Subject is what it happened to: the name of a tool, a server or a hook.
	Subject  string
	TenantID string
	// UserID is whose event it is, and ServerID which server it is about. A user
	// sees the events that are theirs, and those that are nobody's about a server
	// they can see; an admin sees all.
	UserID   string
	ServerID string
	// Data is a JSON object.
	Data json.RawMessage
}

// The types of events. What a team's own hooks publish has types of its own.
const (
	EventMetaBefore     = "meta:before"
	EventMetaAfter      = "meta:after"
	EventToolBefore     = "tool:before"
	EventToolAfter      = "tool:after"
	EventToolRejected   = "tool:rejected"
	EventServerUp       = "server:connected"
	EventServerFailed   = "server:failed"
	EventToolsChanged   = "tools:changed"
	EventIndexProgress  = "index:progress"
	EventIndexCompleted = "index:completed"
	EventHookDisabled   = "hook:disabled"
	EventHookReloaded   = "hook:reloaded"
	EventConfigChanged  = "config:changed"
)
