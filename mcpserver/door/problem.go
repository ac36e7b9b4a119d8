package door

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/toolscout/toolscout/core"
)

// Document is a problem document (RFC 9457). Everything from Kind on is ours.
type Document struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail,omitempty"`
	RequestID string `json:"requestId,omitempty"`

	Kind        core.Kind       `json:"kind,omitempty"`
	Hint        string          `json:"hint,omitempty"`
	ToolID      string          `json:"toolId,omitempty"`
	Errors      []core.Fault    `json:"errors,omitempty"`
	Candidates  []string        `json:"candidates,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

// Status is the HTTP status of a kind of refusal: the table of every transport.
func Status(kind core.Kind) int {
	switch kind {
	case core.InvalidParams:
		return http.StatusUnprocessableEntity
	case core.Unauthenticated:
		return http.StatusUnauthorized
	case core.Denied, core.HookRejected:
		return http.StatusForbidden
	case core.NotFound:
		return http.StatusNotFound
	case core.Conflict:
		return http.StatusConflict
	case core.RateLimited:
		return http.StatusTooManyRequests
	case core.Timeout:
		return http.StatusGatewayTimeout
	case core.Unavailable:
		return http.StatusServiceUnavailable
	case core.UpstreamError:
		return http.StatusBadGateway
	default:
		return http.StatusInternalServerError
	}
}

// Describe is the problem document of an error: its kind, message and hint, and
// nothing of its cause. A body over the limit is 413.
func Describe(err error) Document {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return describe(http.StatusRequestEntityTooLarge,
			"the body is larger than "+strconv.FormatInt(tooLarge.Limit, 10)+" bytes")
	}
	e := core.Public(err)
	doc := describe(Status(e.Kind), e.Message)
	doc.Kind, doc.Hint, doc.ToolID = e.Kind, e.Hint, e.ToolID
	doc.Errors, doc.Candidates, doc.InputSchema = e.Faults, e.Candidates, e.InputSchema
	return doc
}

func describe(status int, detail string) Document {
	return Document{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

// Problem answers with the problem document of an error and leaves the error to
// the log line of the request.
func Problem(w http.ResponseWriter, err error) {
	note(w, err)
	if after := core.Public(err).RetryAfter; after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	writeDocument(w, Describe(err))
}

// Refuse answers with a problem document for a fault of HTTP itself, which has a
// status but no kind: 400, 405, 413, 415 and the like.
func Refuse(w http.ResponseWriter, status int, detail string) {
	writeDocument(w, describe(status, detail))
}

func writeDocument(w http.ResponseWriter, doc Document) {
	h := w.Header()
	doc.RequestID = h.Get(requestIDHeader)
	body, err := json.Marshal(doc)
	if err != nil { // an input schema that is no JSON
		doc.InputSchema = nil
		body, _ = json.Marshal(doc)
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length")
	w.WriteHeader(doc.Status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}
