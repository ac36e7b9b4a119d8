package rest

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"reflect"

	"github.com/go-chi/chi/v5"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/mcpserver/door"
)

// route is one line of the route table.
type route struct {
	method, path string
	id           string // operationId
	tag          string
	summary      string
	about        string
	// action is what the audit calls it: an action of the gateway or, with admin,
	// of core/admin.
	action string
	// admin routes are refused to everybody else before anything of the request
	// is read.
	admin    bool
	status   int          // of a success
	problems []core.Kind  // beyond those that follow from the rest of the line
	returns  reflect.Type // describes an answer that is passed on as raw bytes
	media    string       // of the answer; JSON unless said
	maxBody  int64        // in bytes; as anywhere unless said
	endpoint endpoint
}

// endpoint is a handler whose types are known to the description. A nil type
// means that there is none.
type endpoint struct {
	query, body, answer reflect.Type
	serve               func(rt *compiled, w http.ResponseWriter, r *http.Request) error
}

// none stands for no query parameters, no body or no answer.
type none struct{}

// call is one request, decoded.
type call[Q, B any] struct {
	core.Request
	query  Q
	body   B
	path   func(name string) string
	header http.Header // of the answer
}

// handle makes an endpoint of a typed handler. An answer of json.RawMessage is
// written byte for byte.
func handle[Q, B, A any](f func(ctx context.Context, c call[Q, B]) (A, error)) endpoint {
	serve := func(rt *compiled, w http.ResponseWriter, r *http.Request) error {
		c := call[Q, B]{Request: door.Request(r.Context()), path: pathValue(r), header: http.Header{}}
		if err := rt.decode(w, r, &c.query, &c.body); err != nil {
			return err
		}
		answer, err := f(r.Context(), c)
		if err != nil {
			return err
		}
		maps.Copy(w.Header(), c.header)
		writeAnswer(w, rt.status, answer)
		return nil
	}
	return endpoint{query: typeOf[Q](), body: typeOf[B](), answer: typeOf[A](), serve: serve}
}

func typeOf[T any]() reflect.Type {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[none]() {
		return nil
	}
	return t
}

// pathValue reads path parameters. chi matches the escaped path where there is
// one, so that a tool's name may hold a slash.
func pathValue(r *http.Request) func(string) string {
	return func(name string) string {
		value := chi.URLParam(r, name)
		if r.URL.RawPath == "" {
			return value
		}
		if plain, err := url.PathUnescape(value); err == nil {
			return plain
		}
		return value
	}
}

func writeAnswer(w http.ResponseWriter, status int, answer any) {
	switch answer := answer.(type) {
	case none:
		w.WriteHeader(status)
	case json.RawMessage:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(answer) // the client may have gone
	default:
		writeJSON(w, status, "application/json", answer)
	}
}

// writeJSON answers with a value as JSON. Values come from our own types, which
// always encode.
func writeJSON(w http.ResponseWriter, status int, contentType string, value any) {
	body, err := core.EncodeJSON(value)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may have gone
}
