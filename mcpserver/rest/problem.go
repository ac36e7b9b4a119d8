package rest

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/mcpserver/door"
)

// Problem is an RFC 9457 problem document, the body of every answer that is not
// a success. It is door.Document with words for the description: the conversion
// in newProblem keeps the two alike.
type Problem struct {
	Type      string `json:"type" format:"uri-reference" doc:"Always about:blank: kind says more." example:"about:blank"`
	Title     string `json:"title" doc:"The phrase of the HTTP status." example:"Unprocessable Entity"`
	Status    int    `json:"status" doc:"The HTTP status." example:"422"`
	Detail    string `json:"detail,omitempty" doc:"What is wrong with this very request." example:"the body is not valid"`
	RequestID string `json:"requestId,omitempty" doc:"The id under which audit and log know this request."`

	Kind        core.Kind       `json:"kind,omitempty" doc:"What went wrong, as a word that programs can rely on; missing where HTTP's status says it all." enum:"invalid_params,unauthenticated,denied,not_found,conflict,rate_limited,timeout,unavailable,upstream_error,hook_rejected,internal" example:"invalid_params"`
	Hint        string          `json:"hint,omitempty" doc:"What the caller can do about it."`
	ToolID      string          `json:"toolId,omitempty" doc:"The tool in question."`
	Errors      []core.Fault    `json:"errors,omitempty" doc:"Each invalid value or unknown field: a JSON pointer (RFC 6901; query parameters are fields of the query) and a message."`
	Candidates  []string        `json:"candidates,omitempty" doc:"The ids that an ambiguous name could mean."`
	InputSchema json.RawMessage `json:"inputSchema,omitempty" doc:"The JSON Schema that the tool's arguments must meet."`
}

// refusal is a core.Error whose status is HTTP's own business: a request that is
// malformed rather than invalid.
type refusal struct {
	reason *core.Error
	status int
}

func refuse(status int, format string, args ...any) *refusal {
	kind := core.InvalidParams
	if status == http.StatusNotFound {
		kind = core.NotFound
	}
	return &refusal{reason: core.Errorf(kind, format, args...), status: status}
}

func (r *refusal) Error() string { return r.reason.Error() }

func (r *refusal) Unwrap() error { return r.reason }

// because returns r with a private cause.
func (r *refusal) because(cause error) *refusal {
	r.reason = r.reason.Because(cause)
	return r
}

// withHint returns r with advice for the caller.
func (r *refusal) withHint(format string, args ...any) *refusal {
	r.reason = r.reason.WithHint(format, args...)
	return r
}

// at returns r with the fault that caused it.
func (r *refusal) at(pointer, message string) *refusal {
	r.reason.Faults = append(r.reason.Faults, core.Fault{Pointer: pointer, Message: message})
	return r
}

// writeProblem answers with the problem document of an error.
func writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	var refused *refusal
	if !errors.As(err, &refused) {
		door.Problem(w, err)
		return
	}
	p := Problem(door.Describe(refused))
	p.Status, p.Title = refused.status, http.StatusText(refused.status)
	p.RequestID = door.Request(r.Context()).ID
	writeJSON(w, p.Status, "application/problem+json", p)
}
