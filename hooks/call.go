package hooks

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/toolscout/toolscout/core"
)

// Level is which of the two nested chains a call goes through.
type Level string

// The levels.
const (
	// Meta is the outer chain: the call of a meta-tool, or of its twin over REST.
	Meta Level = "meta"
	// Tool is the inner chain: the call of a real tool with its real arguments.
	Tool Level = "tool"
	// Both is how a definition writes that it applies to either.
	Both Level = "both"
)

// Call is one call on its way in and out.
//
// Byte slices, and what Server and Tool point to, are shared and never modified
// in place: to edit, assign new bytes.
type Call struct {
	RequestID string
	Level     Level
	// Via says how the call came in: core.LevelMeta for MCP, core.LevelHTTP for
	// REST, core.LevelConfig for a change of configuration.
	Via string
	// Action is the meta-tool: "execute_tool" on the tool level.
	Action    string
	Principal core.Principal
	// Server and Tool are what the call is about. On the meta level they are nil
	// until the call has found them, and stay nil if the caller may not see them.
	Server *core.Server
	Tool   *core.Tool

	// Original are the arguments as they came in, Args as they stand.
	Original json.RawMessage
	Args     json.RawMessage

	// Result is the answer as it stands, nil before the call and after a failed
	// one: a CallToolResult on the tool level.
	Result json.RawMessage
	// Raw is the result as the work gave it, before any hook saw it.
	Raw json.RawMessage
	// Err is how the call failed.
	Err error
	// Duration is how long the work inside the chain took.
	Duration time.Duration
	// Sent reports that a real tool was called, or may have been.
	Sent bool
	// IsError reports that the tool itself said that it failed.
	IsError bool

	// Warnings are shown to the caller beside the result.
	Warnings []string
	// Meta is what the result's _meta gains, each name behind "toolscout/". SetMeta
	// adds to it.
	Meta map[string]any
	// Effects are what hooks did, in the order in which they did it.
	Effects []Effect

	observing bool
	notes     map[string]any
	values    map[any]any
	ends      []func(context.Context, *Call)
}

// Effect is what one hook did to a call at one event, or in observe mode would
// have done.
type Effect struct {
	Hook  string `json:"hook"`
	Event Event  `json:"event"`
	// Mode is "observe" where the hook changed nothing, else empty.
	Mode Mode `json:"mode,omitempty"`
	// Did is "edit", "answer", "reject", "fail" or, if all it left is notes, "note".
	Did     string `json:"did"`
	Message string `json:"message,omitempty"`
	// Kind is that of the rejection or failure.
	Kind core.Kind `json:"kind,omitempty"`
	// Notes are the hook's own, such as how many tokens it saved.
	Notes map[string]any `json:"notes,omitempty"`
}

// Note records something about what the running hook does, for the audit and for
// whoever asks what a chain did: {"tokensSaved": 120}. Values are numbers, strings
// and booleans, and no content of arguments or results.
func (c *Call) Note(key string, value any) {
	notes := maps.Clone(c.notes)
	if notes == nil {
		notes = map[string]any{}
	}
	notes[key] = value
	c.notes = notes
}

// Observing reports whether nothing that the running hook does counts. A hook whose
// work shows elsewhere, such as a message it sends, leaves it undone.
func (c *Call) Observing() bool { return c.observing }

// Value gives what was stored under key, or nil. Keys are compared as a
// context's are: a hook that uses its own pointer meets nobody.
func (c *Call) Value(key any) any { return c.values[key] }

// SetValue stores a value for the hooks that follow, among them the same hook's
// After.
func (c *Call) SetValue(key, value any) {
	if c.values == nil {
		c.values = map[any]any{}
	}
	c.values[key] = value
}

// Name is what patterns are matched with: the tool's exposed name, or the
// action's on the meta level.
func (c *Call) Name() string {
	if c.Level == Tool && c.Tool != nil {
		return c.Tool.Name
	}
	return c.Action
}

// Warn adds a warning for the caller.
func (c *Call) Warn(text string) { c.Warnings = append(c.Warnings, text) }

// SetMeta adds a member to Meta: for programs, what a warning is for people.
func (c *Call) SetMeta(name string, value any) {
	meta := maps.Clone(c.Meta)
	if meta == nil {
		meta = map[string]any{}
	}
	meta[name] = value
	c.Meta = meta
}

// copy is the call as one hook gets it: nothing it assigns shows in c.
func (c *Call) copy() *Call {
	d := *c
	d.Warnings = slices.Clip(c.Warnings)
	d.Effects = slices.Clip(c.Effects)
	d.ends = slices.Clip(c.ends)
	d.notes = nil
	d.values = maps.Clone(c.values)
	return &d
}

// A Hook acts before and after a call. One value serves many calls at once.
//
// Before may assign Args, or Result to answer in place of the tool. After may
// assign Result and Err. Either may store values and warn. They stop the call by
// returning a *Rejection; any other error says that the hook itself failed.
type Hook interface {
	Before(ctx context.Context, c *Call) error
	After(ctx context.Context, c *Call) error
}
