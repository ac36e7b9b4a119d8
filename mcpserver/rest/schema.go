package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/toolscout/toolscout/core"
)

// compiled is a route with the schemas that its input must meet. They are those
// of the published description, so that what is documented is what is enforced.
type compiled struct {
	route
	types       map[string]string // query parameter -> JSON type
	query, body *jsonschema.Schema
}

// schemas compiles the parts of one document.
type schemas struct {
	compiler *jsonschema.Compiler
}

const documentURL = "openapi.json"

// newSchemas opens a description for compilation.
func newSchemas(document []byte) (*schemas, error) {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	return &schemas{compiler: c}, c.AddResource(documentURL, parsed)
}

// compile prepares the input side of a route.
func (s *schemas) compile(rt route) (*compiled, error) {
	c := &compiled{route: rt, types: map[string]string{}}
	var err error
	if c.query, err = s.compileQuery(c); err != nil {
		return nil, fmt.Errorf("query of %s: %w", rt.id, err)
	}
	if rt.endpoint.body == nil {
		return c, nil
	}
	at := pointer([]string{"paths", rt.path, strings.ToLower(rt.method), "requestBody", "content", "application/json", "schema"})
	if c.body, err = s.compiler.Compile(documentURL + "#" + (&url.URL{Path: at}).EscapedPath()); err != nil {
		return nil, fmt.Errorf("body of %s: %w", rt.id, err)
	}
	return c, nil
}

// compileQuery makes one object schema of a route's query parameters.
func (s *schemas) compileQuery(c *compiled) (*jsonschema.Schema, error) {
	if c.endpoint.query == nil {
		return nil, nil
	}
	object := objectSchema(c.endpoint.query)
	for name, property := range object.Properties {
		c.types[name] = property.Type
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	at := "query/" + c.id
	if err := s.compiler.AddResource(at, parsed); err != nil {
		return nil, err
	}
	return s.compiler.Compile(at)
}

// bodyRequired: only a POST of a body whose fields are all optional goes without.
func (rt route) bodyRequired() bool {
	return rt.method != http.MethodPost || len(objectSchema(rt.endpoint.body).Required) > 0
}

// objectSchema describes a struct by itself.
func objectSchema(t reflect.Type) *huma.Schema {
	return huma.NewMapRegistry("#/$defs/", huma.DefaultSchemaNamer).Schema(t, false, "")
}

// undecodable marks an input that never reached its handler.
type undecodable struct{ error }

func (u undecodable) Unwrap() error { return u.error }

// decode reads what a request brings along.
func (c *compiled) decode(w http.ResponseWriter, r *http.Request, query, body any) error {
	if err := c.decodeQuery(r.URL.RawQuery, query); err != nil {
		return undecodable{err}
	}
	if err := c.decodeBody(w, r, body); err != nil {
		return undecodable{err}
	}
	return nil
}

// decodeQuery reads query parameters strictly: an unknown or repeated one is
// malformed, one of the wrong type or out of range is invalid.
func (c *compiled) decodeQuery(raw string, into any) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return refuse(http.StatusBadRequest, "the query is malformed").because(err)
	}
	object := map[string]any{}
	for name, given := range values {
		kind, known := c.types[name]
		if !known {
			return refuse(http.StatusBadRequest, "there is no query parameter %q here", clip(name)).
				at(clip(pointer([]string{name})), "unknown query parameter")
		}
		if len(given) > 1 {
			return refuse(http.StatusBadRequest, "the query parameter %q is given %d times", name, len(given)).
				at(pointer([]string{name}), "given more than once")
		}
		object[name] = typed(kind, given[0])
	}
	if c.query == nil {
		return nil
	}
	if err := invalid("the query", c.query.Validate(object)); err != nil {
		return err
	}
	return convert(object, into)
}

// typed reads a query value as its JSON type; one that cannot be read stays a
// string, for the schema to refuse.
func typed(kind, value string) any {
	switch kind {
	case "integer":
		if _, err := strconv.ParseInt(value, 10, 64); err == nil {
			return json.Number(value)
		}
	case "number":
		if _, err := strconv.ParseFloat(value, 64); err == nil && json.Valid([]byte(value)) {
			return json.Number(value)
		}
	case "boolean":
		if value == "true" || value == "false" {
			return value == "true"
		}
	}
	return value
}

// decodeBody reads the body strictly. A route without one takes nothing or {}.
func (c *compiled) decodeBody(w http.ResponseWriter, r *http.Request, into any) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	data, err := readBody(w, r)
	if err != nil {
		return err
	}
	if data == nil {
		if c.body != nil && c.bodyRequired() {
			return refuse(http.StatusBadRequest, "a JSON body is required")
		}
		return nil
	}
	value, err := parse(data)
	if err != nil {
		return err
	}
	if c.body == nil {
		return checkEmpty(value)
	}
	if err := invalid("the body", c.body.Validate(value)); err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return core.Errorf(core.InvalidParams, "the body holds a value that does not fit").Because(err)
	}
	return nil
}

func checkEmpty(value any) error {
	if object, ok := value.(map[string]any); ok && len(object) == 0 {
		return nil
	}
	return refuse(http.StatusBadRequest, "no body is expected here")
}

// convert fills a struct from decoded JSON that its schema has accepted.
func convert(object map[string]any, into any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return core.Errorf(core.InvalidParams, "the query holds a value that does not fit").Because(err)
	}
	return nil
}

// The bounds of what is said about an input.
const (
	maxFaults  = 20
	maxMessage = 300
)

// invalid turns a failed validation into a refusal that points at the faults.
// Unknown fields make an input malformed (400), everything else invalid (422).
func invalid(what string, err error) error {
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return err
	}
	var unknown, wrong []core.Fault
	collect(failed, message.NewPrinter(language.English), &unknown, &wrong)
	e := core.Errorf(core.InvalidParams, "%s is not valid", what)
	e.Faults = append(unknown, wrong...)
	slices.SortStableFunc(e.Faults, func(a, b core.Fault) int { return strings.Compare(a.Pointer, b.Pointer) })
	first, more := e.Faults[0], len(e.Faults)-1
	e.Message += ": " + strings.TrimPrefix(first.Pointer+": "+first.Message, ": ")
	if more > 0 {
		e.Message += fmt.Sprintf(" (and %d more)", more)
	}
	e.Faults = e.Faults[:min(len(e.Faults), maxFaults)]
	if len(unknown) > 0 {
		return &refusal{status: http.StatusBadRequest, reason: e}
	}
	return e
}

// collect gathers the leaves of a validation error.
func collect(e *jsonschema.ValidationError, p *message.Printer, unknown, wrong *[]core.Fault) {
	for _, cause := range e.Causes {
		collect(cause, p, unknown, wrong)
	}
	if len(e.Causes) > 0 {
		return
	}
	at := func(name string) string { return clip(pointer(append(slices.Clone(e.InstanceLocation), name))) }
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			*unknown = append(*unknown, core.Fault{Pointer: at(name), Message: "unknown field"})
		}
	case *kind.Required:
		for _, name := range k.Missing {
			*wrong = append(*wrong, core.Fault{Pointer: at(name), Message: "required"})
		}
	default:
		*wrong = append(*wrong, core.Fault{Pointer: clip(pointer(e.InstanceLocation)), Message: said(k, p)})
	}
}

// said is what is wrong with a value, in words.
func said(k jsonschema.ErrorKind, p *message.Printer) string {
	if pattern, ok := k.(*kind.Pattern); ok && pattern.Want == durationPattern {
		return "want a duration such as 30s"
	}
	return clip(k.LocalizedString(p))
}

// clip bounds what is repeated of somebody's input.
func clip(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "…"
}
