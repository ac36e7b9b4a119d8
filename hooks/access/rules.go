package access

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// Type makes the type access_control: further guards inside the one that is always
// there. They can only take away.
func Type() hooks.Type {
	return hooks.Type{
		Name: "access_control",
		Description: "Denies calls beyond what the access rule denies: by the tool's name, by the caller's roles, or of whatever is not " +
			"marked as only reading. It can only take away; what it denies is still found and described.",
		Events: []hooks.Event{hooks.MetaBefore, hooks.ToolBefore},
		Level:  hooks.Tool, OnError: hooks.Fail, Priority: 100, Inline: true,
		Schema: rulesSchema,
		New:    func(i hooks.Instance) (hooks.Hook, error) { return newRules(i.Config) },
	}
}

var rulesSchema = json.RawMessage(`{
	"type": "object",
	"additionalProperties": false,
	"properties": {
		"allow": {
			"description": "globs on the names of tools, or on server/tool; if there are any, all other tools are denied. On the level meta the names are those of the meta-tools",
			"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 1000, "default": []
		},
		"deny": {
			"description": "globs on the names of tools, or on server/tool, that are denied, also where allow names them",
			"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 1000, "default": []
		},
		"require_roles": {
			"description": "roles of which the caller must have all",
			"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 64, "default": []
		},
		"read_only": {
			"description": "true denies every tool whose annotations do not say readOnlyHint: true, or say destructiveHint: true. It is the server's own word",
			"type": "boolean", "default": false
		},
		"message": {"description": "what the caller is told instead of the reason", "type": "string", "maxLength": 500, "default": ""}
	}
}`)

// rules is a configured guard.
type rules struct {
	Allow        []string `json:"allow"`
	Deny         []string `json:"deny"`
	RequireRoles []string `json:"require_roles"`
	ReadOnly     bool     `json:"read_only"`
	Message      string   `json:"message"`
}

func newRules(config json.RawMessage) (*rules, error) {
	var r rules
	if err := json.Unmarshal(config, &r); err != nil {
		return nil, core.Errorf(core.InvalidParams, "the configuration cannot be read").Because(err)
	}
	return &r, nil
}

// Before rejects what the rules deny.
func (r *rules) Before(_ context.Context, c *hooks.Call) error {
	reason := r.reason(c)
	if reason == "" {
		return nil
	}
	return hooks.Reject(core.Denied, "%s", cmp.Or(r.Message, reason))
}

// After has nothing to do.
func (*rules) After(context.Context, *hooks.Call) error { return nil }

// reason says why a call is denied; "" lets it through.
func (r *rules) reason(c *hooks.Call) string {
	for _, role := range r.RequireRoles {
		if !c.Principal.Has(role) {
			return "this takes the role " + role
		}
	}
	switch {
	case names(r.Deny, c):
		return c.Name() + " is denied by a rule"
	case len(r.Allow) > 0 && !names(r.Allow, c):
		return c.Name() + " is not among the tools that are allowed"
	case r.ReadOnly && c.Tool != nil && !readsOnly(c.Tool.Annotations):
		return c.Name() + " may change something, and only tools that read are allowed"
	}
	return ""
}

// names reports whether a list of globs names what is called. A glob with a slash
// is held against server/tool too; tools may have slashes in their names.
func names(globs []string, c *hooks.Call) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		return hooks.Glob(glob, c.Name()) ||
			c.Level == hooks.Tool && c.Server != nil && strings.Contains(glob, "/") && hooks.Glob(glob, c.Server.Name+"/"+c.Name())
	})
}

// readsOnly reports whether a tool says of itself that it changes nothing. What is
// not said, or not exactly so, counts as no.
func readsOnly(annotations json.RawMessage) bool {
	var members map[string]json.RawMessage // not a struct: its fields match any case
	if json.Unmarshal(annotations, &members) != nil {
		return false
	}
	return string(members["readOnlyHint"]) == "true" && string(members["destructiveHint"]) != "true"
}
