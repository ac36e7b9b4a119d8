package hookbook

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// Patch is an edit of a hook, or all of a new one: members of its JSON form. null
// puts one back to its type's default, what is left out stays. Lists and objects
// are replaced whole; a secret in config that is secret.Mask stays as it was.
type Patch map[string]json.RawMessage

// setting lays one member over a definition.
type setting func(d, fallback *hooks.Definition, raw json.RawMessage) error

// settings are the members that can be edited, but for config, which holds secrets.
var settings = map[string]setting{
	"name":     set(func(d *hooks.Definition) *string { return &d.Name }),
	"type":     set(func(d *hooks.Definition) *string { return &d.Type }),
	"userId":   set(func(d *hooks.Definition) *string { return &d.UserID }),
	"serverId": set(func(d *hooks.Definition) *string { return &d.ServerID }),
	"level":    set(func(d *hooks.Definition) *hooks.Level { return &d.Level }),
	"events":   set(func(d *hooks.Definition) *[]hooks.Event { return &d.Events }),
	"pattern":  set(func(d *hooks.Definition) *string { return &d.Pattern }),
	"servers":  set(func(d *hooks.Definition) *[]string { return &d.Servers }),
	"agents":   set(func(d *hooks.Definition) *[]string { return &d.Agents }),
	"mode":     set(func(d *hooks.Definition) *hooks.Mode { return &d.Mode }),
	"onError":  set(func(d *hooks.Definition) *hooks.OnError { return &d.OnError }),
	"priority": set(func(d *hooks.Definition) *int { return &d.Priority }),
	"enabled":  set(func(d *hooks.Definition) *bool { return &d.Enabled }),
	"timeout":  setTimeout,
	"config": func(d, fallback *hooks.Definition, raw json.RawMessage) error {
		d.Config = raw
		if isNull(raw) {
			d.Config = fallback.Config
		}
		return nil
	},
}

func set[T any](field func(*hooks.Definition) *T) setting {
	return func(d, fallback *hooks.Definition, raw json.RawMessage) error {
		if isNull(raw) {
			*field(d) = *field(fallback)
			return nil
		}
		var value T // a list is replaced, not written over
		err := json.Unmarshal(raw, &value)
		*field(d) = value
		return err
	}
}

func setTimeout(d, fallback *hooks.Definition, raw json.RawMessage) error {
	d.Timeout = fallback.Timeout
	if isNull(raw) {
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	timeout, err := time.ParseDuration(text)
	if err == nil {
		d.Timeout = timeout
	}
	return err
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

// apply lays a patch over a definition, in the order of its members' names.
// fallback has the type's defaults.
func (p Patch) apply(d, fallback hooks.Definition) (hooks.Definition, []core.Fault) {
	var faults []core.Fault
	for _, name := range p.members() {
		apply, known := settings[name]
		if !known {
			faults = append(faults, core.Fault{Pointer: "/" + name, Message: "unknown field"})
			continue
		}
		if err := apply(&d, &fallback, p[name]); err != nil {
			faults = append(faults, core.Fault{Pointer: "/" + name, Message: wanted(name)})
		}
	}
	return d, faults
}

func wanted(member string) string {
	if member == "timeout" {
		return "want a duration such as 30s"
	}
	return "has the wrong type"
}

func (p Patch) members() []string { return slices.Sorted(maps.Keys(p)) }

// kind is the type that a patch names, or what it was.
func (p Patch) kind(stored string) string {
	var name string
	if json.Unmarshal(p["type"], &name) != nil || name == "" {
		return stored
	}
	return name
}

// switchesOff reports whether all that a patch does is to switch the hook off:
// that must stay possible, whatever is wrong with the rest.
func (p Patch) switchesOff() bool {
	return len(p) == 1 && string(bytes.TrimSpace(p["enabled"])) == "false"
}
