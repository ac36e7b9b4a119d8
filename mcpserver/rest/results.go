package rest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolscout/toolscout/core/gateway"
)

// resultQuery asks for a piece of a result.
type resultQuery struct {
	Cursor string `json:"cursor,omitempty" doc:"Where to read on: as the marker in the result says, or the nextCursor of the piece before."`
}

// ResultPage is a piece of a result that was shortened.
type ResultPage struct {
	ID         string    `json:"id" format:"uuid" doc:"The id of the result."`
	Block      int       `json:"block" doc:"Which content block it is of, from 0. Behind the last comes structured content that no block repeats."`
	Type       string    `json:"type" doc:"The type of the block, or structuredContent." example:"text"`
	MimeType   string    `json:"mimeType,omitempty" doc:"What the content is."`
	Text       string    `json:"text,omitempty" doc:"A piece of text. Of blocks that are neither text nor binary it is their JSON."`
	Blob       string    `json:"blob,omitempty" contentEncoding:"base64" doc:"A piece of binary content, in base64, instead of text."`
	Offset     int       `json:"offset" doc:"Where in the block the piece begins, in bytes."`
	Total      int       `json:"total" doc:"The size of the whole block, in bytes."`
	NextCursor string    `json:"nextCursor,omitempty" doc:"Send it as cursor for the next piece; missing at the end of the result."`
	ExpiresAt  time.Time `json:"expiresAt" doc:"When the result can no longer be read."`
}

func (a *api) result(ctx context.Context, c call[resultQuery, none]) (json.RawMessage, error) {
	return a.do(ctx, c.Request, gateway.ReadResult, struct {
		ID string `json:"id"`
		resultQuery
	}{c.path("id"), c.query})
}
