// Package schema holds JSON against schemas from strangers: broken, remote and
// hostile ones included. A schema that cannot be used says so, and never takes long
// or panics.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/toolscout/toolscout/core"
)

// The bounds of schemas. Larger ones are not checked against: the call goes on
// with a warning.
const (
	maxSchemaBytes = 1 << 20
	maxSchemaDepth = 100
	maxFaults      = 20
	maxMessage     = 300
	maxEvaluations = 2_000_000
)

// Schema is a compiled schema, or the reason why there is none.
type Schema struct {
	compiled *jsonschema.Schema
	cost     *cost
	unusable string
}

// Unusable says why the schema cannot be used; "" when it can.
func (s *Schema) Unusable() string { return s.unusable }

// schemaURL is what schemas are called while they are compiled. Nothing is ever
// loaded from anywhere.
const schemaURL = "tool:///schema.json"

// Compile compiles in the dialect that $schema names, 2020-12 without one.
// It never fails: a schema in the wild may be broken, remote or hostile.
func Compile(raw json.RawMessage) (s *Schema) {
	defer func() {
		if v := recover(); v != nil {
			s = &Schema{unusable: fmt.Sprintf("it makes the compiler panic: %v", v)}
		}
	}()
	if len(raw) > maxSchemaBytes {
		return &Schema{unusable: fmt.Sprintf("it is larger than %d KB", maxSchemaBytes>>10)}
	}
	doc, faults := decodeSchema(raw)
	if len(faults) > 0 {
		return &Schema{unusable: strings.TrimPrefix(faults[0].Pointer+": "+faults[0].Message, ": ")}
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(lenientRegexp)
	if err := c.AddResource(schemaURL, doc); err != nil {
		return &Schema{unusable: clip(err.Error(), maxMessage)}
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return &Schema{unusable: clip(plainError(err), maxMessage)}
	}
	return &Schema{compiled: compiled, cost: newCost(compiled)}
}

// decodeSchema reads a schema with the bounds of arguments. Names that occur twice
// are let pass: nobody's decision depends on them.
func decodeSchema(raw json.RawMessage) (any, []core.Fault) {
	in, faults := DecodeObject(raw)
	var serious []core.Fault
	for _, f := range faults {
		if !strings.HasSuffix(f.Message, "occurs twice") {
			serious = append(serious, f)
		}
	}
	return in.value, serious
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("schemas are not loaded from other places")
}

// lenientRegexp compiles a pattern. One that Go's engine does not know, such as a
// look-ahead, matches everything: the rest of the schema still counts.
func lenientRegexp(pattern string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return anything(pattern), nil
	}
	return re, nil
}

type anything string

func (a anything) String() string        { return string(a) }
func (anything) MatchString(string) bool { return true }

// Check gives what is wrong with a value. unchecked says why it could not be
// checked: there are no faults then.
func (s *Schema) Check(in Instance) (faults []core.Fault, unchecked string) {
	if s.unusable != "" {
		return nil, "it cannot be used: " + s.unusable
	}
	if s.cost.of(in) > maxEvaluations {
		return nil, "it takes too long"
	}
	defer func() {
		if v := recover(); v != nil {
			faults, unchecked = nil, "it cannot be used"
		}
	}()
	err := s.compiled.Validate(in.value)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil, ""
	}
	return leaves(invalid), ""
}

var english = message.NewPrinter(language.English)

// leaves flattens the tree of what went wrong to its ends, each once.
func leaves(e *jsonschema.ValidationError) []core.Fault {
	var faults []core.Fault
	seen := map[core.Fault]bool{}
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(faults) >= maxFaults {
			return
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		for _, f := range describe(e) {
			if !seen[f] && len(faults) < maxFaults {
				seen[f] = true
				faults = append(faults, f)
			}
		}
	}
	walk(e)
	return faults
}

// describe puts one fault into words, at the member that it is about.
func describe(e *jsonschema.ValidationError) []core.Fault {
	at := func(member string, text string) core.Fault {
		tokens := e.InstanceLocation
		if member != "" {
			tokens = append(tokens[:len(tokens):len(tokens)], member)
		}
		return core.Fault{Pointer: pointer(tokens), Message: clip(text, maxMessage)}
	}
	var faults []core.Fault
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, m := range k.Missing {
			faults = append(faults, at(m, "is required"))
		}
	case *kind.AdditionalProperties:
		for _, p := range k.Properties {
			faults = append(faults, at(p, "is not a known parameter"))
		}
	case *kind.FalseSchema:
		faults = append(faults, at("", "is not allowed here"))
	default:
		faults = append(faults, at("", e.ErrorKind.LocalizedString(english)))
	}
	return faults
}

// plainError is an error of the compiler without the name we gave the schema.
func plainError(err error) string {
	text := strings.ReplaceAll(err.Error(), schemaURL, "")
	return strings.Join(strings.Fields(text), " ")
}

// clip shortens text to at most n bytes, at the end of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
