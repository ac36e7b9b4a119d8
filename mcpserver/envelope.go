package mcpserver

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/toolscout/toolscout/core/rawjson"
)

// maxDepth bounds the nesting of a message; the SDK's decoder has the same bound.
const maxDepth = 1000

// maxBatch bounds the messages of a batch, which only the generations up to
// 2025-03-26 know.
const maxBatch = 100

// envelope is the outside of a JSON-RPC message, as the bytes that were sent.
type envelope struct {
	batch  bool
	id     json.RawMessage // nil for a notification or a response
	method string          // "" for a response
	params json.RawMessage
}

// open looks at a body once. Its errors are fit for the client.
func open(body []byte) (envelope, *jsonrpc.Error) {
	if err := rawjson.Check(body, maxDepth); err != nil {
		return envelope{}, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the body cannot be read: " + err.Error()}
	}
	n := 0
	if isBatch := nil == rawjson.Elements(body, func(int, int) { n++ }); isBatch {
		if n == 0 || n > maxBatch {
			return envelope{}, invalidRequest("a batch holds 1 to %d messages", maxBatch)
		}
		return envelope{batch: true}, nil
	}
	var e envelope
	var version, method []byte
	var answer bool
	isObject := nil == rawjson.Members(body, func(m rawjson.Member) {
		value := body[m.Start:m.End]
		switch string(m.Name) {
		case "jsonrpc":
			version = value
		case "id":
			e.id = value
		case "method":
			method = value
		case "params":
			e.params = value
		case "result", "error":
			answer = true
		}
	})
	if !isObject || string(version) != `"2.0"` {
		return envelope{}, invalidRequest(`a message is an object with "jsonrpc":"2.0"`)
	}
	return e.checked(method, answer)
}

func (e envelope) checked(method []byte, answer bool) (envelope, *jsonrpc.Error) {
	if e.id != nil {
		switch c := e.id[0]; {
		case c == 'n': // null names no request
			e.id = nil
		case c != '"' && c != '-' && (c < '0' || c > '9'):
			return envelope{}, invalidRequest("an id is a string or a number")
		}
	}
	if method == nil {
		if e.id == nil || !answer {
			return envelope{}, invalidRequest("the method is missing")
		}
		return e, nil
	}
	if err := json.Unmarshal(method, &e.method); err != nil || method[0] != '"' {
		return envelope{}, invalidRequest("the method is a string")
	}
	return e, nil
}

func invalidRequest(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf(format, args...)}
}

// reject answers a message with a JSON-RPC error. A client that has no id to match
// it with finds it by the HTTP status.
func reject(w http.ResponseWriter, status int, id json.RawMessage, e *jsonrpc.Error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	body, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, e})
	if err != nil { // the id was cut out of valid JSON
		http.Error(w, e.Message, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}
