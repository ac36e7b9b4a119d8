package hookbook

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/core/secret"
	"github.com/toolscout/toolscout/hooks"
)

// Hook is a hook as answers show it, secrets masked.
type Hook struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Type     string          `json:"type"`
	Scope    string          `json:"scope"`
	UserID   string          `json:"userId,omitempty"`
	ServerID string          `json:"serverId,omitempty"`
	Owned    bool            `json:"owned"`
	Level    hooks.Level     `json:"level"`
	Events   []hooks.Event   `json:"events"`
	Pattern  string          `json:"pattern"`
	Servers  []string        `json:"servers"`
	Agents   []string        `json:"agents"`
	Mode     hooks.Mode      `json:"mode"`
	OnError  hooks.OnError   `json:"onError"`
	Priority int             `json:"priority"`
	Timeout  string          `json:"timeout"`
	Enabled  bool            `json:"enabled"`
	Config   json.RawMessage `json:"config"`
	Origin   hooks.Origin    `json:"origin"`
	Version  int64           `json:"version"`
	State    hookset.State   `json:"state"`
	// CreatedAt and UpdatedAt are nil outside the database.
	CreatedAt *time.Time `json:"createdAt,omitempty"`
	UpdatedAt *time.Time `json:"updatedAt,omitempty"`
}

// Type is a type of hooks as answers show it.
type Type struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Scopes      []string        `json:"scopes"`
	OpenToMe    bool            `json:"openToMe"`
	Defaults    Defaults        `json:"defaults"`
	Schema      json.RawMessage `json:"schema"`
}

// Defaults are what a hook of a type has that does not say otherwise.
type Defaults struct {
	Level    hooks.Level   `json:"level"`
	Events   []hooks.Event `json:"events"`
	Mode     hooks.Mode    `json:"mode"`
	OnError  hooks.OnError `json:"onError"`
	Priority int           `json:"priority"`
	Timeout  string        `json:"timeout"`
}

// show gives a definition as answers show it.
func (b *Book) show(d hooks.Definition) Hook {
	e := hooks.Entry{UserID: d.UserID, ServerID: d.ServerID}
	return Hook{ID: d.ID, Name: d.Name, Type: d.Type, Scope: e.Scope().String(), UserID: d.UserID, ServerID: d.ServerID,
		Owned: d.Owned, Level: level(d.Level), Events: list(d.Events), Pattern: d.Pattern, Servers: list(d.Servers), Agents: list(d.Agents),
		Mode: d.Mode, OnError: d.OnError, Priority: d.Priority, Timeout: duration(d.Timeout), Enabled: d.Enabled,
		Config: b.masked(d), Origin: d.Origin, Version: d.Version, State: b.set.State(d),
		CreatedAt: known(d.CreatedAt), UpdatedAt: known(d.UpdatedAt)}
}

func showType(t hooks.Type, open bool) Type {
	d := t.Definition()
	out := Type{Name: t.Name, Description: t.Description, OpenToMe: open, Schema: t.Schema, Scopes: []string{},
		Defaults: Defaults{Level: level(d.Level), Events: list(d.Events), Mode: d.Mode, OnError: d.OnError, Priority: d.Priority, Timeout: duration(d.Timeout)}}
	scopes := t.Scopes
	if len(scopes) == 0 {
		scopes = []hooks.Scope{hooks.Global, hooks.Server, hooks.User, hooks.UserServer}
	}
	for _, s := range scopes {
		out.Scopes = append(out.Scopes, s.String())
	}
	return out
}

// everything is a schema under which each text is a secret.
var everything = hooks.Type{Schema: json.RawMessage(`{"writeOnly":true}`)}

// masked gives a configuration without its secrets. Where one is found may be
// shown.
func (b *Book) masked(d hooks.Definition) json.RawMessage {
	t, known := b.set.Type(d.Type)
	if !known {
		t = everything // nobody can tell which texts are none
	}
	config, err := t.Secrets(d.Config, func(_, value string) (string, error) {
		if value == "" || secret.IsReference(value) {
			return value, nil
		}
		return secret.Mask, nil
	})
	if err != nil || len(config) == 0 {
		return json.RawMessage(`{}`)
	}
	return config
}

func level(l hooks.Level) hooks.Level {
	if l == "" {
		return hooks.Both
	}
	return l
}

func list[T any](values []T) []T {
	if values == nil {
		return []T{}
	}
	return values
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// duration writes a duration without trailing zero units: 1m, not 1m0s.
func duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
