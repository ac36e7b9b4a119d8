package hookset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	schemakind "github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// kind is a type with its schema compiled.
type kind struct {
	hooks.Type
	schema *jsonschema.Schema
}

// schemaURL is what a schema is called while it is compiled; nothing is loaded.
const schemaURL = "hook:///schema.json"

func newKind(t hooks.Type) (*kind, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(t.Schema))
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("add the schema: %w", err)
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("compile the schema: %w", err)
	}
	return &kind{Type: t, schema: compiled}, nil
}

// check holds a configuration against the schema. Pointers start with at.
func (k *kind) check(config any, at string) []core.Fault {
	var invalid *jsonschema.ValidationError
	if !errors.As(k.schema.Validate(config), &invalid) {
		return nil
	}
	return leaves(invalid, at, nil)
}

// leaves flattens the tree of what is wrong to its ends.
func leaves(e *jsonschema.ValidationError, at string, faults []core.Fault) []core.Fault {
	for _, cause := range e.Causes {
		faults = leaves(cause, at, faults)
	}
	if len(e.Causes) > 0 {
		return faults
	}
	for _, f := range describe(e) {
		f.Pointer = at + f.Pointer
		faults = append(faults, f)
	}
	return faults
}

var english = message.NewPrinter(language.English)

// describe puts one fault into words, at the member that it is about.
func describe(e *jsonschema.ValidationError) []core.Fault {
	here := pointer(e.InstanceLocation...)
	var faults []core.Fault
	switch k := e.ErrorKind.(type) {
	case *schemakind.Required:
		for _, m := range k.Missing {
			faults = append(faults, core.Fault{Pointer: here + pointer(m), Message: "is required"})
		}
	case *schemakind.AdditionalProperties:
		for _, m := range k.Properties {
			faults = append(faults, core.Fault{Pointer: here + pointer(m), Message: "is not a setting of this type"})
		}
	default:
		faults = append(faults, core.Fault{Pointer: here, Message: e.ErrorKind.LocalizedString(english)})
	}
	return faults
}

// pointer writes an RFC 6901 JSON pointer.
func pointer(tokens ...string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// decode reads a configuration; numbers stay as they are written.
func decode(config json.RawMessage) (any, error) {
	return jsonschema.UnmarshalJSON(bytes.NewReader(config))
}
