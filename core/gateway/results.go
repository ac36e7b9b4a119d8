package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks/result"
)

// ResultPage is a piece of a result that was shortened.
type ResultPage struct {
	ID       string `json:"id"`
	Block    int    `json:"block"`
	Type     string `json:"type"`
	MimeType string `json:"mimeType,omitempty"`
	// Text or Blob is the piece.
	Text *string `json:"text,omitempty"`
	Blob []byte  `json:"blob,omitempty"`
	// Offset is where in its block it begins, Total the size of the block, in bytes.
	Offset     int       `json:"offset"`
	Total      int       `json:"total"`
	NextCursor string    `json:"nextCursor,omitempty"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

var readResultInput = json.RawMessage(`{"type":"object","properties":{` +
	`"id":{"type":"string"},"cursor":{"type":"string"}},"required":["id"],"additionalProperties":false}`)

// readResult reads on in a result that was shortened: for who made the call, and
// while they may use the server it came from.
func (g *Gateway) readResult(ctx context.Context, t task) (json.RawMessage, error) {
	args, err := read[struct {
		ID     string `json:"id"`
		Cursor string `json:"cursor"`
	}](t.outer.Args)
	if err != nil {
		return nil, err
	}
	kept, err := g.config.Store.Result(ctx, t.request.Principal, args.ID)
	if errors.Is(err, core.NotFound) {
		return nil, noResult(args.ID)
	}
	if err != nil {
		return nil, err
	}
	if t.view.Access(kept.ServerID) != core.On {
		return nil, noResult(args.ID)
	}
	if _, err := t.server(kept.ServerID); err != nil {
		return nil, err
	}
	whole, err := result.Parse(kept.Body)
	if err != nil {
		return nil, err
	}
	p, err := whole.Page(args.Cursor, kept.PageBytes)
	if err != nil {
		return nil, err
	}
	page := ResultPage{ID: kept.ID, Block: p.Block, Type: p.Type, MimeType: p.MimeType, Offset: p.Offset, Total: p.Total,
		NextCursor: p.Next, ExpiresAt: kept.ExpiresAt.UTC()}
	if page.Blob = p.Blob; p.Blob == nil {
		page.Text = &p.Text
	}
	return core.EncodeJSON(page)
}

// noResult is the one answer for a result that never was, has expired, is somebody
// else's, or came from a server that the caller may no longer use.
func noResult(id string) *core.Error {
	return core.Errorf(core.NotFound, "there is no result %q", clip(id, 100)).
		WithHint("what is left of a long result is kept for a while only; call the tool again, and ask it for less")
}
