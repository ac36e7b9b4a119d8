package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/gateway"
)

// The resources are the results that were shortened, whole. Nobody can list them:
// their URIs stand in the results themselves.

// resultTemplate is how their URIs look (RFC 6570).
const resultTemplate = "toolscout://results/{id}{?cursor}"

// legacyNotFound is what the generations with sessions say of a resource that does
// not exist; the one without says that the params are invalid.
const legacyNotFound = -32002

// cached is what lists and resources say of themselves beside their content.
type cached struct {
	TTLMs      int    `json:"ttlMs"`
	CacheScope string `json:"cacheScope"`
}

var private = cached{cacheable.TTLMs, cacheable.CacheScope}

func (s *Server) listResources(t *ticket) (mcp.Result, error) {
	return s.encoded(t, struct {
		Resources []any `json:"resources"`
		cached
	}{[]any{}, private})
}

func (s *Server) listResourceTemplates(t *ticket) (mcp.Result, error) {
	type template struct {
		URITemplate string `json:"uriTemplate"`
		Name        string `json:"name"`
		Title       string `json:"title"`
		Description string `json:"description"`
	}
	return s.encoded(t, struct {
		ResourceTemplates []template `json:"resourceTemplates"`
		cached
	}{[]template{{resultTemplate, "result", "The rest of a long result",
		"A result that was shortened says in its marker where to read on. What is read says in " + metaNext + " where it goes on from there."}}, private})
}

// The members of _meta that go with what is read.
const (
	metaNext    = "toolscout/nextUri"
	metaBlock   = "toolscout/block"
	metaType    = "toolscout/type"
	metaOffset  = "toolscout/offset"
	metaTotal   = "toolscout/total"
	metaExpires = "toolscout/expiresAt"
)

// contents is what is read of a resource.
type contents struct {
	URI      string         `json:"uri"`
	MimeType string         `json:"mimeType,omitempty"`
	Text     *string        `json:"text,omitempty"`
	Blob     []byte         `json:"blob,omitempty"`
	Meta     map[string]any `json:"_meta"`
}

func (s *Server) readResource(ctx context.Context, t *ticket, uri string) (mcp.Result, error) {
	id, cursor, ok := readURI(uri)
	if !ok {
		return nil, noResource(t, uri)
	}
	args, err := core.EncodeJSON(map[string]string{"id": id, "cursor": cursor})
	if err != nil {
		return nil, s.rpcError(t.request, err)
	}
	answer, err := s.config.Gateway.Call(ctx, t.request, gateway.Call{Action: gateway.ReadResult, Via: core.LevelMeta, Args: args, SessionID: t.session})
	switch {
	case errors.Is(err, core.NotFound):
		return nil, noResource(t, uri)
	case errors.Is(err, core.InvalidParams):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: core.Public(err).Message}
	case err != nil:
		return nil, s.rpcError(t.request, err)
	}
	var page gateway.ResultPage
	if err := json.Unmarshal(answer, &page); err != nil {
		return nil, s.rpcError(t.request, err)
	}
	return s.encoded(t, struct {
		Contents []contents `json:"contents"`
		cached
	}{[]contents{contentsOf(uri, page)}, private})
}

func contentsOf(uri string, page gateway.ResultPage) contents {
	c := contents{URI: uri, MimeType: page.MimeType, Text: page.Text, Blob: page.Blob, Meta: map[string]any{
		metaBlock: page.Block, metaType: page.Type, metaOffset: page.Offset, metaTotal: page.Total, metaExpires: page.ExpiresAt}}
	if c.MimeType == "" && c.Text != nil {
		c.MimeType = "text/plain"
	}
	if page.NextCursor != "" {
		c.Meta[metaNext] = "toolscout://results/" + page.ID + "?cursor=" + url.QueryEscape(page.NextCursor)
	}
	return c
}

// readURI takes the URI of a result apart.
func readURI(uri string) (id, cursor string, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "toolscout" || u.Host != "results" || u.User != nil || u.Fragment != "" {
		return "", "", false
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || len(query) > 1 || len(query) == 1 && len(query["cursor"]) != 1 {
		return "", "", false
	}
	id = strings.TrimPrefix(u.Path, "/")
	return id, query.Get("cursor"), id != ""
}

func noResource(t *ticket, uri string) error {
	code := int64(jsonrpc.CodeInvalidParams)
	if t.session != "" {
		code = legacyNotFound
	}
	data, _ := json.Marshal(map[string]string{"uri": uri}) // a string always can be
	return &jsonrpc.Error{Code: code, Message: "there is no such resource, or no longer", Data: data}
}

// encoded is a result of our own.
func (s *Server) encoded(t *ticket, v any) (mcp.Result, error) {
	raw, err := core.EncodeJSON(v)
	if err != nil {
		return nil, s.rpcError(t.request, err)
	}
	return &rawResult{raw: raw}, nil
}
