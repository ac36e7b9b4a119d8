// Package door is what every request passes before it reaches a transport:
// request ids, the log line, recovery from panics, the checks of Host and Origin,
// the limit on bodies, and authentication. It is the same for MCP and for REST.
//
// It carries one thing in a request's context, the core.Request. A transport
// takes it out in its first line and passes it on as a parameter.
package door

import (
	"context"
	"log/slog"
	"net/url"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// DefaultMaxBody is how many bytes a request's body may have unless told otherwise.
const DefaultMaxBody = 4 << 20

// Config is what a Door is made of.
type Config struct {
	// Authenticate says whose secret has this SHA-256. Its errors are
	// core.Unauthenticated for an unknown, expired or revoked one; any other
	// means that nobody can be authenticated at the moment.
	Authenticate func(ctx context.Context, secretHash [32]byte) (core.Principal, error)
	// PublicURL is who we are to the outside, without a path; "" takes it from
	// each request's Host, which is checked.
	PublicURL string
	// AllowedHosts may be named in Host beside the names of this machine's
	// loopback and the host of PublicURL. An entry without a port stands for all ports.
	AllowedHosts []string
	// AllowedOrigins may call from a browser beside our own, e.g. https://app.example.com.
	AllowedOrigins []string
	// LoopbackOnly: we listen on loopback, so no bare address but loopback's is a name of ours.
	LoopbackOnly bool
	// MaxBody bounds a request's body in bytes; 0 means DefaultMaxBody.
	MaxBody int64
	// MaxBodies are other bounds, by path.
	MaxBodies map[string]int64
	Logger    *slog.Logger
}

// Door guards the HTTP handlers behind it.
type Door struct {
	config  Config
	public  *url.URL // nil without a PublicURL
	hosts   map[string]bool
	origins map[string]bool
	log     *slog.Logger
}

// New makes a Door. It refuses a PublicURL or an origin that is not an absolute
// http(s) URL.
func New(config Config) (*Door, error) {
	d := &Door{config: config, hosts: map[string]bool{}, origins: map[string]bool{}, log: config.Logger}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.config.MaxBody <= 0 {
		d.config.MaxBody = DefaultMaxBody
	}
	if config.PublicURL != "" {
		u, err := parseOrigin(config.PublicURL)
		if err != nil {
			return nil, err
		}
		d.public = u
		d.hosts[hostName(u.Host)] = true
		d.origins[origin(u)] = true
	}
	for _, h := range config.AllowedHosts {
		d.hosts[strings.ToLower(h)] = true
	}
	for _, o := range config.AllowedOrigins {
		u, err := parseOrigin(o)
		if err != nil {
			return nil, err
		}
		d.origins[origin(u)] = true
	}
	return d, nil
}

// Request gives what the door found out about a request: its id and, behind
// Authenticated, its principal. It is the zero value for a context that did not
// come through Guard.
func Request(ctx context.Context) core.Request {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x.request
	}
	return core.Request{}
}
