package hookset

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// resolve gives a definition's configuration as its hook gets it: references
// replaced, and valid against the schema. The faults say where it is not, without
// telling what stood there. Secrets are in the clear.
func (s *Set) resolve(k *kind, d hooks.Definition) (json.RawMessage, []core.Fault) {
	value, err := decode(d.Config)
	if err != nil {
		return nil, []core.Fault{{Pointer: "/config", Message: "is not valid JSON"}}
	}
	r := replacer{lookup: s.config.Lookup}
	if !d.Owned {
		value = r.config(d, value)
	}
	if len(r.faults) > 0 {
		return nil, r.faults
	}
	if faults := k.check(value, "/config"); len(faults) > 0 {
		return nil, discreet(k, d.Config, &r, faults)
	}
	if len(r.replaced) == 0 {
		return d.Config, nil
	}
	resolved, err := core.EncodeJSON(value)
	if err != nil {
		return nil, []core.Fault{{Pointer: "/config", Message: "is not valid JSON"}}
	}
	return resolved, nil
}

// open unseals the secrets of a hook in the database.
func (s *Set) open(k *kind, d hooks.Definition) (hooks.Definition, []core.Fault) {
	var err error
	d.Config, err = k.Secrets(d.Config, func(_, value string) (string, error) { return s.config.Open(value) })
	if err != nil {
		return d, []core.Fault{{Pointer: "/config", Message: "holds a secret that does not open with this key"}}
	}
	return d, nil
}

// discreet replaces the words about values that nobody may read: secrets and what
// the environment held.
func discreet(k *kind, config json.RawMessage, r *replacer, faults []core.Fault) []core.Fault {
	hidden := r.replaced
	_, _ = k.Secrets(config, func(pointer, value string) (string, error) {
		hidden = append(hidden, "/config"+pointer)
		return value, nil
	})
	for i, f := range faults {
		for _, h := range hidden {
			if f.Pointer == h || strings.HasPrefix(f.Pointer, h+"/") {
				faults[i].Message = "is not a value that fits here"
			}
		}
	}
	return faults
}

// replacer replaces references in all strings of a value.
type replacer struct {
	lookup   func(string) (string, bool)
	replaced []string // pointers
	faults   []core.Fault
}

// config leaves alone what a script says: that is a program, not a setting.
func (r *replacer) config(d hooks.Definition, v any) any {
	members, ok := v.(map[string]any)
	if !ok || d.Type != scriptType {
		return r.value("/config", v)
	}
	for k := range members {
		if k != "source" {
			members[k] = r.value("/config"+pointer(k), members[k])
		}
	}
	return members
}

func (r *replacer) value(at string, v any) any {
	switch v := v.(type) {
	case string:
		return r.text(at, v)
	case []any:
		for i := range v {
			v[i] = r.value(at+pointer(strconv.Itoa(i)), v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = r.value(at+pointer(k), v[k])
		}
	}
	return v
}

func (r *replacer) text(at, text string) string {
	return core.ReplaceReferences(text, func(name string) string {
		value, ok := r.lookup(name)
		if !ok {
			r.faults = append(r.faults, core.Fault{Pointer: at, Message: "the environment variable " + name + " is not set"})
		}
		r.replaced = append(r.replaced, at)
		return value
	})
}
