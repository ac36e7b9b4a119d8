package gateway

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// Tool is a tool in an answer. Score goes with searches, the signature or the
// input schema with the detail that was asked for.
type Tool struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Domain      string          `json:"domain"`
	ServerID    string          `json:"serverId"`
	Score       *float64        `json:"score,omitempty"`
	Signature   string          `json:"signature,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

// ToolServer is a server as answers about tools name it.
type ToolServer struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Discovery is the result of discover_tools.
type Discovery struct {
	Tools      []Tool                `json:"tools"`
	Servers    map[string]ToolServer `json:"servers"`
	Suggestion string                `json:"suggestion,omitempty"`
	Degraded   string                `json:"degraded,omitempty"`
}

// ToolSchema is the result of get_tool_schema.
type ToolSchema struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	Domain       string          `json:"domain"`
	ServerID     string          `json:"serverId"`
	ServerName   string          `json:"serverName"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	SchemaHash   string          `json:"schemaHash"`
}

// Domains is the result of list_tool_domains.
type Domains struct {
	Domains []core.Domain `json:"domains"`
}

// Browsing is the result of browse_tool_domain.
type Browsing struct {
	Tools      []Tool                `json:"tools"`
	Servers    map[string]ToolServer `json:"servers"`
	NextCursor string                `json:"nextCursor,omitempty"`
}

// ToolList is the result of list_tools and server_tools. The suggestion and what
// was missing go with searches.
type ToolList struct {
	Items      []Tool                `json:"items"`
	Servers    map[string]ToolServer `json:"servers"`
	NextCursor string                `json:"nextCursor,omitempty"`
	Suggestion string                `json:"suggestion,omitempty"`
	Degraded   string                `json:"degraded,omitempty"`
}

// Server is a server as its users see it: without how it is reached, which may
// hold what is not theirs to know.
type Server struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Domain      string          `json:"domain"`
	Transport   core.Transport  `json:"transport"`
	Tags        []string        `json:"tags"`
	Visibility  core.Visibility `json:"visibility"`
	Isolation   core.Isolation  `json:"isolation"`
	Status      core.Status     `json:"status"`
	Enabled     bool            `json:"enabled"`
	Health      core.Health     `json:"health"`
	ToolCount   int             `json:"toolCount"`
}

// The amounts of detail that discover_tools is asked for.
const (
	detailBrief     = "brief"
	detailSignature = "signature"
	detailFull      = "full"
)

// maxDescription bounds a description in a list; get_tool_schema gives it whole.
const maxDescription = 300

func shapeTool(t *core.Tool, detail string) Tool {
	out := Tool{ID: t.ID, Name: t.Name, Description: summary(t.Description, maxDescription), Domain: t.Domain, ServerID: t.ServerID}
	switch detail {
	case detailBrief:
	case detailFull:
		out.InputSchema = objectOr(t.InputSchema)
	default:
		out.Signature = cmp.Or(t.Signature, core.Signature(t.InputSchema))
	}
	return out
}

func shapeToolServer(s *core.Server) ToolServer {
	return ToolServer{ID: s.ID, Name: s.Name, Description: summary(s.Description, maxDescription)}
}

func shapeServer(s *core.Server, a core.Access) Server {
	tags := s.Tags
	if tags == nil {
		tags = []string{}
	}
	return Server{ID: s.ID, Name: s.Name, Description: s.Description, Domain: s.Domain, Transport: s.Transport, Tags: tags,
		Visibility: s.Visibility, Isolation: s.Isolation, Status: s.Status, Enabled: a == core.On, Health: s.Health, ToolCount: s.ToolCount}
}

// objectOr is a schema, or that of any object where there is none: clients check
// for an object.
func objectOr(raw json.RawMessage) json.RawMessage {
	if trimmed := strings.TrimSpace(string(raw)); strings.HasPrefix(trimmed, "{") {
		return raw
	}
	return json.RawMessage(`{"type":"object"}`)
}

// objectOrNil is raw if it is an object, else nothing.
func objectOrNil(raw json.RawMessage) json.RawMessage {
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "{") {
		return raw
	}
	return nil
}

// clip shortens text to at most n bytes, at the end of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
