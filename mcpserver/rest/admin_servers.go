package rest

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/admin"
)

// serverQuery filters the registry.
type serverQuery struct {
	Query  string      `json:"query,omitempty" doc:"Looked for in names and descriptions."`
	Status core.Status `json:"status,omitempty" enum:"active,inactive" doc:"Only these."`
	Page
}

// wait lets a request wait for what it started.
type wait struct {
	Wait string `json:"wait,omitempty" pattern:"^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$" doc:"Wait this long at most for the tools to be listed and indexed; without it the answer comes at once." example:"30s"`
}

// maxWait bounds how long a request may wait.
const maxWait = 10 * time.Minute

func (w wait) duration() (time.Duration, error) {
	d, err := parseDuration("/wait", w.Wait)
	return min(d, maxWait), err
}

func (a *api) adminServers(ctx context.Context, c call[serverQuery, none]) (List[Server], error) {
	servers, err := a.admin.Servers(ctx, c.Request, admin.ServerFilter{Query: c.query.Query, Status: c.query.Status}, c.query.page())
	if err != nil {
		return List[Server]{}, err
	}
	on, err := a.admin.Enabled(ctx, c.Request)
	return listOf(servers, func(s core.Server) Server { return a.serverOf(s, on(s)) }), err
}

func (a *api) adminServer(ctx context.Context, c call[none, none]) (Server, error) {
	s, err := a.admin.Server(ctx, c.Request, c.path("id"))
	return a.shown(ctx, c.Request, s, err)
}

func (a *api) createServer(ctx context.Context, c call[wait, ServerInput]) (Server, error) {
	in, err := c.body.server()
	if err != nil {
		return Server{}, err
	}
	d, err := c.query.duration()
	if err != nil {
		return Server{}, err
	}
	s, err := a.admin.CreateServer(ctx, c.Request, in, d)
	c.header.Set("Location", "/v1/admin/servers/"+url.PathEscape(s.ID))
	return a.shown(ctx, c.Request, s, err)
}

func (a *api) updateServer(ctx context.Context, c call[wait, Patch[ServerInput]]) (Server, error) {
	patch, err := serverPatch(c.body)
	if err != nil {
		return Server{}, err
	}
	d, err := c.query.duration()
	if err != nil {
		return Server{}, err
	}
	s, err := a.admin.UpdateServer(ctx, c.Request, c.path("id"), patch, d)
	return a.shown(ctx, c.Request, s, err)
}

func (a *api) deleteServer(ctx context.Context, c call[none, none]) (none, error) {
	return none{}, a.admin.DeleteServer(ctx, c.Request, c.path("id"))
}

func (a *api) refreshServer(ctx context.Context, c call[wait, none]) (Server, error) {
	d, err := c.query.duration()
	if err != nil {
		return Server{}, err
	}
	s, err := a.admin.RefreshServer(ctx, c.Request, c.path("id"), d)
	return a.shown(ctx, c.Request, s, err)
}

func (a *api) testServer(ctx context.Context, c call[none, ServerTrial]) (TestResult, error) {
	in, err := ServerInput(c.body).server()
	if err != nil {
		return TestResult{}, err
	}
	result, err := a.admin.TestServer(ctx, c.Request, in)
	return TestResult(result), err
}

// shown gives a server with the admin's own switch.
func (a *api) shown(ctx context.Context, req core.Request, s core.Server, err error) (Server, error) {
	if err != nil {
		return Server{}, err
	}
	on, err := a.admin.Enabled(ctx, req)
	if err != nil {
		return Server{}, err
	}
	return a.serverOf(s, on(s)), nil
}

func (a *api) serverOf(s core.Server, enabled bool) Server {
	s.Timeout = cmp.Or(s.Timeout, a.timeout)
	return ServerOf(s, enabled)
}
