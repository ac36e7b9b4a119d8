package upstream

import (
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolscout/toolscout/core"
)

// Pool keeps the live sessions.
type Pool struct {
	cfg Config
}

// New makes a Pool. Close it.
func New(cfg Config) *Pool { return &Pool{cfg: cfg} }

// Close ends every session.
func (p *Pool) Close() error { return nil }

// Drop closes the sessions with a server whose configuration changed or is gone.
func (p *Pool) Drop(serverID string) {}

func (p *Pool) connect(ctx context.Context, s *core.Server) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "toolscout", Version: p.cfg.Version}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	var t mcp.Transport
	switch s.Transport {
	case core.Stdio:
		cmd := exec.Command(s.Command, s.Args...)
		cmd.Env = append(cmd.Environ(), environ(s.Env)...)
		t = &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}
	case core.SSE:
		t = &mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: http.DefaultClient}
	default:
		t = &mcp.StreamableClientTransport{Endpoint: s.URL}
	}
	cs, err := c.Connect(ctx, t, nil)
	if err != nil {
		return nil, core.Errorf(core.Unavailable, "%s cannot be reached", s.Name).Because(err)
	}
	return cs, nil
}

func environ(env map[string]string) []string {
	var out []string
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	return out
}

// Call runs a tool.
func (p *Pool) Call(ctx context.Context, c Call) (Result, error) {
	start := time.Now()
	cs, err := p.connect(ctx, c.Server)
	if err != nil {
		return Result{}, err
	}
	defer cs.Close()
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: c.Tool, Arguments: c.Args})
	if err != nil {
		return Result{Sent: true}, core.Errorf(core.UpstreamError, "%s: %v", c.Server.Name, err)
	}
	raw, err := json.Marshal(res)
	return Result{Raw: raw, Sent: true, Duration: time.Since(start)}, err
}

// List asks a server for all that it offers.
func (p *Pool) List(ctx context.Context, s *core.Server) (Listing, error) {
	cs, err := p.connect(ctx, s)
	if err != nil {
		return Listing{}, err
	}
	defer cs.Close()
	var l Listing
	for t, err := range cs.Tools(ctx, nil) {
		if err != nil {
			return l, core.Errorf(core.UpstreamError, "%s: %v", s.Name, err)
		}
		raw, err := json.Marshal(t)
		if err != nil {
			return l, err
		}
		l.Tools = append(l.Tools, raw)
	}
	return l, nil
}

// Test tries a configuration that is not saved, in a session of its own.
func (p *Pool) Test(ctx context.Context, s *core.Server) TestResult {
	l, err := p.List(ctx, s)
	if err != nil {
		return TestResult{Stage: "connect", Message: core.Public(err).Message}
	}
	return TestResult{OK: true, ToolCount: len(l.Tools)}
}
