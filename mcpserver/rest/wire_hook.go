package rest

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolscout/toolscout/core/hookbook"
	"github.com/toolscout/toolscout/hooks"
)

// Hook is a configured hook.
type Hook struct {
	ID        string          `json:"id" doc:"Its id: a uuid in the database, elsewhere file:NAME or script:NAME."`
	Name      string          `json:"name" doc:"Its name, unique within its scope." example:"small-answers"`
	Type      string          `json:"type" doc:"What kind of hook it is." example:"response_truncation"`
	Scope     string          `json:"scope" enum:"global,server,user,user+server" doc:"Where it applies, from userId and serverId."`
	UserID    string          `json:"userId,omitempty" doc:"The user whose calls it applies to; everybody's when missing. The file may say a name."`
	ServerID  string          `json:"serverId,omitempty" doc:"The server whose calls it applies to; every server's when missing. The file may say a name."`
	Owned     bool            `json:"owned" doc:"Its user made it for themselves, and may change it; otherwise an admin did."`
	Level     hooks.Level     `json:"level" enum:"meta,tool,both" doc:"The chain: meta around the meta-tools, tool around the real call."`
	Events    []hooks.Event   `json:"events" doc:"At which moments it acts; empty means all that its type knows."`
	Pattern   string          `json:"pattern" doc:"Glob on the name of the tool, on the level meta of the meta-tool." example:"gh_*"`
	Servers   []string        `json:"servers" doc:"Only calls of these servers, by id or name; empty means all."`
	Agents    []string        `json:"agents" doc:"Only calls of these agents; empty means all."`
	Mode      hooks.Mode      `json:"mode" enum:"enforce,observe,background" doc:"observe is a dry run: what it would do is recorded; background runs it after the answer."`
	OnError   hooks.OnError   `json:"onError" enum:"fail,ignore,disable" doc:"What follows when it fails: fail the call, go on without it, or do so and not use it again."`
	Priority  int             `json:"priority" doc:"Within a scope, lower runs earlier before the call and later after it."`
	Timeout   string          `json:"timeout" doc:"How long it may take before the call, and after it." example:"5s"`
	Enabled   bool            `json:"enabled" doc:"Whether it is switched on."`
	Config    json.RawMessage `json:"config" doc:"What its type wants to know. Secrets are shown as ***, references such as ${NAME} as they are."`
	Origin    HookOrigin      `json:"origin" doc:"Where it is configured. Only hooks of the database can be changed here."`
	Version   int64           `json:"version" doc:"Counts its edits; outside the database it is a hash of the content."`
	State     HookState       `json:"state" doc:"Whether it works."`
	CreatedAt *time.Time      `json:"createdAt,omitempty" doc:"When it was made; in the database only."`
	UpdatedAt *time.Time      `json:"updatedAt,omitempty" doc:"When it was last edited; in the database only."`
}

// HookOrigin is where a hook is configured.
type HookOrigin struct {
	Kind  hooks.OriginKind `json:"kind" enum:"builtin,file,database,script" doc:"What kind of place."`
	Where string           `json:"where,omitempty" doc:"The place itself." example:"toolscout.toml:12"`
}

// HookState is whether a hook works, and if not, why.
type HookState struct {
	State  string     `json:"state" enum:"active,disabled,broken" doc:"disabled: by its own failure, until it is edited; broken: it cannot be used as it is configured, and fails."`
	Reason string     `json:"reason,omitempty" doc:"Why it does not work."`
	Since  *time.Time `json:"since,omitempty" doc:"Since when."`
}

func hookOf(h hookbook.Hook) Hook {
	return Hook{ID: h.ID, Name: h.Name, Type: h.Type, Scope: h.Scope, UserID: h.UserID, ServerID: h.ServerID, Owned: h.Owned,
		Level: h.Level, Events: h.Events, Pattern: h.Pattern, Servers: h.Servers, Agents: h.Agents, Mode: h.Mode, OnError: h.OnError,
		Priority: h.Priority, Timeout: h.Timeout, Enabled: h.Enabled, Config: h.Config, Origin: HookOrigin(h.Origin),
		Version: h.Version, State: HookState(h.State), CreatedAt: h.CreatedAt, UpdatedAt: h.UpdatedAt}
}

// HookInput is what can be set of a hook. What is left out, or null in a PATCH, has
// the default of its type.
type HookInput struct {
	Name     string          `json:"name" doc:"Its name, unique within its scope." example:"small-answers"`
	Type     string          `json:"type" doc:"What kind of hook it is: GET /v1/hooks/types lists them." example:"response_truncation"`
	UserID   string          `json:"userId,omitempty" doc:"Only calls of this user. One's own hooks are for oneself."`
	ServerID string          `json:"serverId,omitempty" doc:"Only calls of this server."`
	Level    hooks.Level     `json:"level,omitempty" enum:"meta,tool,both" doc:"The chain: meta around the meta-tools, tool around the real call."`
	Events   []hooks.Event   `json:"events,omitempty" doc:"At which moments it acts: meta:before, meta:after, tool:before, tool:after and, for types that act on them, what happens outside calls, such as server:failed." example:"[\"tool:after\"]"`
	Pattern  string          `json:"pattern,omitempty" doc:"Glob (* and ?) on the name of the tool, on the level meta of the meta-tool." example:"gh_*"`
	Servers  []string        `json:"servers,omitempty" doc:"Only calls of these servers, by id or name."`
	Agents   []string        `json:"agents,omitempty" doc:"Only calls of these agents."`
	Mode     hooks.Mode      `json:"mode,omitempty" enum:"enforce,observe,background" doc:"observe is a dry run: what it would do is recorded; background runs it after the answer."`
	OnError  hooks.OnError   `json:"onError,omitempty" enum:"fail,ignore,disable" doc:"What follows when it fails: fail the call, go on without it, or do so and not use it again."`
	Priority int             `json:"priority,omitempty" doc:"Within a scope, lower runs earlier before the call and later after it."`
	Timeout  string          `json:"timeout,omitempty" pattern:"^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$" doc:"How long it may take before the call, and after it." example:"5s"`
	Enabled  bool            `json:"enabled,omitempty" default:"true" doc:"Whether it is switched on."`
	Config   json.RawMessage `json:"config,omitempty" doc:"What its type wants to know, by the schema of the type. ${NAME} is read from the environment of Toolscout, but not for one's own hooks. Secrets are stored encrypted; *** keeps the one that is stored."`
}

// TransformSchema says that a configuration is an object.
func (HookInput) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return object(s, "config")
}

// NewHook is a HookInput by its members, so that what is left out can be told from
// what is empty.
type NewHook map[string]json.RawMessage

// Schema describes a HookInput.
func (NewHook) Schema(r huma.Registry) *huma.Schema {
	s := *r.Schema(reflect.TypeFor[HookInput](), false, "")
	s.Description = "What is left out has the default of its type."
	return &s
}

// HookType is a type of hooks.
type HookType struct {
	Name        string          `json:"name" doc:"Its name: the type of a hook." example:"rate_limit"`
	Description string          `json:"description" doc:"What it does."`
	Scopes      []string        `json:"scopes" doc:"Where it may be configured: global, server, user, user+server."`
	OpenToMe    bool            `json:"openToMe" doc:"Whether the caller may have hooks of this type of their own."`
	Defaults    HookDefaults    `json:"defaults" doc:"What a hook of this type has that does not say otherwise."`
	Schema      json.RawMessage `json:"schema" doc:"The JSON Schema of config."`
}

// HookDefaults are what a hook of a type has that does not say otherwise.
type HookDefaults struct {
	Level    hooks.Level   `json:"level" enum:"meta,tool,both" doc:"The chain."`
	Events   []hooks.Event `json:"events" doc:"At which moments it acts; empty means all that its type knows."`
	Mode     hooks.Mode    `json:"mode" enum:"enforce,observe,background" doc:"How much of what it does counts."`
	OnError  hooks.OnError `json:"onError" enum:"fail,ignore,disable" doc:"What follows when it fails."`
	Priority int           `json:"priority" doc:"Its place within a scope."`
	Timeout  string        `json:"timeout" doc:"How long it may take." example:"5s"`
}
