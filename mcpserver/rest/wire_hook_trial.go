package rest

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// The types here describe what core/hookset and core/gateway encode.

// EffectiveHooks is which hooks the calls of somebody go through.
type EffectiveHooks struct {
	User    Named           `json:"user" doc:"Whose calls."`
	Agent   string          `json:"agent,omitempty" doc:"The agent that makes them."`
	Tool    *NamedTool      `json:"tool,omitempty" doc:"The tool that is called."`
	Server  *Named          `json:"server,omitempty" doc:"Its server."`
	Outer   []EffectiveHook `json:"outer" doc:"The chain around a meta-tool, outermost first: that of execute_tool."`
	Inner   []EffectiveHook `json:"inner" doc:"The chain around the real call, outermost first; empty without a tool."`
	Skipped []EffectiveHook `json:"skipped" doc:"The hooks that are in neither, but for those of other users."`
}

// Named is something with its name.
type Named struct {
	ID   string `json:"id" doc:"Its id."`
	Name string `json:"name" doc:"Its name."`
}

// NamedTool is a tool with what it is to a user.
type NamedTool struct {
	Named
	Access string `json:"access" enum:"on,off,invisible" doc:"What it is to the user: only a call of one that is on goes further than access control."`
}

// EffectiveHook is a hook in a chain, or why it is in none.
type EffectiveHook struct {
	ID       string        `json:"id,omitempty" doc:"Its id; those that are always there have none."`
	Name     string        `json:"name" doc:"Its name."`
	Type     string        `json:"type" doc:"What kind of hook it is."`
	Scope    string        `json:"scope" enum:"global,server,user,user+server" doc:"Where it applies."`
	UserID   string        `json:"userId,omitempty" doc:"The user whose calls it is for; of one in the file also their name."`
	ServerID string        `json:"serverId,omitempty" doc:"The server whose calls it is for; of one in the file also its name."`
	Level    hooks.Level   `json:"level" enum:"meta,tool,both" doc:"The chain."`
	Events   []hooks.Event `json:"events" doc:"At which moments it acts."`
	Mode     hooks.Mode    `json:"mode" enum:"enforce,observe,background" doc:"How much of what it does counts."`
	OnError  hooks.OnError `json:"onError" enum:"fail,ignore,disable" doc:"What follows when it fails."`
	Priority int           `json:"priority" doc:"Its place within its scope."`
	Timeout  string        `json:"timeout" doc:"How long it may take." example:"5s"`
	Origin   HookOrigin    `json:"origin" doc:"Where it is configured; builtin for those that are always there."`
	State    HookState     `json:"state" doc:"Whether it works."`
	Why      string        `json:"why,omitempty" doc:"Why it does not apply." example:"pattern \"gh_*\" does not match \"echo\""`
}

// HookTrial is a hook to try on a recorded call.
type HookTrial struct {
	Type   string          `json:"type" doc:"What kind of hook it is." example:"param_sanitizer"`
	Config json.RawMessage `json:"config,omitempty" doc:"What its type wants to know."`
	Call   RecordedCall    `json:"call" doc:"The call."`
}

// TransformSchema says that a configuration is an object.
func (HookTrial) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return object(s, "config")
}

// RecordedCall is a call as it was, or might be.
type RecordedCall struct {
	Level   hooks.Level     `json:"level,omitempty" enum:"meta,tool" default:"tool" doc:"The chain."`
	Action  string          `json:"action,omitempty" default:"execute_tool" doc:"The meta-tool."`
	Tool    *RecordedTool   `json:"tool,omitempty" doc:"The tool."`
	Server  *RecordedServer `json:"server,omitempty" doc:"Its server."`
	User    string          `json:"user,omitempty" doc:"The name of the user who calls."`
	Roles   []string        `json:"roles,omitempty" doc:"Their roles."`
	Agent   string          `json:"agent,omitempty" doc:"Their agent."`
	Args    json.RawMessage `json:"args,omitempty" doc:"The arguments; {} when left out."`
	Result  json.RawMessage `json:"result,omitempty" doc:"What the call answers: a CallToolResult on the level tool."`
	IsError bool            `json:"isError,omitempty" doc:"The tool itself says that it failed."`
	Error   string          `json:"error,omitempty" doc:"How the call failed, in place of a result."`
}

// TransformSchema says what are objects.
func (RecordedCall) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return object(s, "args", "result")
}

// RecordedTool is the tool of a recorded call.
type RecordedTool struct {
	ID           string          `json:"id,omitempty" doc:"Its id."`
	Name         string          `json:"name" doc:"Its name." example:"gh_create_issue"`
	Description  string          `json:"description,omitempty" doc:"What it does."`
	Annotations  json.RawMessage `json:"annotations,omitempty" doc:"What the server says of its effects."`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty" doc:"The JSON Schema of its arguments."`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty" doc:"The JSON Schema of its structuredContent."`
}

// TransformSchema says what are objects.
func (RecordedTool) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return object(s, "annotations", "inputSchema", "outputSchema")
}

// RecordedServer is the server of a recorded call.
type RecordedServer struct {
	ID   string `json:"id,omitempty" doc:"Its id."`
	Name string `json:"name" doc:"Its name." example:"github"`
}

// HookTrialResult is what a hook made of a call.
type HookTrialResult struct {
	Before     TrialState     `json:"before" doc:"The call as it was recorded."`
	After      TrialState     `json:"after" doc:"The call as the hook left it."`
	Effects    []TrialEffect  `json:"effects" doc:"What the hook did, as the audit records it."`
	Warnings   []string       `json:"warnings" doc:"What the caller would be warned of."`
	Events     []TrialEvent   `json:"events,omitempty" doc:"What the hook would publish."`
	Rejected   *TrialRejected `json:"rejected,omitempty" doc:"How it stopped the call, if it did."`
	Failed     string         `json:"failed,omitempty" doc:"How it failed itself, if it did, with the cause, which callers are not told."`
	DurationMs float64        `json:"durationMs" doc:"How long it took, in milliseconds."`
}

// TrialState is a call as it stands.
type TrialState struct {
	Args   json.RawMessage `json:"args" doc:"The arguments."`
	Result json.RawMessage `json:"result,omitempty" doc:"The result."`
}

// TrialEffect is what a hook did at one event.
type TrialEffect struct {
	Hook    string                     `json:"hook" doc:"The hook."`
	Event   hooks.Event                `json:"event" doc:"The moment." example:"tool:after"`
	Mode    hooks.Mode                 `json:"mode,omitempty" doc:"observe where it changed nothing."`
	Did     string                     `json:"did" enum:"edit,answer,reject,fail,note" doc:"What it did."`
	Kind    core.Kind                  `json:"kind,omitempty" doc:"Of what kind a rejection or a failure is."`
	Message string                     `json:"message,omitempty" doc:"The reason of a rejection or a failure."`
	Notes   map[string]json.RawMessage `json:"notes,omitempty" doc:"Its own words, such as how much it saved."`
}

// TrialEvent is an event that a hook would publish.
type TrialEvent struct {
	Type    string          `json:"type" doc:"What kind of event."`
	Subject string          `json:"subject,omitempty" doc:"What it is about."`
	Data    json.RawMessage `json:"data,omitempty" doc:"What it tells."`
}

// TrialRejected is a hook's reason to stop a call.
type TrialRejected struct {
	Kind    core.Kind `json:"kind" doc:"The kind of the refusal."`
	Message string    `json:"message" doc:"What the caller would be told."`
}

// object says of raw members of a schema that they are objects.
func object(s *huma.Schema, names ...string) *huma.Schema {
	for _, name := range names {
		s.Properties[name].Type = huma.TypeObject
		s.Properties[name].AdditionalProperties = true
	}
	return s
}
