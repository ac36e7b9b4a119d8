package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// Secrets rewrites with f each text of a configuration that the type's schema
// marks "writeOnly", or that lies in something so marked; f is told where it
// stands, as a JSON pointer. A configuration in which nothing changes is given back
// as it is, and so is one that is not JSON.
func (t Type) Secrets(config json.RawMessage, f func(pointer, value string) (string, error)) (json.RawMessage, error) {
	if !bytes.Contains(t.Schema, []byte(`"writeOnly"`)) {
		return config, nil
	}
	var root map[string]any
	if err := json.Unmarshal(t.Schema, &root); err != nil {
		return nil, fmt.Errorf("schema of %q: %w", t.Name, err)
	}
	dec := json.NewDecoder(bytes.NewReader(config))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return config, nil
	}
	w := secretWalk{root: root, f: f}
	value, err := w.value(value, w.expand(root, nil), false, "")
	if err != nil || !w.changed {
		return config, err
	}
	return core.EncodeJSON(value)
}

// secretWalk goes through a configuration beside its schema.
type secretWalk struct {
	root    map[string]any
	f       func(pointer, value string) (string, error)
	changed bool
}

// value rewrites a value of which all these schemas hold.
func (w *secretWalk) value(v any, schemas []map[string]any, secret bool, at string) (any, error) {
	secret = secret || slices.ContainsFunc(schemas, func(s map[string]any) bool { return s["writeOnly"] == true })
	switch v := v.(type) {
	case string:
		if !secret {
			return v, nil
		}
		out, err := w.f(at, v)
		w.changed = w.changed || out != v
		return out, err
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			var err error
			if v[name], err = w.value(v[name], w.member(schemas, name), secret, at+"/"+escape.Replace(name)); err != nil {
				return nil, err
			}
		}
	case []any:
		items := w.all(schemas, "items")
		for i := range v {
			var err error
			if v[i], err = w.value(v[i], items, secret, fmt.Sprintf("%s/%d", at, i)); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// escape makes a name fit for a JSON pointer (RFC 6901, section 3).
var escape = strings.NewReplacer("~", "~0", "/", "~1")

// member gives the schemas of an object's member.
func (w *secretWalk) member(schemas []map[string]any, name string) []map[string]any {
	var out []map[string]any
	for _, s := range schemas {
		properties, _ := s["properties"].(map[string]any)
		if p, named := properties[name]; named {
			out = w.expand(p, out)
			continue
		}
		out = w.expand(s["additionalProperties"], out)
	}
	return out
}

func (w *secretWalk) all(schemas []map[string]any, keyword string) []map[string]any {
	var out []map[string]any
	for _, s := range schemas {
		out = w.expand(s[keyword], out)
	}
	return out
}

// expand adds a schema with all that it refers to and is put together of. Whatever
// may hold of a value counts: a text too many is sealed rather than one too few.
func (w *secretWalk) expand(schema any, out []map[string]any) []map[string]any {
	const most = 1000 // schemas that refer to each other never end
	s, ok := schema.(map[string]any)
	if !ok || len(out) >= most {
		return out
	}
	out = append(out, s)
	if ref, ok := s["$ref"].(string); ok {
		name, _ := strings.CutPrefix(ref, "#/$defs/")
		definitions, _ := w.root["$defs"].(map[string]any)
		out = w.expand(definitions[name], out)
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := s[keyword].([]any)
		for _, p := range parts {
			out = w.expand(p, out)
		}
	}
	return out
}
