package rest

import (
	"reflect"

	"github.com/toolscout/toolscout/core/gateway"
)

// routes is the whole API. GET also answers HEAD.
func (a *api) routes() []route {
	return append(a.callerRoutes(), a.adminRoutes()...)
}

// callerRoutes are open to everybody who has a token.
func (a *api) callerRoutes() []route {
	return []route{
		{method: "GET", path: "/v1/servers", id: "listServers", action: gateway.ListServers, tag: "servers", status: 200, endpoint: handle(a.servers), returns: reflect.TypeFor[List[VisibleServer]](),
			summary: "List the servers I may use", about: "Those that are switched off stay in the list, with enabled false. How they are reached is for admins alone."},
		{method: "GET", path: "/v1/servers/{id}/tools", id: "listServerTools", action: gateway.ServerTools, tag: "servers", status: 200, endpoint: handle(a.serverTools), returns: reflect.TypeFor[FoundTools](),
			summary: "List the tools of a server"},
		{method: "PUT", path: "/v1/servers/{id}/preference", id: "switchServer", action: gateway.SetPreference, tag: "servers", status: 200, endpoint: handle(a.setPreference), returns: reflect.TypeFor[VisibleServer](),
			summary: "Switch a server on or off for myself", about: "It takes effect at the very next call."},

		{method: "GET", path: "/v1/tools", id: "findTools", action: gateway.ListTools, tag: "tools", status: 200, problems: finds, endpoint: handle(a.findTools), returns: reflect.TypeFor[FoundTools](),
			summary: "Find tools, or list them", about: "With query the tools that fit best, the best first; without it all tools that are on, by name."},
		{method: "GET", path: "/v1/tools/{idOrName}", id: "getTool", action: gateway.GetToolSchema, tag: "tools", status: 200, problems: conflicts, endpoint: handle(a.tool), returns: reflect.TypeFor[Tool](),
			summary: "Read a tool with its schema"},
		{method: "POST", path: "/v1/tools/{idOrName}", id: "runTool", action: gateway.ExecuteTool, tag: "tools", status: 200, problems: runs, endpoint: handle(a.runTool), returns: reflect.TypeFor[CallToolResult](),
			summary: "Run a tool", about: "Answers 200 with the tool's own result, also when that says isError. What the gateway refuses is a problem document; arguments that do not fit are 422 with errors and inputSchema."},
		{method: "GET", path: "/v1/results/{id}", id: "readResult", action: gateway.ReadResult, tag: "tools", status: 200, endpoint: handle(a.result), returns: reflect.TypeFor[ResultPage](),
			summary: "Read on in a result that was shortened", about: "Piece by piece, for a while, and only for who ran the tool: the same user with the same agent, as long as they may use the server."},
	}
}

// adminRoutes need the role admin.
func (a *api) adminRoutes() []route {
	const (
		servers = "admin: servers"
		users   = "admin: users"
		index   = "admin: index"
		audit   = "admin: audit"
	)
	routes := []route{
		{method: "GET", path: "/v1/admin/servers", id: "listRegisteredServers", action: "server.list", tag: servers, status: 200, endpoint: handle(a.adminServers),
			summary: "List every server"},
		{method: "POST", path: "/v1/admin/servers", id: "registerServer", action: "server.create", tag: servers, status: 201, problems: conflicts, endpoint: handle(a.createServer),
			summary: "Register a server", about: "Answers at once; the server is then connected, listed and indexed in the background. ?wait=30s waits for the end of that: how it went is in health."},
		{method: "POST", path: "/v1/admin/servers/test", id: "testServer", action: "server.test", tag: servers, status: 200, endpoint: handle(a.testServer),
			summary: "Try a configuration without saving it", about: "Says what was found, or what failed and at which stage."},
		{method: "GET", path: "/v1/admin/servers/{id}", id: "getServer", action: "server.get", tag: servers, status: 200, endpoint: handle(a.adminServer),
			summary: "Read a server"},
		{method: "PATCH", path: "/v1/admin/servers/{id}", id: "updateServer", action: "server.update", tag: servers, status: 200, problems: conflicts, endpoint: handle(a.updateServer),
			summary: "Change a server", about: "Lists and objects are replaced whole. One that is declared in the configuration file cannot be changed here (409)."},
		{method: "DELETE", path: "/v1/admin/servers/{id}", id: "deleteServer", action: "server.delete", tag: servers, status: 204, problems: conflicts, endpoint: handle(a.deleteServer),
			summary: "Remove a server with its tools"},
		{method: "POST", path: "/v1/admin/servers/{id}/refresh", id: "refreshServer", action: "server.refresh", tag: servers, status: 200, problems: conflicts, endpoint: handle(a.refreshServer),
			summary: "List a server's tools again now", about: "Answers at once unless ?wait says how long to wait for the end of it."},

		{method: "GET", path: "/v1/admin/users", id: "listUsers", action: "user.list", tag: users, status: 200, endpoint: handle(a.users),
			summary: "List the users"},
		{method: "POST", path: "/v1/admin/users", id: "createUser", action: "user.create", tag: users, status: 201, problems: conflicts, endpoint: handle(a.createUser),
			summary: "Add a user"},
		{method: "GET", path: "/v1/admin/users/{id}", id: "getUser", action: "user.get", tag: users, status: 200, endpoint: handle(a.user),
			summary: "Read a user"},
		{method: "PATCH", path: "/v1/admin/users/{id}", id: "updateUser", action: "user.update", tag: users, status: 200, problems: conflicts, endpoint: handle(a.updateUser),
			summary: "Change a user", about: "Roles that change take effect at the next call."},
		{method: "DELETE", path: "/v1/admin/users/{id}", id: "deleteUser", action: "user.delete", tag: users, status: 204, problems: conflicts, endpoint: handle(a.deleteUser),
			summary: "Remove a user with their tokens", about: "The audit keeps the name."},
		{method: "GET", path: "/v1/admin/users/{id}/tokens", id: "listTokens", action: "token.list", tag: users, status: 200, endpoint: handle(a.tokens),
			summary: "List a user's tokens, without their secrets"},
		{method: "POST", path: "/v1/admin/users/{id}/tokens", id: "createToken", action: "token.create", tag: users, status: 201, problems: conflicts, endpoint: handle(a.createToken),
			summary: "Make a token", about: "Its secret is in this answer and nowhere else."},
		{method: "DELETE", path: "/v1/admin/users/{id}/tokens/{tokenId}", id: "revokeToken", action: "token.revoke", tag: users, status: 204, endpoint: handle(a.revokeToken),
			summary: "Revoke a token", about: "The next request with it is refused."},
		{method: "PUT", path: "/v1/admin/users/{id}/servers/{serverId}/preference", id: "switchServerForUser", action: "preference.set", tag: users, status: 200, endpoint: handle(a.setUserPreference),
			summary: "Switch a server on or off for a user", about: "A hidden server is granted by switching it on."},

		{method: "GET", path: "/v1/admin/domains", id: "listDomains", action: "domain.list", tag: index, status: 200, endpoint: handle(a.domains),
			summary: "List the domains"},
		{method: "PUT", path: "/v1/admin/domains/{domain}", id: "describeDomain", action: "domain.put", tag: index, status: 200, endpoint: handle(a.putDomain),
			summary: "Describe a domain", about: "One that does not exist is made."},
		{method: "GET", path: "/v1/admin/embeddings/models", id: "listModels", action: "index.models", tag: index, status: 200, endpoint: handle(a.models),
			summary: "List the embedding models on record"},
		{method: "GET", path: "/v1/admin/embeddings/index", id: "getIndexStatus", action: "index.status", tag: index, status: 200, endpoint: handle(a.indexStatus),
			summary: "Say how far indexing has come"},
		{method: "POST", path: "/v1/admin/embeddings/index", id: "startIndex", action: "index.start", tag: index, status: 202, endpoint: handle(a.startIndex),
			summary: "Index what is missing, or everything anew", about: "Runs in the background; GET says how far it is."},
		{method: "POST", path: "/v1/admin/embeddings/search", id: "trySearch", action: "index.search", tag: index, status: 200, endpoint: handle(a.trySearch),
			summary: "Try a search among the tools of every active server"},

		{method: "GET", path: "/v1/admin/audit", id: "listAudit", action: "audit.list", tag: audit, status: 200, endpoint: handle(a.audit),
			summary: "List what happened, the latest first"},
		{method: "GET", path: "/v1/admin/usage", id: "listUsage", action: "usage.list", tag: audit, status: 200, endpoint: handle(a.usage),
			summary: "List the real calls of real tools, the latest first"},
	}
	for i := range routes {
		routes[i].admin = true
	}
	return routes
}
