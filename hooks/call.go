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
	// Observations are what hooks in observe mode would have done.
	Observations []Observation

	values map[any]any
}

// Observation is what a hook in observe mode would have done.
type Observation struct {
	Hook  string `json:"hook"`
	Event Event  `json:"event"`
	// Would is "edit", "answer", "reject" or "fail".
	Would   string `json:"would"`
	Message string `json:"message,omitempty"`
}

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

// copy is the call as one hook gets it: nothing it assigns shows in c.
func (c *Call) copy() *Call {
	d := *c
	d.Warnings = slices.Clip(c.Warnings)
	d.Observations = slices.Clip(c.Observations)
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
