package rest

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strings"
)

// docsPage shows /openapi.json to people. It is one file, loads nothing else, and
// writes what it reads as text only.
//
//go:embed docs.html
var docsPage string

// docs serves the page under a policy that allows its own script and style, by
// their hashes, and requests to this server.
func docs() http.HandlerFunc {
	policy := "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"style-src '" + hashOf("style") + "'; script-src '" + hashOf("script") + "'"
	return func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		_, _ = w.Write([]byte(docsPage)) // the client may have gone
	}
}

// hashOf is the source expression of the page's one element of a name.
func hashOf(element string) string {
	_, rest, _ := strings.Cut(docsPage, "<"+element+">")
	content, _, _ := strings.Cut(rest, "</"+element+">")
	sum := sha256.Sum256([]byte(content))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
