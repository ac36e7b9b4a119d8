package rest

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/mcpserver/door"
)

// describe writes the OpenAPI 3.1 document of the route table. huma makes the
// schemas; its router is not used: it answers unknown fields with 422, lets
// duplicate keys pass, names faults by paths that are not JSON pointers, and has
// its error type in a variable of the whole process.
func describe(routes []route, version string) ([]byte, error) {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	doc := &huma.OpenAPI{OpenAPI: "3.1.0",
		Info: &huma.Info{Title: "Toolscout", Version: version, Description: introduction,
			License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}},
		Servers: []*huma.Server{{URL: "/"}},
		Tags:    tags,
		Components: &huma.Components{Schemas: registry, Responses: problemResponses(registry),
			SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer",
				Description: "An API token: ts_ and 43 characters. Admins make them."}}},
		Security: []map[string][]string{{"token": {}}},
	}
	closed := map[string]bool{} // the types that are sent to us
	for _, rt := range routes {
		doc.AddOperation(rt.operation(registry))
		if rt.endpoint.body != nil {
			closeWhole(registry, huma.DefaultSchemaNamer(rt.endpoint.body, ""), closed)
		}
	}
	for name, schema := range registry.Map() {
		arraysAreNotNull(schema)
		if !closed[name] {
			schema.AdditionalProperties = nil // an answer may gain fields
		}
	}
	return json.Marshal(doc)
}

// closeWhole marks a schema that is sent to us, and those of its parts.
func closeWhole(registry huma.Registry, name string, closed map[string]bool) {
	schema := registry.Map()[name]
	if schema == nil || closed[name] {
		return
	}
	closed[name] = true
	for _, part := range schema.Properties {
		for ; part.Items != nil; part = part.Items {
		}
		if part.Ref != "" {
			closeWhole(registry, path.Base(part.Ref), closed)
		}
	}
}

const introduction = "What the gateway does for a caller and for an admin, over plain HTTP. " +
	"Every answer that is not a success is an RFC 9457 problem document with a `kind` that programs can rely on. " +
	"Bodies are read strictly: malformed JSON, duplicate keys and unknown fields are 400, values that do not fit 422 with a pointer to each. " +
	"Lists come in parts: send `nextCursor` back as `cursor`."

var tags = []*huma.Tag{
	{Name: "servers", Description: "The servers that the caller may use, and the caller's own switch for each."},
	{Name: "tools", Description: "Finding and running tools, without MCP."},
	{Name: "hooks", Description: "What happens before and after the caller's own calls."},
	{Name: "events", Description: "What happens, as it happens."},
	{Name: "admin: servers", Description: "The registry of MCP servers."},
	{Name: "admin: users", Description: "Users, their tokens, and switching servers for them."},
	{Name: "admin: hooks", Description: "What happens before and after every call: hooks in all scopes."},
	{Name: "admin: index", Description: "Domains, embedding models and the search index."},
	{Name: "admin: audit", Description: "What happened."},
}

// arraysAreNotNull corrects huma, which takes every slice for nullable. Ours are
// written as [] when they are empty.
func arraysAreNotNull(s *huma.Schema) {
	for _, property := range s.Properties {
		if property.Type == huma.TypeArray {
			property.Nullable = false
		}
	}
}

// problemName is the name of the response component for a status.
func problemName(status int) string {
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}

// problemMeanings says what each status of a problem means here.
var problemMeanings = map[int]string{
	400: "The request is malformed: not JSON, a duplicate key, an unknown field or query parameter.",
	401: "No valid token (kind unauthenticated).",
	403: "Not allowed (kind denied or hook_rejected), or a foreign Origin or Host.",
	404: "There is no such thing for the caller (kind not_found).",
	409: "It contradicts what is there (kind conflict), or a name is ambiguous: candidates lists the ids.",
	413: "The body is larger than 4 MiB.",
	415: "The body is not JSON.",
	422: "Values do not fit (kind invalid_params): errors points at each.",
	429: "Too many calls (kind rate_limited); Retry-After says when to try again.",
	500: "Something went wrong here (kind internal); the log has the requestId.",
	502: "The MCP server failed (kind upstream_error).",
	503: "Not possible at the moment (kind unavailable).",
	504: "It took too long and may have run (kind timeout).",
}

func problemResponses(registry huma.Registry) map[string]*huma.Response {
	schema := registry.Schema(reflect.TypeFor[Problem](), true, "")
	out := map[string]*huma.Response{}
	for status, meaning := range problemMeanings {
		r := &huma.Response{Description: meaning,
			Content: map[string]*huma.MediaType{"application/problem+json": {Schema: schema}}}
		if status == http.StatusUnauthorized {
			r.Headers = map[string]*huma.Header{"WWW-Authenticate": {Description: "Where the metadata of this resource is (RFC 9728).", Schema: &huma.Schema{Type: huma.TypeString}}}
		}
		out[problemName(status)] = r
	}
	return out
}

// operation describes one route.
func (rt route) operation(registry huma.Registry) *huma.Operation {
	op := &huma.Operation{Method: rt.method, Path: rt.path, OperationID: rt.id, Summary: rt.summary,
		Description: rt.about, Tags: []string{rt.tag}, Parameters: rt.parameters(),
		Responses: map[string]*huma.Response{strconv.Itoa(rt.status): rt.success(registry)}}
	for _, status := range rt.problemStatuses() {
		op.Responses[strconv.Itoa(status)] = &huma.Response{Ref: "#/components/responses/" + problemName(status)}
	}
	if rt.endpoint.body != nil {
		op.RequestBody = &huma.RequestBody{Required: rt.bodyRequired(),
			Content: map[string]*huma.MediaType{"application/json": {Schema: registry.Schema(rt.endpoint.body, true, "")}}}
	}
	return op
}

// success describes the answer.
func (rt route) success(registry huma.Registry) *huma.Response {
	r := &huma.Response{Description: http.StatusText(rt.status)}
	if rt.returns != nil {
		r.Content = map[string]*huma.MediaType{cmp.Or(rt.media, "application/json"): {Schema: registry.Schema(rt.returns, true, "")}}
	} else if rt.endpoint.answer != nil {
		r.Content = map[string]*huma.MediaType{"application/json": {Schema: registry.Schema(rt.endpoint.answer, true, "")}}
	}
	if rt.status == http.StatusCreated {
		r.Headers = map[string]*huma.Header{"Location": {Description: "Where it is from now on.", Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	return r
}

// problemStatuses are the statuses of the problems that a route may answer: what
// follows from its shape, and what its line adds.
func (rt route) problemStatuses() []int {
	all := map[int]bool{400: true, 401: true, 403: true, 500: true, 503: true}
	if strings.Contains(rt.path, "{") {
		all[404] = true
	}
	if rt.endpoint.body != nil {
		all[413], all[415], all[422] = true, true, true
	}
	if rt.endpoint.query != nil {
		all[422] = true
	}
	for _, kind := range rt.problems {
		all[door.Status(kind)] = true
	}
	return slices.Sorted(maps.Keys(all))
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// parameters describes those of the path, then those of the query in the order
// of their struct.
func (rt route) parameters() []*huma.Param {
	var out []*huma.Param
	for _, m := range pathParameter.FindAllStringSubmatch(rt.path, -1) {
		out = append(out, &huma.Param{Name: m[1], In: "path", Required: true, Description: pathMeanings[m[1]],
			Schema: &huma.Schema{Type: huma.TypeString}})
	}
	if rt.endpoint.query == nil {
		return out
	}
	object := objectSchema(rt.endpoint.query)
	for _, f := range reflect.VisibleFields(rt.endpoint.query) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		property := object.Properties[name]
		if f.Anonymous || property == nil {
			continue
		}
		out = append(out, &huma.Param{Name: name, In: "query", Description: property.Description,
			Required: slices.Contains(object.Required, name), Schema: property})
	}
	return out
}

var pathMeanings = map[string]string{
	"id":       "The id: a uuid, but for hooks that are not in the database.",
	"domain":   "The id of the domain: a slug such as code.",
	"serverId": "The id of the server (uuid).",
	"tokenId":  "The id of the token (uuid).",
	"idOrName": "The id of the tool, or its name where no other tool that the caller sees has the same.",
}

// kinds of problems that a route adds to those that follow from its shape.
var (
	conflicts = []core.Kind{core.Conflict}
	runs      = []core.Kind{core.Conflict, core.RateLimited, core.Timeout, core.UpstreamError, core.HookRejected}
	explains  = []core.Kind{core.NotFound, core.Conflict}
	limits    = []core.Kind{core.RateLimited}
	finds     = []core.Kind{core.RateLimited, core.Timeout}
	absent    = []core.Kind{core.NotFound}
)
