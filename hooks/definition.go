package hooks

import (
	"encoding/json"
	"time"
)

// Definition is a hook as somebody configured it, in the file, in the database or
// by a script that was found. A Type makes an Entry of it.
type Definition struct {
	// ID is the row's in the database; "file:NAME" or "script:NAME" elsewhere.
	ID       string
	TenantID string
	Name     string
	Type     string
	// Version counts the edits in the database; elsewhere it is a hash of the
	// content.
	Version int64

	// UserID and ServerID are the scope: an id or, outside the database, also a
	// name; empty means any.
	UserID   string
	ServerID string
	// Owned: the user in UserID made it, as opposed to an admin for them.
	Owned bool

	Level    Level // "" means both
	Events   []Event
	Pattern  string
	Servers  []string
	Agents   []string
	Mode     Mode
	OnError  OnError
	Priority int
	Timeout  time.Duration
	Enabled  bool
	// Config is a JSON object, valid against the type's schema.
	Config json.RawMessage

	Origin Origin
	// DisabledAt and DisabledReason tell that the hook was disabled by its own
	// failure; the next edit gives it another chance.
	DisabledAt     time.Time
	DisabledReason string
	// CreatedAt and UpdatedAt are set in the database only.
	CreatedAt, UpdatedAt time.Time
}

// Origin is where a hook was configured.
type Origin struct {
	// Kind is one of the kinds below.
	Kind OriginKind `json:"kind"`
	// Where names the place for people: "toolscout.toml:12", "hooks/redact.star".
	Where string `json:"where,omitempty"`
}

// OriginKind is one of the places where hooks are configured.
type OriginKind string

// The kinds of origin.
const (
	BuiltIn      OriginKind = "builtin"
	FromFile     OriginKind = "file"
	FromDatabase OriginKind = "database"
	FromScript   OriginKind = "script"
)

// Trusted reports whether whoever wrote the definition runs this server, and so may
// have it reach private addresses and read the environment.
func (o Origin) Trusted() bool { return o.Kind != FromDatabase }
