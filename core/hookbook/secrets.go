package hookbook

import (
	"encoding/json"
	"fmt"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/secret"
	"github.com/toolscout/toolscout/hooks"
)

// secrets are those of a stored configuration by their pointers.
type secrets map[string]stored

// stored is a secret as it lies in the database, and as it is.
type stored struct{ sealed, plain string }

// kept reads the secrets of a stored hook. One that does not open is taken for
// what it looks like, and so is kept or replaced, but never read.
func (b *Book) kept(d hooks.Definition) secrets {
	out := secrets{}
	b.each(d, func(at, value string) string {
		plain, err := b.secrets.Open(value)
		if err != nil {
			plain = value
		}
		out[at] = stored{value, plain}
		return plain
	})
	return out
}

// opened gives a stored hook's configuration with its secrets in the clear.
func (b *Book) opened(d hooks.Definition) json.RawMessage {
	return b.each(d, func(_, value string) string {
		if plain, err := b.secrets.Open(value); err == nil {
			return plain
		}
		return value
	})
}

func (b *Book) each(d hooks.Definition, f func(at, value string) string) json.RawMessage {
	t, _ := b.set.Type(d.Type)
	config, err := t.Secrets(d.Config, func(at, value string) (string, error) { return f(at, value), nil })
	if err != nil {
		return d.Config // the type's schema was read when the set was made
	}
	return config
}

// unmask puts stored secrets back where masks stand. A mask that stands for
// nothing is a fault.
func (s secrets) unmask(t hooks.Type, config json.RawMessage) (json.RawMessage, []core.Fault) {
	var faults []core.Fault
	out, err := t.Secrets(config, func(at, value string) (string, error) {
		if value != secret.Mask {
			return value, nil
		}
		old, ok := s[at]
		if !ok {
			faults = append(faults, core.Fault{Pointer: "/config" + at, Message: secret.Mask + " keeps a value, and there is none to keep"})
		}
		return old.plain, nil
	})
	if err != nil {
		return config, []core.Fault{{Pointer: "/config", Message: "cannot be read"}}
	}
	return out, faults
}

// sealed gives a configuration as it is stored: with new secrets sealed, and old
// ones as they lie there already. Where a secret is found is none itself.
func (b *Book) sealed(t hooks.Type, config json.RawMessage, known secrets) (json.RawMessage, error) {
	out, err := t.Secrets(config, func(at, value string) (string, error) {
		if old, ok := known[at]; ok && old.plain == value {
			return old.sealed, nil
		}
		if value == "" || secret.IsReference(value) {
			return value, nil
		}
		return b.secrets.Seal(value), nil
	})
	if err != nil {
		return nil, fmt.Errorf("seal the secrets of a hook: %w", err)
	}
	return out, nil
}
