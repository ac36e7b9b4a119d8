package upstream

import (
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/toolscout/toolscout/core"
)

// roundTripper adds a server's credentials to its requests, and to no one else's;
// bounds what is read of answers; and remembers the last answer, which tells more
// about a failed handshake than the SDK's error does.
type roundTripper struct {
	base    http.RoundTripper
	host    string // the only one that gets the credentials
	headers http.Header
	limit   int64
	last    atomic.Pointer[reply]
}

// reply is what is remembered of an HTTP answer.
type reply struct {
	method      string
	status      int
	contentType string
}

// replyKey is where a context carries a *reply to be filled in.
type replyKey struct{}

func (rt *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != rt.host {
		return nil, faultf(stageConnect, "names an endpoint on another host, which is not followed")
	}
	req = req.Clone(req.Context())
	maps.Copy(req.Header, rt.headers)
	if host := rt.headers.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := rt.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	r := reply{method: req.Method, status: resp.StatusCode, contentType: mediaType(resp)}
	rt.last.Store(&r)
	if mine, ok := req.Context().Value(replyKey{}).(*reply); ok {
		*mine = r
	}
	if r.contentType != "text/event-stream" { // whose events are bounded one by one
		resp.Body = &cappedBody{ReadCloser: resp.Body, left: rt.limit}
	}
	return resp, nil
}

// client gives an HTTP client that follows no redirect: a redirect is an answer
// like any other, and not one of MCP.
func (rt *roundTripper) client() *http.Client {
	return &http.Client{Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func mediaType(resp *http.Response) string {
	if mt, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil {
		return mt
	}
	return ""
}

// errBodyTooLarge ends the reading of a body that exceeds the limit.
var errBodyTooLarge = errors.New("body too large")

// cappedBody fails once more than left bytes were read.
type cappedBody struct {
	io.ReadCloser
	left int64
}

func (b *cappedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errBodyTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, errBodyTooLarge
	}
	return n, err
}

// explain says what an answer with an unusable status or type means.
func (r *reply) explain(t core.Transport) *fault {
	f := faultf(stageCall, "answered HTTP %d %s", r.status, http.StatusText(r.status))
	f.refused = true
	switch {
	case r.status == http.StatusUnauthorized || r.status == http.StatusForbidden:
		f.text = "refused our credentials (HTTP " + http.StatusText(r.status) + ")"
		f.evict = true
	case r.status >= 300 && r.status < 400:
		f.text = "redirects to another address, which is not followed: is the URL right?"
	case r.status >= 500:
		f.refused = false // a proxy in between may say this after the server has worked
	case r.contentType == "text/html":
		f.text = "answered HTML, not MCP: is the URL right?"
		f.evict = true
	case r.status == http.StatusNotFound:
		f.text += ": is the URL right?"
		f.evict = true
	case r.status >= 200 && r.status < 300:
		f.text = "answered " + quoteType(r.contentType) + ", not MCP: is the URL right?"
		f.refused, f.evict = false, true
	}
	f.text += r.otherTransport(t)
	return f
}

func quoteType(contentType string) string {
	if contentType == "" {
		return "something without a content type"
	}
	return contentType
}

// otherTransport guesses that the server speaks another transport than t, by the
// ways in which servers of each refuse the other's first request.
func (r *reply) otherTransport(t core.Transport) string {
	switch {
	case t == core.SSE && (r.status == http.StatusBadRequest || r.status == http.StatusNotFound || r.status == http.StatusMethodNotAllowed || r.status == http.StatusNotAcceptable):
		return `; if the server speaks Streamable HTTP, its transport is "http"`
	case t == core.HTTP && (r.status == http.StatusNotFound || r.status == http.StatusMethodNotAllowed):
		return `; if the server speaks the older SSE transport, its transport is "sse"`
	}
	return ""
}

// plain says what an error of the network means, without the URL that Go's own
// messages carry.
func plain(err error) string {
	var own *core.Error
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &own):
		return own.Message
	case errors.As(err, &dns) && dns.IsNotFound:
		return "the host name is not known"
	case errors.As(err, &dns):
		return "the host name could not be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused: is it running?"
	case errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before an answer"
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded):
		return "it did not answer in time"
	case errors.As(err, &op):
		return op.Err.Error()
	case strings.Contains(err.Error(), "tls:") || strings.Contains(err.Error(), "x509:"):
		return "the TLS handshake failed"
	}
	return "the connection failed"
}
