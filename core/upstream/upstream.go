// Package upstream keeps the live sessions with the registered servers. It is
// the only user of the MCP SDK's client.
//
// The SDK makes the handshake, in whichever generation of the protocol a server
// speaks. Calls and lists then go past the SDK's typed layer, because that would
// round large integers, drop unknown fields and fail on content it does not
// know: what a caller sends and what a server answers pass through as bytes.
package upstream

import (
	"encoding/json"
	"log/slog"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/egress"
)

// Config is what a Pool needs. Zero durations and bounds take their defaults.
type Config struct {
	// Version of this program, told to servers.
	Version string
	Logger  *slog.Logger
	// Getenv resolves ${NAME} in a server's env, headers, url, command and args.
	Getenv func(name string) (string, bool)
	// Open, if set, opens sealed values of env and headers.
	Open func(value string) (string, error)
	// Trusted dials for servers declared in the configuration file, Guarded for
	// all others.
	Trusted, Guarded *egress.Guard

	// FileCommandsOnly refuses the commands of servers that the file does not
	// declare, also of those registered when that was allowed.
	FileCommandsOnly bool
	// MaxChildren bounds the child processes (64).
	MaxChildren int
	// IdleTimeout is how long an unused session lives (15 minutes).
	IdleTimeout time.Duration
	// DialTimeout bounds one connect with handshake (60 s for stdio, else 15 s).
	DialTimeout time.Duration
	// CallTimeout bounds a call where neither caller nor server says (30 s).
	CallTimeout time.Duration
	// Backoff is the pause after a first failed dial (1 s); it doubles up to a minute.
	Backoff time.Duration
	// MaxResponse bounds one message from a server, in bytes (16 MiB).
	MaxResponse int64
	// PerServer bounds the concurrent calls to one server (32).
	PerServer int

	// OnHealth, OnEra and OnToolsChanged are told what was observed. They are
	// called one at a time from a goroutine of their own, with the newest
	// observation when several have come together.
	OnHealth       func(serverID string, h core.Health)
	OnEra          func(serverID, era string)
	OnToolsChanged func(serverID string)
}

// The generations of the protocol, as core.Server.Era names them.
const (
	eraModern = "modern"
	eraLegacy = "legacy"
)

// Key names a live session. Sessions are never shared across keys.
type Key struct {
	ServerID string
	// Credential identifies the resolved configuration: whoever resolves to
	// other credentials has another session.
	Credential string
	// Isolation adds the user or the downstream session, where the server asks for it.
	Isolation string
}

// Caller is what isolation needs to know of who calls.
type Caller struct {
	UserID    string
	SessionID string
}

// Call is one use of a tool.
type Call struct {
	Server *core.Server
	Caller Caller
	// Tool is the original name.
	Tool string
	// Args is a JSON object, sent as it is; empty means {}.
	Args json.RawMessage
	// InputSchema, if known, tells which arguments are mirrored in headers
	// (x-mcp-header, protocol 2026-07-28).
	InputSchema json.RawMessage
	// Progress, if set, is called for each progress notification, one at a time
	// and never after Call has returned.
	Progress func(Progress)
}

// Progress is how far a call has come, in the server's own number literals.
type Progress struct {
	Progress json.Number `json:"progress"`
	Total    json.Number `json:"total,omitempty"` // "" when unknown
	Message  string      `json:"message,omitempty"`
}

// Result is a server's answer to a call.
type Result struct {
	// Raw is the CallToolResult, byte for byte.
	Raw json.RawMessage
	// Sent reports whether the call may have reached the server; it also holds
	// when there is an error.
	Sent     bool
	Duration time.Duration
}

// Listing is what a server offers.
type Listing struct {
	Server ServerInfo
	// Tools, Resources and Prompts are the definitions as the server sent them.
	Tools, Resources, Prompts []json.RawMessage
	// Warnings tell what could not be listed, or was cut.
	Warnings []string
}

// ServerInfo is what a server says about itself.
type ServerInfo struct {
	Name         string
	Version      string
	Protocol     string
	Era          string
	Instructions string
}

// TestResult is how a trial of a configuration went.
type TestResult struct {
	OK bool `json:"ok"`
	// Stage is where it failed: config, start, connect, initialize or list.
	Stage     string `json:"stage,omitempty"`
	Message   string `json:"message,omitempty"`
	Name      string `json:"name,omitempty"`
	Version   string `json:"version,omitempty"`
	Protocol  string `json:"protocol,omitempty"`
	ToolCount int    `json:"toolCount"`
}
