package rest

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/gateway"
)

// toolQuery asks for tools.
type toolQuery struct {
	Query  string `json:"query,omitempty" doc:"What the tool should do, in words: makes this a search." example:"read a file"`
	Domain string `json:"domain,omitempty" doc:"Only tools of this domain."`
	Server string `json:"server,omitempty" doc:"Only tools of this server (uuid)."`
	Trial  bool   `json:"trial,omitempty" doc:"Says in the audit that the search measures, and is nobody's need."`
	Page
}

// FoundTools is a list of tools, or the answer of a search.
type FoundTools struct {
	Items      []FoundTool            `json:"items" doc:"The tools."`
	Servers    map[string]ServerBrief `json:"servers,omitempty" doc:"The servers they belong to, by id."`
	NextCursor string                 `json:"nextCursor,omitempty" doc:"Send it as cursor for the next part; missing at the end."`
	Suggestion string                 `json:"suggestion,omitempty" doc:"What to try when nothing really fits."`
	Degraded   string                 `json:"degraded,omitempty" doc:"Which half of the search was missing."`
}

// FoundTool is a tool in a list.
type FoundTool struct {
	ID          string   `json:"id" format:"uuid" doc:"Its id."`
	Name        string   `json:"name" doc:"Its name." example:"gh_create_issue"`
	Description string   `json:"description" doc:"What it does."`
	Domain      string   `json:"domain" doc:"The id of its domain."`
	ServerID    string   `json:"serverId" format:"uuid" doc:"The id of its server."`
	Score       *float64 `json:"score,omitempty" doc:"With query: how likely it is right, 0 to 1; the best below 0.25 comes with a suggestion."`
	Signature   string   `json:"signature,omitempty" doc:"How to call it, in one line." example:"(owner: string, repo: string, title: string, body?: string)"`
}

// ServerBrief names a server.
type ServerBrief struct {
	ID          string `json:"id" format:"uuid" doc:"Its id."`
	Name        string `json:"name" doc:"Its name."`
	Description string `json:"description" doc:"What it is for."`
}

// Tool is a tool with its schema.
type Tool struct {
	ID           string          `json:"id" format:"uuid" doc:"Its id."`
	Name         string          `json:"name" doc:"Its name." example:"gh_create_issue"`
	Title        string          `json:"title,omitempty" doc:"Its name for people."`
	Description  string          `json:"description" doc:"What it does."`
	Domain       string          `json:"domain" doc:"The id of its domain."`
	ServerID     string          `json:"serverId" format:"uuid" doc:"The id of its server."`
	ServerName   string          `json:"serverName" doc:"The server's name."`
	InputSchema  json.RawMessage `json:"inputSchema" doc:"The JSON Schema of its arguments, as the server sent it."`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty" doc:"The JSON Schema of its structuredContent."`
	Annotations  json.RawMessage `json:"annotations,omitempty" doc:"What the server says of its effects: hints, not promises."`
	SchemaHash   string          `json:"schemaHash" doc:"SHA-256 of name, description and schemas."`
}

// ToolCall is a call of a tool.
type ToolCall struct {
	Args json.RawMessage `json:"args,omitempty" doc:"The arguments: passed on as they are, numbers to the last digit. {} when left out."`
}

// TransformSchema says that arguments are an object.
func (ToolCall) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return object(s, "args")
}

// CallToolResult is what a tool answers, as MCP defines it. It is passed on byte
// for byte, but for _meta, which gains entries of ours.
type CallToolResult struct {
	Content           []json.RawMessage          `json:"content" doc:"Blocks of text, images and so on."`
	StructuredContent json.RawMessage            `json:"structuredContent,omitempty" doc:"The same for programs."`
	IsError           bool                       `json:"isError,omitempty" doc:"The tool itself says that it failed."`
	Meta              map[string]json.RawMessage `json:"_meta,omitempty" doc:"toolscout/server, toolscout/tool, toolscout/requestId, toolscout/durationMs, toolscout/warnings, and what the server sent."`
}

func (a *api) findTools(ctx context.Context, c call[toolQuery, none]) (json.RawMessage, error) {
	c.query.Page = Page(c.query.page())
	return a.do(ctx, c.Request, gateway.ListTools, c.query)
}

func (a *api) tool(ctx context.Context, c call[none, none]) (json.RawMessage, error) {
	return a.do(ctx, c.Request, gateway.GetToolSchema, struct {
		ToolID string `json:"tool_id"`
	}{c.path("idOrName")})
}

func (a *api) runTool(ctx context.Context, c call[none, ToolCall]) (json.RawMessage, error) {
	id, err := json.Marshal(c.path("idOrName"))
	if err != nil {
		return nil, err
	}
	args := c.body.Args
	if args == nil {
		args = json.RawMessage("{}")
	}
	// Put together by hand: encoding/json would rewrite the arguments.
	raw := bytes.Join([][]byte{[]byte(`{"tool_id":`), id, []byte(`,"params":`), args, []byte(`}`)}, nil)
	return a.gateway.Call(ctx, c.Request, gateway.Call{Action: gateway.ExecuteTool, Via: core.LevelHTTP, Args: raw})
}

// do carries out an action of the gateway.
func (a *api) do(ctx context.Context, req core.Request, action string, args any) (json.RawMessage, error) {
	raw, err := core.EncodeJSON(args)
	if err != nil {
		return nil, err
	}
	return a.gateway.Call(ctx, req, gateway.Call{Action: action, Via: core.LevelHTTP, Args: raw})
}
