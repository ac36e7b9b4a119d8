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

		{method: "GET", path: "/v1/hooks", id: "listHooks", action: gateway.ListHooks, tag: "hooks", status: 200, endpoint: handle(a.hooks), returns: reflect.TypeFor[List[Hook]](),
			summary: "List the hooks for my calls alone", about: "My own, and those that an admin made for me: these are owned false, and cannot be changed here."},
		{method: "POST", path: "/v1/hooks", id: "createHook", action: gateway.CreateHook, tag: "hooks", status: 201, problems: conflicts, endpoint: handle(a.createHook), returns: reflect.TypeFor[Hook](),
			summary: "Make a hook for my calls", about: "Of a type that is open to me. It acts from the next call on."},
		{method: "GET", path: "/v1/hooks/types", id: "listHookTypes", action: gateway.HookTypes, tag: "hooks", status: 200, endpoint: handle(a.hookTypes),
			summary: "List the types of hooks", about: "With what a hook of each has that does not say otherwise, and the schema of its configuration."},
		{method: "GET", path: "/v1/hooks/{id}", id: "getHook", action: gateway.GetHook, tag: "hooks", status: 200, endpoint: handle(a.hook), returns: reflect.TypeFor[Hook](),
			summary: "Read a hook of mine"},
		{method: "PATCH", path: "/v1/hooks/{id}", id: "updateHook", action: gateway.UpdateHook, tag: "hooks", status: 200, problems: conflicts, endpoint: handle(a.updateHook), returns: reflect.TypeFor[Hook](),
			summary: "Change a hook of mine", about: "Lists and objects are replaced whole. It acts from the next call on; a hook that was disabled by its own failure gets another chance."},
		{method: "DELETE", path: "/v1/hooks/{id}", id: "deleteHook", action: gateway.DeleteHook, tag: "hooks", status: 204, endpoint: handle(a.deleteHook),
			summary: "Remove a hook of mine"},

		{method: "GET", path: "/v1/events", id: "streamEvents", action: gateway.StreamEvents, tag: "events", status: 200, problems: limits, media: eventStream,
			endpoint: endpoint{query: typeOf[eventQuery](), serve: a.events}, returns: reflect.TypeFor[CloudEvent](),
			summary: "Follow what happens", about: aboutEvents},
	}
}

// adminRoutes need the role admin.
func (a *api) adminRoutes() []route {
	const (
		servers = "admin: servers"
		users   = "admin: users"
		hooks   = "admin: hooks"
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

		{method: "GET", path: "/v1/admin/hooks", id: "listAllHooks", action: "hook.list", tag: hooks, status: 200, endpoint: handle(a.adminHooks),
			summary: "List the hooks of all scopes", about: "First those of the configuration file and of scripts, then those of the database by name."},
		{method: "POST", path: "/v1/admin/hooks", id: "createAnyHook", action: "hook.create", tag: hooks, status: 201, problems: conflicts, endpoint: handle(a.createAnyHook),
			summary: "Make a hook", about: "In any scope. It acts from the next call on, on every instance."},
		{method: "POST", path: "/v1/admin/hooks/test", id: "testHook", action: "hook.test", tag: hooks, status: 200, endpoint: handle(a.testHook), returns: reflect.TypeFor[HookTrialResult](),
			summary: "Try a hook on a recorded call without saving it", about: "Says what it makes of the call. What it does outside, such as a request that it sends, it really does."},
		{method: "GET", path: "/v1/admin/hooks/effective", id: "explainHooks", action: "hook.effective", tag: hooks, status: 200, problems: explains, endpoint: handle(a.effectiveHooks), returns: reflect.TypeFor[EffectiveHooks](),
			summary: "Say which hooks a call goes through", about: "Both chains, outermost first, with where each hook comes from, and the hooks that do not apply, with the reason."},
		{method: "GET", path: "/v1/admin/hooks/{id}", id: "getAnyHook", action: "hook.get", tag: hooks, status: 200, endpoint: handle(a.adminHook),
			summary: "Read a hook"},
		{method: "PATCH", path: "/v1/admin/hooks/{id}", id: "updateAnyHook", action: "hook.update", tag: hooks, status: 200, problems: conflicts, endpoint: handle(a.updateAnyHook),
			summary: "Change a hook", about: "Lists and objects are replaced whole. One of the file or of a script cannot be changed here (409 says where it can). One that was disabled by its own failure gets another chance."},
		{method: "DELETE", path: "/v1/admin/hooks/{id}", id: "deleteAnyHook", action: "hook.delete", tag: hooks, status: 204, problems: conflicts, endpoint: handle(a.deleteAnyHook),
			summary: "Remove a hook"},

		{method: "GET", path: "/v1/admin/domains", id: "listDomains", action: "domain.list", tag: index, status: 200, endpoint: handle(a.domains),
			summary: "List the domains"},
		{method: "PUT", path: "/v1/admin/domains/{domain}", id: "describeDomain", action: "domain.put", tag: index, status: 200, endpoint: handle(a.putDomain),
			summary: "Describe a domain", about: "One that does not exist is made."},
		{method: "GET", path: "/v1/admin/embeddings/models", id: "listModels", action: "index.models", tag: index, status: 200, endpoint: handle(a.models),
			summary: "List the embedding models on record"},
		{method: "PATCH", path: "/v1/admin/embeddings/models/{id}", id: "updateModel", action: "index.model", tag: index, status: 200, endpoint: handle(a.updateModel),
			summary: "Say how much meaning counts against words with a model", about: "Searches heed it at once, on every instance. toolscout eval --tune finds the weight."},
		{method: "GET", path: "/v1/admin/embeddings/index", id: "getIndexStatus", action: "index.status", tag: index, status: 200, endpoint: handle(a.indexStatus),
			summary: "Say how far indexing has come"},
		{method: "POST", path: "/v1/admin/embeddings/index", id: "startIndex", action: "index.start", tag: index, status: 202, endpoint: handle(a.startIndex),
			summary: "Index what is missing, or everything anew", about: "Runs in the background; GET says how far it is."},
		{method: "POST", path: "/v1/admin/embeddings/search", id: "trySearch", action: "index.search", tag: index, status: 200, endpoint: handle(a.trySearch),
			summary: "Try a search among the tools of every active server"},
		{method: "GET", path: "/v1/admin/embeddings/tools", id: "listIndexedTools", action: "index.tools", tag: index, status: 200, endpoint: handle(a.catalogTools),
			summary: "List the tools of every active server with what they are indexed by"},
		{method: "GET", path: tablePath, id: "getTable", action: "index.table", tag: index, status: 200, problems: absent, endpoint: handle(a.table),
			summary: "Read the adapted table that search uses", about: "404 where it uses the one in the program, or another model."},
		{method: "POST", path: tablePath, id: "adaptModel", action: "index.adapt", tag: index, status: 202, problems: conflicts, maxBody: maxTable, endpoint: handle(a.adapt),
			summary: "Search with an adapted table of the built-in model", about: "toolscout train makes and measures it. Every instance makes its vectors in the background, searches with the table before until they are complete, and then switches."},
		{method: "DELETE", path: tablePath, id: "revertModel", action: "index.revert", tag: index, status: 202, problems: absent, endpoint: handle(a.revert),
			summary: "Go back to the table before", about: "That is the one in the program where there is none. It answers with the model that is turned away from."},

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

const aboutEvents = "A stream of server-sent events (text/event-stream). Each message has the event's number as id, its type as event, and as data the event in CloudEvents 1.0 JSON. " +
	"A client that connects again with the header Last-Event-ID gets everything since, once and in order; what is too old to be kept is told by one message of type events:missed. " +
	"I see my own events, and those that are nobody's about servers that I can see; admins see all. " +
	"Calls are announced while somebody listens to them. A reader that does not keep up is cut off; a last message of type events:closed says why a stream ends."
