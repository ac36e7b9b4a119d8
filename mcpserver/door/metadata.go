package door

import (
	"encoding/json"
	"net/http"
	"strings"
)

const (
	metadataPath = "/.well-known/oauth-protected-resource"
	mcpPath      = "/mcp"
)

// metadata is OAuth 2.0 Protected Resource Metadata (RFC 9728, section 2). There
// is no authorization server to name: tokens are made by an admin.
type metadata struct {
	Resource      string   `json:"resource"`
	Name          string   `json:"resource_name"`
	BearerMethods []string `json:"bearer_methods_supported"`
}

// ProtectedResourceMetadata serves /.well-known/oauth-protected-resource, for the
// whole of this server, and the same with /mcp behind it, for MCP.
func (d *Door) ProtectedResourceMetadata() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			Refuse(w, http.StatusMethodNotAllowed, "only GET is served here")
			return
		}
		doc := metadata{
			Resource:      d.base(r) + strings.TrimPrefix(r.URL.Path, metadataPath),
			Name:          "Toolscout",
			BearerMethods: []string{"header"},
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-cache")
		_ = json.NewEncoder(w).Encode(doc) // strings only; a client that is gone needs no answer
	})
}

// base is our own address as the caller knows it: Host has been checked.
func (d *Door) base(r *http.Request) string {
	if d.public != nil {
		return origin(d.public)
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
