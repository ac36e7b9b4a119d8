// Package rest serves the HTTP API: what a caller can do without MCP, what an
// admin can do, and its own description.
//
// One table (routes.go) says all there is to a route: its types, its problems,
// who may use it. The OpenAPI document is made of that table, and inputs are
// validated against the schemas of that document, so that what is documented is
// what is enforced. Handlers decode, ask core/gateway or core/admin, and encode.
package rest

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/admin"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/mcpserver/door"
)

// Config is what the API is made of.
type Config struct {
	Gateway *gateway.Gateway
	Admin   *admin.Admin
	Door    *door.Door
	// Version of this program, told in the description.
	Version string
	// Timeout is how long a call may take where its server says nothing (30 s):
	// what such a server's timeout is shown as.
	Timeout time.Duration
}

// api serves the routes.
type api struct {
	gateway  *gateway.Gateway
	admin    *admin.Admin
	door     *door.Door
	timeout  time.Duration
	document []byte
}

// New makes the handler of /v1/, /openapi.json and /docs. It expects to stand
// behind Door.Guard, and asks the Door itself who calls. A route table that
// cannot be described is a mistake of ours, and panics.
func New(config Config) http.Handler {
	a := &api{gateway: config.Gateway, admin: config.Admin, door: config.Door, timeout: cmp.Or(config.Timeout, 30*time.Second)}
	routes := a.routes()
	var err error
	if a.document, err = describe(routes, config.Version); err != nil {
		panic(fmt.Errorf("describe the API: %w", err))
	}
	parts, err := newSchemas(a.document)
	if err != nil {
		panic(fmt.Errorf("read the description of the API: %w", err))
	}
	mux := chi.NewRouter()
	mux.Use(middleware.GetHead)
	mux.NotFound(a.notFound)
	mux.MethodNotAllowed(a.methodNotAllowed(mux))
	mux.Get("/openapi.json", a.openapi)
	mux.Get("/docs", docs())
	mux.Group(func(r chi.Router) {
		r.Use(config.Door.Authenticated)
		for _, rt := range routes {
			compiled, err := parts.compile(rt)
			if err != nil {
				panic(fmt.Errorf("compile the API: %w", err))
			}
			r.Method(rt.method, rt.path, a.handler(compiled))
		}
	})
	return mux
}

// handler serves one route.
func (a *api) handler(rt *compiled) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if err := a.serve(rt, w, r); err != nil {
			writeProblem(w, r, err)
		}
	})
}

// serve runs a route. What fails in core/gateway or core/admin is recorded there;
// what fails before it gets so far is handed to them to be recorded.
func (a *api) serve(rt *compiled, w http.ResponseWriter, r *http.Request) error {
	req := door.Request(r.Context())
	if rt.admin && !req.Principal.Admin() {
		return a.admin.Refuse(r.Context(), req, rt.action, core.Errorf(core.Denied, "this needs the role admin"))
	}
	err := rt.endpoint.serve(rt, w, r)
	var early undecodable
	if !errors.As(err, &early) {
		return err
	}
	if !rt.admin {
		return a.gateway.Refuse(r.Context(), req, gateway.Call{Action: rt.action, Via: core.LevelHTTP}, err)
	}
	if r.Method == http.MethodGet {
		return err
	}
	return a.admin.Refuse(r.Context(), req, rt.action, err)
}

func (a *api) notFound(w http.ResponseWriter, r *http.Request) {
	writeProblem(w, r, refuse(http.StatusNotFound, "there is nothing at this path").
		withHint("see /docs for what there is"))
}

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// methodNotAllowed names the methods that a path does know, which chi's own
// answer does and a custom one is not told. The router in front of this one, if
// any, leaves that to us for its paths too.
func (a *api) methodNotAllowed(mux chi.Routes) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		path := cmp.Or(r.URL.RawPath, r.URL.Path)
		front := chi.RouteContext(r.Context()).Routes
		var allowed []string
		for _, m := range methods {
			own := m
			if m == http.MethodHead {
				own = http.MethodGet
			}
			if mux.Match(chi.NewRouteContext(), own, path) || front.Match(chi.NewRouteContext(), m, path) {
				allowed = append(allowed, m)
			}
		}
		if len(allowed) == 0 {
			a.notFound(w, r)
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		door.Refuse(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s is not possible here, but %s", r.Method, strings.Join(allowed, ", ")))
	}
}

// openapi serves the description.
func (a *api) openapi(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(a.document) // the client may have gone
}
