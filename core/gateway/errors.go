package gateway

import (
	"encoding/json"
	"math"

	"github.com/toolscout/toolscout/core"
)

// problem is an error as a model sees it.
type problem struct {
	Kind        core.Kind       `json:"kind"`
	Message     string          `json:"message"`
	ToolID      string          `json:"toolId,omitempty"`
	Details     any             `json:"details,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	Hint        string          `json:"hint,omitempty"`
}

// ErrorResult is a failed call as a CallToolResult: isError with one text, which
// is {"error":{…}}. The details are the faults of invalid arguments, the
// candidates of an ambiguous name, or when to try again.
func ErrorResult(err error) json.RawMessage {
	e := core.Public(err)
	text, werr := core.EncodeJSON(map[string]problem{"error": {Kind: e.Kind, Message: e.Message, ToolID: e.ToolID,
		Details: detailsOf(e), InputSchema: e.InputSchema, Hint: e.Hint}})
	if werr != nil { // a schema that is not JSON
		text, _ = core.EncodeJSON(map[string]problem{"error": {Kind: e.Kind, Message: e.Message}})
	}
	type content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	result, _ := core.EncodeJSON(struct {
		Content []content `json:"content"`
		IsError bool      `json:"isError"`
	}{[]content{{"text", string(text)}}, true})
	return result
}

func detailsOf(e *core.Error) any {
	switch {
	case len(e.Faults) > 0:
		return e.Faults
	case len(e.Candidates) > 0:
		return map[string]any{"candidates": e.Candidates}
	case e.RetryAfter > 0:
		return map[string]any{"retryAfterSeconds": math.Ceil(e.RetryAfter.Seconds())}
	}
	return nil
}
