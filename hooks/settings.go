package hooks

import (
	"cmp"
	"encoding/json"
	"time"
)

// Settings are what somebody says of a hook beside its type's own configuration, in
// the file or in a script. What is nil, they do not say: the type's default holds.
// In TOML the keys are those of the tags.
type Settings struct {
	Type     *string  `json:"type" help:"what kind of hook it is" default:"the name"`
	Enabled  *bool    `json:"enabled" help:"false leaves it out" default:"true"`
	User     *string  `json:"user" help:"only for this user, by name or id" default:"every user"`
	Server   *string  `json:"server" help:"only for this server, by name or id" default:"every server"`
	Level    *Level   `json:"level" help:"the chain: meta (around the meta-tools), tool (around the real call) or both" default:"the type's"`
	Events   []Event  `json:"events" help:"at which moments: meta:before, meta:after, tool:before, tool:after; for webhook and script also what happens outside calls" default:"the type's"`
	Pattern  *string  `json:"pattern" help:"glob on the name of the tool, on the level meta of the meta-tool" default:"*"`
	Servers  []string `json:"servers" help:"only for these servers, by name or id" default:"[]"`
	Agents   []string `json:"agents" help:"only for these agents" default:"[]"`
	Mode     *Mode    `json:"mode" help:"enforce, observe (a dry run: what it would do is recorded) or background (after the answer)" default:"enforce"`
	OnError  *OnError `json:"on_error" help:"when it fails: fail (the call too), ignore (go on without it, with a warning) or disable (and do not use it again)" default:"the type's"`
	Priority *int     `json:"priority" help:"lower runs earlier before the call and later after it" default:"the type's"`
	Timeout  *string  `json:"timeout" help:"how long it may take before the call, and after it" default:"the type's"`
}

// Definition is a definition with all the defaults of a type.
func (t Type) Definition() Definition {
	return Definition{Name: t.Name, Type: t.Name, Level: t.Level, Events: t.Events, Pattern: "*",
		Mode: cmp.Or(t.Mode, Enforce), OnError: cmp.Or(t.OnError, Fail), Priority: t.Priority,
		Timeout: cmp.Or(t.Timeout, DefaultTimeout), Enabled: true, Config: json.RawMessage(`{}`)}
}

// Apply lays settings over a definition. It does not judge them; only a timeout
// that is no duration is an error.
func (s Settings) Apply(d *Definition) error {
	set(&d.Type, s.Type)
	set(&d.Enabled, s.Enabled)
	set(&d.UserID, s.User)
	set(&d.ServerID, s.Server)
	if s.Level != nil {
		d.Level = *s.Level
		if d.Level == Both {
			d.Level = ""
		}
	}
	if s.Events != nil {
		d.Events = s.Events
	}
	set(&d.Pattern, s.Pattern)
	if s.Servers != nil {
		d.Servers = s.Servers
	}
	if s.Agents != nil {
		d.Agents = s.Agents
	}
	set(&d.Mode, s.Mode)
	set(&d.OnError, s.OnError)
	set(&d.Priority, s.Priority)
	if s.Timeout == nil {
		return nil
	}
	var err error
	d.Timeout, err = time.ParseDuration(*s.Timeout)
	return err
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}
