package door

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// checkHost refuses a request that names a host which is not us. A page that an
// attacker points at our address (DNS rebinding) sends its own name there, never
// a bare address or localhost.
func (d *Door) checkHost(r *http.Request) error {
	host := strings.ToLower(r.Host)
	name := hostName(host)
	if d.hosts[host] || d.hosts[name] || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return nil
	}
	if ip, err := netip.ParseAddr(name); err == nil && (ip.IsLoopback() || !d.config.LoopbackOnly) {
		return nil
	}
	return core.Errorf(core.Denied, "this server does not answer to the host %q", clip(r.Host)).
		WithHint("call it by localhost, or set TOOLSCOUT_PUBLIC_URL to the address it is reached by")
}

// checkOrigin refuses pages of other sites. It reports whether the origin is an
// allowed one other than the host itself, which then needs CORS headers.
func (d *Door) checkOrigin(r *http.Request) (cross bool, err error) {
	values := r.Header["Origin"]
	if len(values) == 0 {
		return false, nil
	}
	refusal := core.Errorf(core.Denied, "calls from this origin are not allowed").
		WithHint("add it to TOOLSCOUT_ALLOWED_ORIGINS")
	if len(values) > 1 {
		return false, refusal
	}
	u, err := parseOrigin(values[0])
	if err != nil {
		return false, refusal
	}
	if strings.EqualFold(u.Host, r.Host) {
		return false, nil
	}
	if !d.origins[origin(u)] {
		return false, refusal
	}
	return true, nil
}

// allowCross lets a page of an allowed origin read the answer, and answers the
// question that browsers ask before; it reports whether it did.
func allowCross(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Www-Authenticate, X-Request-Id, Retry-After")
	h.Add("Vary", "Origin")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Last-Event-ID, X-Agent-Name, "+
		"Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// parseOrigin takes scheme://host[:port], with nothing behind but a slash.
func parseOrigin(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") ||
		u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not of the form https://host[:port]", clip(s))
	}
	return u, nil
}

// origin is the one spelling of an origin: lower case, no default port.
func origin(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	}
	if u.Scheme == "http" {
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host
}

// hostName is host without port and brackets.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// clip bounds what is repeated of a stranger's words.
func clip(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
