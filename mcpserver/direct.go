package mcpserver

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/core/rawjson"
	"github.com/toolscout/toolscout/core/upstream"
)

// A plain tools/call is most of what a gateway does and needs nothing of the SDK's
// machinery, which decodes each message five times over with a fresh buffer of 32
// KiB and takes six to ten times the time (BenchmarkHandler). So it is served here,
// on the goroutine of its HTTP request. Whatever is not plain, and whatever must be
// refused, goes to the SDK.

// toolCall is the params of a tools/call, as the bytes that were sent.
type toolCall struct {
	name      string
	arguments json.RawMessage
	meta      json.RawMessage
	token     json.RawMessage // of progress; nil when nobody listens
}

// parseCall reads the params of a tools/call; false means that they are not plain.
func parseCall(params json.RawMessage) (toolCall, bool) {
	var c toolCall
	var name json.RawMessage
	plain := true
	isObject := nil == rawjson.Members(params, func(m rawjson.Member) {
		switch value := params[m.Start:m.End]; string(m.Name) {
		case "name":
			name = value
		case "arguments":
			c.arguments = value
		case "_meta":
			c.meta = value
		case "inputResponses", "requestState":
			plain = false
		}
	})
	if !isObject || !plain || !isString(name) || json.Unmarshal(name, &c.name) != nil {
		return c, false
	}
	if token := rawjson.Find(c.meta, "progressToken"); token != nil && token[0] != 'n' {
		c.token = token
	}
	return c, gateway.IsMetaTool(c.name)
}

func isString(value json.RawMessage) bool { return len(value) > 0 && value[0] == '"' }

// plainCall reads the exchange as a tools/call that can be served here.
func (x *exchange) plainCall() (toolCall, bool) {
	if x.message.method != "tools/call" || x.message.id == nil {
		return toolCall{}, false
	}
	return parseCall(x.message.params)
}

// agrees reports whether a call of the generation without sessions says the same
// in its headers and in its _meta, and says all that it must. Headers in base64
// are not plain.
func (x *exchange) agrees(c toolCall) bool {
	h := x.r.Header
	if h.Get(versionHeader) != modernVersion || h.Get("Mcp-Method") != x.message.method || h.Get("Mcp-Name") != c.name {
		return false
	}
	var version string
	var capable bool
	client := true
	isObject := nil == rawjson.Members(c.meta, func(m rawjson.Member) {
		switch value := c.meta[m.Start:m.End]; string(m.Name) {
		case mcp.MetaKeyProtocolVersion:
			if json.Unmarshal(value, &version) != nil {
				version = ""
			}
		case mcp.MetaKeyClientCapabilities:
			capable = json.Unmarshal(value, new(mcp.ClientCapabilities)) == nil && value[0] == '{'
		case mcp.MetaKeyClientInfo:
			client = json.Unmarshal(value, new(mcp.Implementation)) == nil && value[0] == '{'
		}
	})
	return isObject && version == modernVersion && capable && client
}

// serveCall serves a tools/call of a session. It does not end with its HTTP
// request: in this generation a client that has gone has not cancelled.
func (s *Server) serveCall(x *exchange, session *session, c toolCall) {
	ctx, cancel := context.WithCancel(s.base)
	defer cancel()
	id := string(x.message.id)
	if !session.begin(id, cancel) {
		reject(x.w, http.StatusBadRequest, x.message.id, invalidRequest("the id %s belongs to a call under way", quote(id)))
		return
	}
	defer session.end(id)
	s.answer(ctx, x, c, session.id, func(result json.RawMessage) []byte { return result })
}

// serveModernCall serves a tools/call without a session. It ends with its HTTP
// request.
func (s *Server) serveModernCall(x *exchange, c toolCall) {
	s.answer(x.r.Context(), x, c, "", func(result json.RawMessage) []byte { return complete(result, s.info) })
}

func (s *Server) answer(ctx context.Context, x *exchange, c toolCall, sessionID string, finish func(json.RawMessage) []byte) {
	call := gateway.Call{Action: c.name, Via: core.LevelMeta, Args: c.arguments, SessionID: sessionID}
	if c.token != nil {
		call.Progress = func(p upstream.Progress) { x.w.event(progress(c.token, p)) }
	}
	x.w.wait()
	x.w.finish(respond(x.message.id, finish(s.run(ctx, x.request, call))))
}

// respond is the JSON-RPC response to a request.
func respond(id json.RawMessage, result []byte) []byte {
	const before, between, after = `{"jsonrpc":"2.0","id":`, `,"result":`, `}`
	out := make([]byte, 0, len(before)+len(id)+len(between)+len(result)+len(after))
	out = append(append(out, before...), id...)
	out = append(append(out, between...), result...)
	return append(out, after...)
}

// progress is a progress notification, with the server's own number literals.
func progress(token json.RawMessage, p upstream.Progress) []byte {
	out := append([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`), token...)
	out = append(append(out, `,"progress":`...), p.Progress...)
	if p.Total != "" {
		out = append(append(out, `,"total":`...), p.Total...)
	}
	if p.Message != "" {
		out = append(appendEscaped(append(out, `,"message":"`...), []byte(p.Message)), '"')
	}
	return append(out, `}}`...)
}
