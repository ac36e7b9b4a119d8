package core

import "time"

// Transport is how a server is reached.
type Transport string

// The transports.
const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http"
	SSE   Transport = "sse"
)

// Visibility says who sees a server before anybody has switched anything.
type Visibility string

// The visibilities.
const (
	// Visible servers are on for everyone until they switch them off.
	Visible Visibility = "visible"
	// Hidden servers are invisible until an admin switches them on for a user.
	Hidden Visibility = "hidden"
	// Owned servers belong to one user.
	Owned Visibility = "user"
)

// Isolation says who may share a live session with a server.
type Isolation string

// The isolations.
const (
	Shared     Isolation = "shared"
	PerUser    Isolation = "user"
	PerSession Isolation = "session"
)

// Status is the admin's intent for a server.
type Status string

// The statuses.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
)

// Origin says where a server's configuration comes from.
type Origin string

// The origins.
const (
	// FromAPI servers are edited through the API.
	FromAPI Origin = "api"
	// FromFile servers are declared in the configuration file and trusted.
	FromFile Origin = "file"
)

// Server is a registered MCP server.
type Server struct {
	ID            string
	TenantID      string
	Name          string
	Description   string
	Domain        string // id (slug) of its domain
	Transport     Transport
	URL           string
	Command       string
	Args          []string
	Env           map[string]string // values may hold ${NAME} references
	Headers       map[string]string // values may hold ${NAME} references
	Prefix        string
	AllowedTools  []string // original names; empty means all
	BlockedTools  []string // original names
	RequiredRoles []string // any of them suffices; empty means everyone
	// AgentAllowlist names the agents that may use the server; empty means all.
	AgentAllowlist []string
	Tags           []string
	Visibility     Visibility
	OwnerID        string // with visibility user
	Isolation      Isolation
	Timeout        time.Duration // of one call; 0 means the default
	Status         Status
	Origin         Origin
	// Era is the protocol generation the server was last seen to speak:
	// "", "modern" (2026-07-28) or "legacy" (2025-11-25 and older).
	Era       string
	ToolCount int
	Health    Health
	CreatedAt time.Time
	UpdatedAt time.Time
	// Version counts the edits of the configuration: live sessions made under
	// another version are not used again.
	Version int64
}

// HealthState is what was last observed of a server.
type HealthState string

// The states of health.
const (
	Connecting    HealthState = "connecting"
	Healthy       HealthState = "healthy"
	Unstable      HealthState = "unstable"
	Down          HealthState = "unavailable"
	Misconfigured HealthState = "misconfigured"
	Stopped       HealthState = "stopped"
)

// Health is what was last observed of a server, and when.
type Health struct {
	State HealthState `json:"state"`
	// Stage is where the last failure happened: "config", "start", "connect",
	// "initialize", "list", "call" or "".
	Stage    string     `json:"stage,omitempty"`
	Message  string     `json:"message,omitempty"`
	Since    time.Time  `json:"since"`
	LastSeen *time.Time `json:"lastSeen,omitempty"`
}
