package hooks

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolscout/toolscout/core"
)

// Type is a kind of hook that can be configured. Each built-in hook's package
// makes one.
type Type struct {
	Name string
	// Description says in a sentence or two what it does.
	Description string
	// Scopes are where it may be configured; nil means everywhere.
	Scopes []Scope
	// Events are those that it can act on; nil means the four of the chains. What
	// else happens is handed to hooks that are a Handler.
	Events []Event
	// Paired hooks take something before a call that they give back after it: their
	// events cannot name the one without the other.
	Paired bool
	// What a definition has that does not say otherwise. Level "" is both; a zero
	// Mode, OnError or Timeout is the mechanism's own default.
	Level    Level
	Mode     Mode
	OnError  OnError
	Priority int
	Timeout  time.Duration
	// Inline is passed on to the entries.
	Inline bool
	// Settings gives what a source says of its own hook, for the one type whose hooks
	// can be files that were found: script. A source that does not compile is an
	// InvalidParams error that names the line.
	Settings func(name string, source []byte) (Settings, error)
	// Schema is the JSON Schema (2020-12) of the configuration: an object that
	// refuses unknown members, each with description and default. Members marked
	// "writeOnly" are secrets: sealed in the database and never shown.
	Schema json.RawMessage
	// New makes a hook. What the schema cannot say is refused with an
	// InvalidParams error whose Faults point into the configuration. A hook that
	// is also an io.Closer is closed once no call uses it any more.
	New func(Instance) (Hook, error)
}

// Instance is what a Type makes a hook of.
type Instance struct {
	// Key tells configured hooks apart and stays when one is edited: what outlives
	// an edit, such as a rate limit's buckets, goes by it.
	Key  string
	Name string
	// Config is valid against the schema. References like ${NAME} have been
	// replaced and secrets opened. Members that were left out are left out.
	Config json.RawMessage
	// Source is the content of the file that Config names, where it names one: what
	// was judged, whatever has become of the file since.
	Source []byte
	// TenantID and UserID are whose hook it is; UserID is empty for an admin's.
	TenantID string
	UserID   string
	// Trusted: whoever wrote it runs this server, so that private addresses may be
	// reached.
	Trusted bool
}

// Handler is a hook that also acts on events outside calls: those in its entry's
// Events that no chain knows, such as server:failed.
type Handler interface {
	Handle(ctx context.Context, e core.Event) error
}
