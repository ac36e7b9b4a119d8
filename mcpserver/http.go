package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/rawjson"
	"github.com/toolscout/toolscout/mcpserver/door"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"

	// modernVersion is the first version of the protocol without sessions.
	modernVersion = "2026-07-28"
	// lastBatchVersion is the last one that knows batches.
	lastBatchVersion = "2025-03-26"
)

// exchange is one HTTP request to /mcp.
type exchange struct {
	w       *stream
	r       *http.Request
	request core.Request
	body    []byte
	message envelope
}

// HTTP serves /mcp, both generations of the protocol on one path: a request with
// the version header of the new one and no session belongs to it, any other to a
// session.
func (s *Server) HTTP() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{w: newStream(w), r: r, request: door.Request(r.Context())}
		defer x.w.close()
		w.Header().Set("X-Accel-Buffering", "no")
		s.serve(x)
	})
}

func (s *Server) serve(x *exchange) {
	modern := x.r.Header.Get(sessionHeader) == "" && x.r.Header.Get(versionHeader) >= modernVersion
	switch x.r.Method {
	case http.MethodPost:
		if !x.read() {
			return
		}
		if !modern {
			s.servePost(x)
			return
		}
		if call, plain := x.plainCall(); plain && x.agrees(call) {
			s.serveModernCall(x, call)
			return
		}
		x.forward(s.modern, nil)
	case http.MethodGet, http.MethodDelete:
		if modern || x.r.Header.Get(sessionHeader) == "" {
			x.w.Header().Set("Allow", "POST")
			door.Refuse(x.w, http.StatusMethodNotAllowed, "without a session there is only POST")
			return
		}
		s.serveSession(x)
	default:
		x.w.Header().Set("Allow", "GET, POST, DELETE")
		door.Refuse(x.w, http.StatusMethodNotAllowed, "only GET, POST and DELETE are served here")
	}
}

// read takes in the body of a POST. It reports false when it has refused it.
func (x *exchange) read() bool {
	contentType := x.r.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(contentType); contentType != "application/json" && (err != nil || media != "application/json") {
		door.Refuse(x.w, http.StatusUnsupportedMediaType, "the content type is application/json")
		return false
	}
	var buf bytes.Buffer
	if n := x.r.ContentLength; n > 0 {
		buf.Grow(int(n) + bytes.MinRead) // the door has bounded it
	}
	if _, err := buf.ReadFrom(x.r.Body); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			door.Problem(x.w, err)
			return false
		}
		door.Refuse(x.w, http.StatusBadRequest, "the body ended early")
		return false
	}
	x.body = buf.Bytes()
	message, refusal := open(x.body)
	if refusal != nil {
		reject(x.w, http.StatusBadRequest, message.id, refusal)
		return false
	}
	x.message = message
	return true
}

// servePost serves a POST of the generation with sessions.
func (s *Server) servePost(x *exchange) {
	version := x.r.Header.Get(versionHeader)
	if x.message.batch && version > lastBatchVersion {
		reject(x.w, http.StatusBadRequest, nil, invalidRequest("there are no batches in version %s", version))
		return
	}
	if x.message.method != "" && !known(x.message.method) {
		s.unknown(x)
		return
	}
	if x.r.Header.Get(sessionHeader) != "" {
		s.serveSession(x)
		return
	}
	if !x.message.batch && x.message.method != "initialize" {
		reject(x.w, http.StatusBadRequest, x.message.id,
			invalidRequest("there is no session: send initialize first, or speak version %s", modernVersion))
		return
	}
	place, err := s.sessions.reserve(ownerOf(x.request))
	if err != nil {
		door.Problem(x.w, err)
		return
	}
	defer s.sessions.giveBack(place)
	x.forward(s.legacy, place)
}

// serveSession serves a request inside a session.
func (s *Server) serveSession(x *exchange) {
	session := s.sessions.enter(x.r.Header.Get(sessionHeader), ownerOf(x.request))
	if session == nil {
		noSession(x.w)
		return
	}
	defer s.sessions.leave(session)
	if session.sse != nil {
		noSession(x.w)
		return
	}
	if x.r.Method == http.MethodDelete {
		s.sessions.drop(session)
		x.w.WriteHeader(http.StatusNoContent)
		return
	}
	if x.message.method == "notifications/cancelled" && session.cancel(cancelled(x.message.params)) {
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	if call, plain := x.plainCall(); plain && legacyVersion(x.r.Header.Get(versionHeader)) {
		s.serveCall(x, session, call)
		return
	}
	x.forward(s.legacy, nil)
}

// legacyVersion reports whether a header names a version of the generation with
// sessions; the first ones had no header.
func legacyVersion(version string) bool {
	switch version {
	case "", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05":
		return true
	}
	return false
}

// cancelled is the id of the request that a notification cancels, as it is written.
func cancelled(params json.RawMessage) string { return string(rawjson.Find(params, "requestId")) }

// forward hands the request to a handler of the SDK, with the body and all it
// needs to know about the caller.
func (x *exchange) forward(lane http.Handler, place *place) {
	if x.body != nil {
		x.r.Body = io.NopCloser(bytes.NewReader(x.body))
	}
	x.r.Header.Set("Accept", "application/json, "+eventStream) // who asks for less gets it anyway
	ctx := context.WithValue(x.r.Context(), ticketKey{}, &ticket{
		request: x.request, session: x.r.Header.Get(sessionHeader), place: place, stream: x.w})
	lane.ServeHTTP(&fallback{stream: x.w, id: x.message.id}, x.r.WithContext(ctx))
}

// known reports whether the generations with sessions have a method.
func known(method string) bool {
	switch method {
	case "initialize", "ping", "tools/list", "tools/call", "logging/setLevel",
		"resources/list", "resources/templates/list", "resources/read":
		return true
	}
	return strings.HasPrefix(method, "notifications/")
}

// unknown answers a method that we do not have as JSON-RPC does: the SDK's bare
// HTTP 400 makes some clients give up their session.
func (s *Server) unknown(x *exchange) {
	if x.message.id == nil {
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	reject(x.w, http.StatusOK, x.message.id, methodNotFound(x.message.method))
}

func methodNotFound(method string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "there is no method " + string(quote(method))}
}

// quote is a string as JSON has it, bounded.
func quote(s string) []byte {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	b, _ := json.Marshal(s) // a string always can be
	return b
}
