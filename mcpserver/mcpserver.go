// Package mcpserver is what MCP clients touch: /mcp in both generations of the
// protocol, the older SSE transport, and the bridge that puts a client's stdio
// onto a running server. It turns what they send into calls of the gateway and
// decides nothing itself.
//
// Who asks comes fresh with every HTTP request from package door. It is never
// taken from the context of an MCP handler: within a session that one belongs to
// the request which opened the session.
package mcpserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/gateway"
)

// The bounds that hold unless a Config says otherwise.
const (
	DefaultMaxSessions     = 1000
	DefaultSessionsPerUser = 100
	DefaultSessionTimeout  = 30 * time.Minute
)

const instructions = "Toolscout puts thousands of tools behind five: find one with discover_tools (say what you want to do " +
	"in plain words, or look around with list_tool_domains and browse_tool_domain), read its parameters with " +
	"get_tool_schema when the signature is not enough, and run it with execute_tool and its id. " +
	"A failed call says in its error what to mend; prefer another search to guessing names or parameters."

// Gateway is what this package needs of *gateway.Gateway.
type Gateway interface {
	Call(context.Context, core.Request, gateway.Call) (json.RawMessage, error)
	MetaTools(context.Context, core.Principal) ([]gateway.MetaTool, error)
}

// Config is what a Server is made of.
type Config struct {
	Gateway Gateway
	// Version is the version of this program, as clients are told.
	Version string
	Logger  *slog.Logger
	// MaxSessions bounds the sessions of all clients together, SessionsPerUser
	// those of one user. A user at a bound loses the session that has been idle
	// for longest; when none is idle, the new one is refused.
	MaxSessions     int
	SessionsPerUser int
	// SessionTimeout is how long a session may be idle: no request running and
	// no stream open.
	SessionTimeout time.Duration
}

// Server serves MCP. Its handlers stand behind door.Guard and door.Authenticated.
type Server struct {
	config   Config
	log      *slog.Logger
	sdk      *mcp.Server
	legacy   http.Handler // sessions, up to 2025-11-25
	modern   http.Handler // no sessions, from 2026-07-28
	sessions *sessions
	info     []byte // who we are, as JSON

	base    context.Context // of the calls that outlive their HTTP request
	stop    context.CancelFunc
	sweeper sync.WaitGroup
}

// New makes a Server. Close ends it.
func New(config Config) *Server {
	if config.MaxSessions <= 0 {
		config.MaxSessions = DefaultMaxSessions
	}
	if config.SessionsPerUser <= 0 {
		config.SessionsPerUser = DefaultSessionsPerUser
	}
	if config.SessionTimeout <= 0 {
		config.SessionTimeout = DefaultSessionTimeout
	}
	s := &Server{config: config, log: config.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.base, s.stop = context.WithCancel(context.Background())
	s.sessions = newSessions(config.MaxSessions, config.SessionsPerUser)
	self := &mcp.Implementation{Name: "toolscout", Title: "Toolscout", Version: config.Version}
	s.info, _ = json.Marshal(self) // strings only
	s.sdk = mcp.NewServer(self,
		&mcp.ServerOptions{
			Instructions: instructions,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}},
			SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { *c = cacheable },
		})
	s.sdk.AddReceivingMiddleware(s.receive)
	s.legacy, s.modern = s.lanes()
	s.sweeper.Go(func() { s.sessions.sweep(s.base, config.SessionTimeout) })
	return s
}

// cacheable goes with all that may differ between principals.
var cacheable = mcp.Cacheable{CacheScope: "private", TTLMs: int(time.Minute / time.Millisecond)}

// lanes makes the two handlers that share one path. The door has checked Host and
// Origin and bounded the body; timeouts of sessions are ours, because the SDK's
// forget those that have nothing but a stream open.
func (s *Server) lanes() (legacy, modern http.Handler) {
	get := func(*http.Request) *mcp.Server { return s.sdk }
	bridge := auth.RequireBearerToken(identify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	legacy = bridge(mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		DisableLocalhostProtection: true,
		MaxRequestBodyBytes:        -1,
	}))
	modern = bridge(mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		PropagateRequestCancellation: true,
		DisableLocalhostProtection:   true,
		MaxRequestBodyBytes:          -1,
	}))
	return legacy, modern
}

// Close ends all sessions. Calls under way may finish until ctx ends and are
// cancelled then. Call it after the listener stopped accepting and before
// http.Server.Shutdown, which waits for the streams that end here.
func (s *Server) Close(ctx context.Context) error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.sessions.closeAll()
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	}
	s.stop()
	s.sweeper.Wait()
	<-closed
	return ctx.Err()
}

// requestKey is where auth.TokenInfo carries the ticket of an HTTP request.
const requestKey = "toolscout"

// ticket is what an HTTP request hands to the handlers of the SDK.
type ticket struct {
	request core.Request
	session string  // its id, "" without one
	place   *place  // for the session that an initialize opens
	stream  *stream // nil where events do not go to the answer of this request
}

type ticketKey struct{}

// identify tells the SDK whom the door let in. It asks nobody again.
func identify(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
	t, ok := ctx.Value(ticketKey{}).(*ticket)
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	return t.info(), nil
}

func (t *ticket) info() *auth.TokenInfo {
	return &auth.TokenInfo{UserID: ownerOf(t.request).String(), Extra: map[string]any{requestKey: t}}
}

// ticketOf gives the ticket of the HTTP request that carried a message.
func ticketOf(extra *mcp.RequestExtra) *ticket {
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	t, _ := extra.TokenInfo.Extra[requestKey].(*ticket)
	return t
}
