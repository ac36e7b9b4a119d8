package rest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/toolscout/toolscout/core"
)

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
	data, err := readBody(w, r, cmp.Or(c.maxBody, maxBody))
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
