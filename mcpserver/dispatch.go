package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/core/upstream"
)

// receive is the middleware that stands in front of all the SDK would do: it
// answers for tools and resources, refuses the families that we do not have, and leaves the
// handshake to the SDK.
func (s *Server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if v := recover(); v != nil { // the SDK's goroutine: nobody else would catch it
				s.log.Error("handler panicked", "method", method, "panic", v, "stack", string(debug.Stack()))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			}
		}()
		t := ticketOf(req.GetExtra())
		if t == nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the caller is not known"}
		}
		switch method {
		case "initialize":
			return s.initialize(ctx, method, req, t, next)
		case "tools/list":
			return s.listTools(ctx, t)
		case "tools/call":
			params, ok := req.GetParams().(*mcp.CallToolParamsRaw)
			if !ok {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the params are missing"}
			}
			return s.callTool(ctx, t, req, params)
		case "resources/list":
			return s.listResources(t)
		case "resources/templates/list":
			return s.listResourceTemplates(t)
		case "resources/read":
			params, ok := req.GetParams().(*mcp.ReadResourceParams)
			if !ok {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the params are missing"}
			}
			return s.readResource(ctx, t, params.URI)
		}
		if absent(method) {
			return nil, methodNotFound(method)
		}
		return next(ctx, method, req)
	}
}

// absent reports whether the SDK would answer for a family that we do not declare.
func absent(method string) bool {
	return strings.HasPrefix(method, "prompts/") || strings.HasPrefix(method, "resources/") ||
		strings.HasPrefix(method, "completion/")
}

// initialize lets the SDK shake hands and then fills the place that was reserved.
func (s *Server) initialize(ctx context.Context, method string, req mcp.Request, t *ticket, next mcp.MethodHandler) (mcp.Result, error) {
	result, err := next(ctx, method, req)
	if err != nil || t.place == nil {
		return result, err
	}
	session, ok := req.GetSession().(*mcp.ServerSession)
	if !ok || s.sessions.fill(t.place, session.ID(), session, nil) == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server is shutting down"}
	}
	return result, nil
}

func (s *Server) listTools(ctx context.Context, t *ticket) (mcp.Result, error) {
	offered, err := s.config.Gateway.MetaTools(ctx, t.request.Principal)
	if err != nil {
		return nil, s.rpcError(t.request, err)
	}
	return s.encoded(t, struct {
		Tools []gateway.MetaTool `json:"tools"`
		cached
	}{offered, private})
}

func (s *Server) callTool(ctx context.Context, t *ticket, req mcp.Request, params *mcp.CallToolParamsRaw) (mcp.Result, error) {
	if !gateway.IsMetaTool(params.Name) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown tool " + string(quote(params.Name))}
	}
	if t.stream != nil {
		t.stream.opened()
	}
	call := gateway.Call{Action: params.Name, Via: core.LevelMeta, Args: params.Arguments, SessionID: t.session}
	if session, ok := req.GetSession().(*mcp.ServerSession); ok && params.Meta["progressToken"] != nil {
		call.Progress = progressTo(ctx, session, params.Meta["progressToken"])
	}
	return &rawResult{raw: s.run(ctx, t.request, call)}, nil
}

// progressTo sends progress to the answer of the call that ctx belongs to. It
// waits until each notification is written, so none is overtaken by the result.
func progressTo(ctx context.Context, session *mcp.ServerSession, token any) func(upstream.Progress) {
	return func(p upstream.Progress) {
		n := &mcp.ProgressNotificationParams{ProgressToken: token, Message: p.Message}
		n.Progress, _ = p.Progress.Float64() // the server's literal is a number
		n.Total, _ = p.Total.Float64()       // "" means unknown, and so does 0
		_ = session.NotifyProgress(ctx, n)   // who does not listen misses it
	}
}

// run calls a meta-tool and gives the CallToolResult; a failed call is one too.
func (s *Server) run(ctx context.Context, request core.Request, call gateway.Call) json.RawMessage {
	answer, err := s.config.Gateway.Call(ctx, request, call)
	if err != nil {
		s.logInternal(request, err)
		return gateway.ErrorResult(err)
	}
	if call.Action == gateway.ExecuteTool {
		return answer
	}
	return structured(answer)
}

// rpcError is an error outside of a tool call.
func (s *Server) rpcError(request core.Request, err error) error {
	s.logInternal(request, err)
	e := core.Public(err)
	data, _ := json.Marshal(map[string]any{"kind": e.Kind, "requestId": request.ID}) // strings only
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: e.Message, Data: data}
}

// logInternal logs what the client is not told.
func (s *Server) logInternal(request core.Request, err error) {
	if errors.Is(core.Public(err), core.Internal) {
		s.log.Error("call failed", "request_id", request.ID, "error", err)
	}
}
