package rest

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolscout/toolscout/core"
)

// Patch is a change of some fields of a T: those that are given are set, null
// puts one back to its default, the others stay. Fields are replaced whole.
type Patch[T any] map[string]json.RawMessage

// Schema describes the change: every field of T, none required, and null allowed
// for those that have a default.
func (Patch[T]) Schema(r huma.Registry) *huma.Schema {
	whole := r.Schema(reflect.TypeFor[T](), false, "")
	part := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{}, AdditionalProperties: false,
		Description: "What is to change. Fields that are left out stay, null puts one back to its default."}
	for name, property := range whole.Properties {
		if slices.Contains(whole.Required, name) {
			part.Properties[name] = property
			continue
		}
		part.Properties[name] = nullable(*property)
	}
	return part
}

func nullable(s huma.Schema) *huma.Schema {
	s.Nullable = true
	if len(s.Enum) > 0 {
		s.Enum = append(slices.Clone(s.Enum), nil)
	}
	return &s
}

// values gives the fields that are set, in a T that is otherwise zero.
func (p Patch[T]) values() (T, error) {
	var given T
	fields := maps.Clone(map[string]json.RawMessage(p))
	maps.DeleteFunc(fields, func(_ string, value json.RawMessage) bool {
		return bytes.Equal(value, []byte("null"))
	})
	text, err := json.Marshal(fields)
	if err != nil {
		return given, err
	}
	if err := json.Unmarshal(text, &given); err != nil {
		return given, core.Errorf(core.InvalidParams, "the body holds a value that does not fit").Because(err)
	}
	return given, nil
}

// field is value if the patch names it, else nil: nothing to change.
func field[P ~map[string]json.RawMessage, V any](p P, name string, value V) *V {
	if _, ok := p[name]; !ok {
		return nil
	}
	return &value
}
