package rest

import (
	"cmp"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/admin"
)

// VisibleServer is a server as those see it who may use it: what it is and how it
// does, but nothing of how it is reached.
type VisibleServer struct {
	ID          string          `json:"id" format:"uuid" doc:"Its id."`
	Name        string          `json:"name" doc:"Its name, unique among the servers." example:"github"`
	Description string          `json:"description" doc:"What it is for."`
	Domain      string          `json:"domain" doc:"The id of the domain of its tools." example:"code"`
	Transport   core.Transport  `json:"transport" enum:"stdio,http,sse" doc:"How it is reached."`
	Tags        []string        `json:"tags" doc:"Words to sort servers by."`
	Visibility  core.Visibility `json:"visibility" enum:"visible,hidden,user" doc:"visible: on for everyone until they switch it off; hidden: invisible until an admin switches it on for a user; user: owned by one."`
	Isolation   core.Isolation  `json:"isolation" enum:"shared,user,session" doc:"Who may share a live session with it."`
	Status      core.Status     `json:"status" enum:"active,inactive" doc:"The admin's intent."`
	Enabled     bool            `json:"enabled" doc:"The caller's own switch."`
	Health      Health          `json:"health" doc:"What was last observed of it."`
	ToolCount   int             `json:"toolCount" doc:"How many tools it offers." example:"26"`
}

// Health is what was last observed of a server, and when.
type Health struct {
	State    core.HealthState `json:"state" enum:"connecting,healthy,unstable,unavailable,misconfigured,stopped" doc:"How it does."`
	Stage    string           `json:"stage,omitempty" doc:"Where the last failure happened: config, start, connect, initialize, list or call." example:"connect"`
	Message  string           `json:"message,omitempty" doc:"What went wrong."`
	Since    time.Time        `json:"since" doc:"How long it has been so."`
	LastSeen *time.Time       `json:"lastSeen,omitempty" doc:"When it last answered."`
}

// Server is a server whole, as admins see it.
type Server struct {
	VisibleServer
	URL            string            `json:"url" doc:"The address of the endpoint, for http and sse." example:"https://db.example.com/mcp"`
	Command        string            `json:"command" doc:"The program to run, for stdio." example:"npx"`
	Args           []string          `json:"args" doc:"Its arguments." example:"[\"-y\",\"@modelcontextprotocol/server-github\"]"`
	Env            map[string]string `json:"env" doc:"Its environment. References such as ${GITHUB_TOKEN} are shown, other values as ***."`
	Headers        map[string]string `json:"headers" doc:"Sent with every request. References are shown, other values as ***."`
	Prefix         string            `json:"prefix" doc:"What stands before the names of its tools." example:"gh_"`
	AllowedTools   []string          `json:"allowedTools" doc:"The original names of the tools that are offered; empty means all."`
	BlockedTools   []string          `json:"blockedTools" doc:"The original names of the tools that are not offered."`
	RequiredRoles  []string          `json:"requiredRoles" doc:"One of these roles is needed to see it; empty means none."`
	AgentAllowlist []string          `json:"agentAllowlist" doc:"The agents that may use it; empty means all."`
	Timeout        string            `json:"timeout" doc:"How long one call may take." example:"30s"`
	OwnerID        string            `json:"ownerId,omitempty" doc:"Whose it is, with visibility user."`
	Origin         core.Origin       `json:"origin" enum:"api,file" doc:"Where it is configured. One from the file cannot be changed here."`
	Era            string            `json:"era,omitempty" doc:"The generation of the protocol it speaks: modern (2026-07-28) or legacy."`
	Version        int64             `json:"version" doc:"Counts the edits of its configuration."`
	CreatedAt      time.Time         `json:"createdAt" doc:"When it was registered."`
	UpdatedAt      time.Time         `json:"updatedAt" doc:"When it was last edited."`
}

// ServerConfig is what can be set of a server beside its name. What is left out,
// or null in a PATCH, has its default.
type ServerConfig struct {
	Description    string            `json:"description,omitempty" doc:"What it is for."`
	Domain         string            `json:"domain,omitempty" doc:"The id of the domain of its tools: a slug." example:"code"`
	Transport      core.Transport    `json:"transport" enum:"stdio,http,sse" doc:"How it is reached." example:"stdio"`
	URL            string            `json:"url,omitempty" doc:"The address of the endpoint, for http and sse."`
	Command        string            `json:"command,omitempty" doc:"The program to run, for stdio." example:"npx"`
	Args           []string          `json:"args,omitempty" doc:"Its arguments." example:"[\"-y\",\"@modelcontextprotocol/server-github\"]"`
	Env            map[string]string `json:"env,omitempty" doc:"Its environment. ${NAME} is read from the environment of Toolscout; other values are stored encrypted. *** keeps the value that is stored."`
	Headers        map[string]string `json:"headers,omitempty" doc:"Sent with every request, for http and sse; values as in env."`
	Prefix         string            `json:"prefix,omitempty" doc:"What stands before the names of its tools." example:"gh_"`
	AllowedTools   []string          `json:"allowedTools,omitempty" doc:"The original names of the tools to offer, or patterns; empty means all."`
	BlockedTools   []string          `json:"blockedTools,omitempty" doc:"The original names of tools not to offer, or patterns."`
	RequiredRoles  []string          `json:"requiredRoles,omitempty" doc:"One of these roles is needed to see it; empty means none."`
	AgentAllowlist []string          `json:"agentAllowlist,omitempty" doc:"The agents that may use it; empty means all."`
	Tags           []string          `json:"tags,omitempty" doc:"Words to sort servers by."`
	Visibility     core.Visibility   `json:"visibility,omitempty" enum:"visible,hidden,user" doc:"Who sees it; visible unless said."`
	OwnerID        string            `json:"ownerId,omitempty" doc:"The user who owns it, with visibility user."`
	Isolation      core.Isolation    `json:"isolation,omitempty" enum:"shared,user,session" doc:"Who may share a live session with it; shared unless said."`
	Timeout        string            `json:"timeout,omitempty" pattern:"^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$" doc:"How long one call may take: 1s to 1h, 30s unless said." example:"30s"`
	Status         core.Status       `json:"status,omitempty" enum:"active,inactive" doc:"inactive: nobody sees it; active unless said."`
}

// ServerInput is a server to register.
type ServerInput struct {
	Name string `json:"name" doc:"Its name, unique among the servers." example:"github"`
	ServerConfig
}

// ServerTrial is a configuration to try. It needs no name.
type ServerTrial struct {
	Name string `json:"name,omitempty" doc:"Its name, if it has one."`
	ServerConfig
}

// TestResult is what trying a configuration found out.
type TestResult struct {
	OK        bool   `json:"ok" doc:"It works."`
	Stage     string `json:"stage,omitempty" doc:"Where it failed: config, start, connect, initialize or list." example:"connect"`
	Message   string `json:"message,omitempty" doc:"What failed."`
	Name      string `json:"name,omitempty" doc:"What the server calls itself."`
	Version   string `json:"version,omitempty" doc:"Its version."`
	Protocol  string `json:"protocol,omitempty" doc:"The version of the protocol it speaks." example:"2025-11-25"`
	ToolCount int    `json:"toolCount" doc:"How many tools it offers."`
}

// Switch is how somebody wants a server: on or off.
type Switch struct {
	Enabled bool `json:"enabled" doc:"Whether it is on."`
}

// Preference is how a server is switched for a user.
type Preference struct {
	ServerID string `json:"serverId" doc:"The server."`
	Enabled  bool   `json:"enabled" doc:"Whether it is on."`
}

func visibleServer(s core.Server, enabled bool) VisibleServer {
	return VisibleServer{ID: s.ID, Name: s.Name, Description: s.Description, Domain: s.Domain,
		Transport: s.Transport, Tags: list(s.Tags), Visibility: s.Visibility, Isolation: s.Isolation,
		Status: s.Status, Enabled: enabled, Health: Health(s.Health), ToolCount: s.ToolCount}
}

// ServerOf shows a server to an admin. Secrets in it must be masked already.
func ServerOf(s core.Server, enabled bool) Server {
	return Server{VisibleServer: visibleServer(s, enabled), URL: s.URL, Command: s.Command,
		Args: list(s.Args), Env: table(s.Env), Headers: table(s.Headers),
		AllowedTools: list(s.AllowedTools), BlockedTools: list(s.BlockedTools),
		RequiredRoles: list(s.RequiredRoles), AgentAllowlist: list(s.AgentAllowlist),
		Prefix: s.Prefix, Timeout: duration(s.Timeout), OwnerID: s.OwnerID, Origin: s.Origin,
		Era: s.Era, Version: s.Version, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt}
}

// ServersOf shows servers that are not registered yet, each of them on.
func ServersOf(servers []core.Server) []Server {
	out := make([]Server, 0, len(servers))
	for _, s := range servers {
		out = append(out, ServerOf(s, true))
	}
	return out
}

// InputOf is what must be sent to register s.
func InputOf(s core.Server) ServerInput {
	return ServerInput{Name: s.Name, ServerConfig: ServerConfig{Description: s.Description, Domain: s.Domain,
		Transport: s.Transport, URL: s.URL, Command: s.Command, Args: s.Args, Env: s.Env, Headers: s.Headers,
		Prefix: s.Prefix, AllowedTools: s.AllowedTools, BlockedTools: s.BlockedTools,
		RequiredRoles: s.RequiredRoles, AgentAllowlist: s.AgentAllowlist, Tags: s.Tags,
		Visibility: s.Visibility, OwnerID: s.OwnerID, Isolation: s.Isolation,
		Timeout: duration(s.Timeout), Status: s.Status}}
}

// server is the configuration as a server that is not registered yet.
func (in ServerInput) server() (core.Server, error) {
	timeout, err := parseDuration("/timeout", in.Timeout)
	if err != nil {
		return core.Server{}, err
	}
	return core.Server{Name: in.Name, Description: in.Description, Domain: in.Domain,
		Transport: in.Transport, URL: in.URL, Command: in.Command, Args: in.Args, Env: in.Env, Headers: in.Headers,
		Prefix: in.Prefix, AllowedTools: in.AllowedTools, BlockedTools: in.BlockedTools,
		RequiredRoles: in.RequiredRoles, AgentAllowlist: in.AgentAllowlist, Tags: in.Tags,
		Visibility: in.Visibility, OwnerID: in.OwnerID, Isolation: in.Isolation,
		Timeout: timeout, Status: in.Status}, nil
}

// serverPatch is what a PATCH changes.
func serverPatch(p Patch[ServerInput]) (admin.ServerPatch, error) {
	in, err := p.values()
	if err != nil {
		return admin.ServerPatch{}, err
	}
	timeout, err := parseDuration("/timeout", in.Timeout)
	if err != nil {
		return admin.ServerPatch{}, err
	}
	return admin.ServerPatch{Name: field(p, "name", in.Name), Description: field(p, "description", in.Description),
		Domain: field(p, "domain", in.Domain), Transport: field(p, "transport", in.Transport),
		URL: field(p, "url", in.URL), Command: field(p, "command", in.Command), Args: field(p, "args", in.Args),
		Env: field(p, "env", in.Env), Headers: field(p, "headers", in.Headers), Prefix: field(p, "prefix", in.Prefix),
		AllowedTools: field(p, "allowedTools", in.AllowedTools), BlockedTools: field(p, "blockedTools", in.BlockedTools),
		RequiredRoles: field(p, "requiredRoles", in.RequiredRoles), AgentAllowlist: field(p, "agentAllowlist", in.AgentAllowlist),
		Tags: field(p, "tags", in.Tags), Visibility: field(p, "visibility", cmp.Or(in.Visibility, core.Visible)),
		OwnerID: field(p, "ownerId", in.OwnerID), Isolation: field(p, "isolation", cmp.Or(in.Isolation, core.Shared)),
		Timeout: field(p, "timeout", timeout), Status: field(p, "status", cmp.Or(in.Status, core.Active))}, nil
}

// durationPattern is what the schemas ask of a duration; it must be spelled out
// in the tags.
const durationPattern = `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`

// parseDuration reads a duration that its pattern has accepted; "" is 0.
func parseDuration(at, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		e := core.Errorf(core.InvalidParams, "%q is not a duration", clip(text))
		e.Faults = []core.Fault{{Pointer: at, Message: "want a duration such as 30s"}}
		return 0, e
	}
	return d, nil
}

// duration writes a duration without trailing zero units: 1m, not 1m0s.
func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// list and table make empty JSON of what is nil.
func list(values []string) []string {
	if values == nil {
		return []string{}
	}
	return values
}

func table(values map[string]string) map[string]string {
	if values == nil {
		return map[string]string{}
	}
	return values
}
