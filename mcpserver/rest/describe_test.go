package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/mcpserver/door"
	"github.com/toolscout/toolscout/mcpserver/rest"
)

// nobody is an API that knows no token: enough to read its description.
func nobody(t testing.TB) (http.Handler, http.Handler) {
	t.Helper()
	d, err := door.New(door.Config{Authenticate: func(context.Context, [32]byte) (core.Principal, error) {
		return core.Principal{}, core.Errorf(core.Unauthenticated, "no such token")
	}})
	if err != nil {
		t.Fatal(err)
	}
	api := rest.New(rest.Config{Door: d, Version: "test"})
	return api, d.Guard(api)
}

// ask sends a request without a body and a token.
func ask(t testing.TB, h http.Handler, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, nil))
	return w
}

// description reads /openapi.json.
func description(t testing.TB) document {
	t.Helper()
	_, h := nobody(t)
	w := ask(t, h, "GET", "/openapi.json")
	if w.Code != http.StatusOK {
		t.Fatalf("GET /openapi.json: %d %s", w.Code, w.Body)
	}
	var doc document
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// routes lists what the router serves, as "METHOD path".
func routes(t testing.TB, h http.Handler) []string {
	t.Helper()
	var out []string
	err := chi.Walk(h.(chi.Routes), func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		out = append(out, method+" "+path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// open are the routes that need no token, and are not described themselves.
var open = []string{"GET /docs", "GET /openapi.json"}

func TestDescriptionIsComplete(t *testing.T) {
	t.Parallel()
	api, _ := nobody(t)
	want := slices.DeleteFunc(routes(t, api), func(r string) bool { return slices.Contains(open, r) })
	var got, ids []string
	doc := description(t)
	for path, item := range doc.Paths {
		for method, op := range item {
			got = append(got, strings.ToUpper(method)+" "+path)
			ids = append(ids, op.OperationID)
			checkOperation(t, doc, path, op)
		}
	}
	slices.Sort(got)
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("described and served routes differ (-described +served)\n%s", d)
	}
	slices.Sort(ids)
	if unique := slices.Compact(slices.Clone(ids)); len(unique) != len(ids) {
		t.Errorf("operation ids are not unique: %v", ids)
	}
}

// checkOperation holds what every operation must say.
func checkOperation(t *testing.T, doc document, path string, op operation) {
	t.Helper()
	if op.Summary == "" || len(op.Tags) != 1 || op.OperationID == "" {
		t.Errorf("%s: operation %q has no summary, tag or id", path, op.OperationID)
	}
	for _, p := range op.Parameters {
		if p.Description == "" {
			t.Errorf("%s: parameter %s has no description", op.OperationID, p.Name)
		}
		if p.In == "path" && !strings.Contains(path, "{"+p.Name+"}") {
			t.Errorf("%s: %s is not in the path", op.OperationID, p.Name)
		}
	}
	for status, r := range op.Responses {
		if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok && doc.Components.Responses[name].Description == "" {
			t.Errorf("%s: response %s is described nowhere", op.OperationID, status)
		}
	}
}

// TestFieldsAreDescribed holds that every field of every type says what it is.
func TestFieldsAreDescribed(t *testing.T) {
	t.Parallel()
	for name, s := range description(t).Components.Schemas {
		for field, p := range s.Properties {
			if p.Description == "" && name != "Fault" {
				t.Errorf("%s.%s has no description", name, field)
			}
		}
	}
}

// TestSchemasCompile holds that each schema is valid JSON Schema and resolves.
func TestSchemasCompile(t *testing.T) {
	t.Parallel()
	_, h := nobody(t)
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(ask(t, h, "GET", "/openapi.json").Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openapi.json", parsed); err != nil {
		t.Fatal(err)
	}
	for name := range description(t).Components.Schemas {
		if _, err := c.Compile("openapi.json#/components/schemas/" + name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEveryRouteNeedsAToken holds rule 1 of the design for this transport.
func TestEveryRouteNeedsAToken(t *testing.T) {
	t.Parallel()
	api, h := nobody(t)
	for _, r := range routes(t, api) {
		method, path, _ := strings.Cut(r, " ")
		want := http.StatusUnauthorized
		if slices.Contains(open, r) {
			want = http.StatusOK
		}
		w := ask(t, h, method, path)
		if w.Code != want {
			t.Errorf("%s without a token: got %d, want %d", r, w.Code, want)
		}
		if want == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", r)
		}
	}
}

// TestDocsLoadsNothingElse holds that the page works without a network and that
// its policy names its own script.
func TestDocsLoadsNothingElse(t *testing.T) {
	t.Parallel()
	_, h := nobody(t)
	w := ask(t, h, "GET", "/docs")
	policy := w.Header().Get("Content-Security-Policy")
	if strings.Count(policy, "'sha256-") != 2 || !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("got policy %q", policy)
	}
	for _, foreign := range []string{"http://", "https://", "src=", "@import", "url("} {
		if strings.Contains(w.Body.String(), foreign) {
			t.Errorf("the page holds %q", foreign)
		}
	}
}
