package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
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
