package upstream

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolscout/toolscout/core"
)

// probeTimeout bounds the question whether a server speaks the newer protocol: some
// older ones never answer it.
const probeTimeout = 5 * time.Second

var (
	newest = (*mcp.ClientSessionOptions)(nil)
	pinned = &mcp.ClientSessionOptions{ProtocolVersion: legacyProtocol}
)

// dial makes a session, in whichever generation the server turns out to speak. era
// is the last one known, which may be out of date.
func (p *Pool) dial(ctx context.Context, t *target, era string) (*session, error) {
	switch t.transport {
	case core.Stdio:
		return p.dialStdio(ctx, t, era)
	case core.SSE:
		return p.dialSSE(ctx, t)
	}
	return p.dialHTTP(ctx, t, era)
}

// client makes the SDK's client of one session. It declares no capabilities, so
// that no server expects answers from us that we cannot give.
func (p *Pool) client(t *target) *mcp.Client {
	o := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}, MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}}
	if t.transport != core.HTTP { // there streamable listens
		o.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { p.notify.changed(t.id) }
		o.PromptListChangedHandler = func(context.Context, *mcp.PromptListChangedRequest) { p.notify.changed(t.id) }
		o.ResourceListChangedHandler = func(context.Context, *mcp.ResourceListChangedRequest) { p.notify.changed(t.id) }
	}
	return mcp.NewClient(p.implementation(), o)
}

func (p *Pool) implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: "toolscout", Version: p.cfg.Version}
}

// dialStdio starts a child and shakes hands. A child that is known to be old is not
// probed; when that fails, it may have been upgraded since.
func (p *Pool) dialStdio(ctx context.Context, t *target, era string) (*session, error) {
	wasLegacy := era == eraLegacy
	if wasLegacy {
		s, err := p.startStdio(ctx, t, false)
		if err == nil || ctx.Err() != nil || asFault(stageStart, err).stage == stageStart {
			return s, err
		}
	}
	s, err := p.startStdio(ctx, t, true)
	if errors.Is(err, errProbeKilled) && !wasLegacy {
		return p.startStdio(ctx, t, false) // some servers end at the first request they do not know
	}
	return s, err
}

// errProbeKilled is in the error of a child that ended while it was probed.
var errProbeKilled = errors.New("ended at the probe")

func (p *Pool) startStdio(ctx context.Context, t *target, probe bool) (*session, error) {
	release, err := p.childSlot(ctx)
	if err != nil {
		return nil, err
	}
	child, err := startProcess(t)
	if err != nil {
		release()
		return nil, err
	}
	m := newMux(newStdio(child, p.cfg.MaxResponse))
	sdk, err := p.shakeStdio(ctx, t, m, probe)
	if err != nil {
		_ = m.Close()
		release()
		return nil, err
	}
	s := newSession(t, sdk, m, p.implementation())
	s.onEnd = release
	return s, nil
}

// shakeStdio probes and initialises on one process: a slow start (a package that is
// still being fetched) must not look like a server that cannot be probed.
func (p *Pool) shakeStdio(ctx context.Context, t *target, m *mux, probe bool) (*mcp.ClientSession, error) {
	opts := pinned
	if probe {
		modern, err := p.probe(ctx, m)
		if err != nil {
			return nil, errors.Join(errProbeKilled, err)
		}
		if modern {
			opts = newest
		}
	}
	sdk, err := p.client(t).Connect(ctx, m, opts)
	if err == nil {
		return sdk, nil
	}
	if f := m.breach(); f != nil {
		return nil, inStage(stageInitialize, f)
	}
	return nil, handshakeFault(ctx, err)
}

// probe asks whether the newer protocol is spoken. The error is the end of the
// process.
func (p *Pool) probe(ctx context.Context, m *mux) (modern bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	x := &exchange{method: "server/discover"}
	m.add(x)
	x.params = withMeta(nil, requestMeta(modernProtocol, p.implementation()), 0)
	_, err = m.request(ctx, x)
	var rpc *RPCError
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &rpc):
		return rpc.Code == mcp.CodeUnsupportedProtocolVersion, nil // the SDK negotiates
	case ctx.Err() != nil:
		return false, nil // mute: as old servers are
	}
	return false, inStage(stageInitialize, err)
}

// inStage moves a fault to the stage it happened in.
func inStage(stage string, err error) *fault {
	f := *asFault(stage, err)
	f.stage = stage
	return &f
}

// handshakeFault says what a failed handshake means.
func handshakeFault(ctx context.Context, err error) *fault {
	var rpc *jsonrpc.Error
	if ctx.Err() != nil {
		return faultf(stageInitialize, "did not complete the handshake in time").because(err)
	}
	// The SDK uses the codes from -32005 to -32001 for its own errors.
	if errors.As(err, &rpc) && (rpc.Code > -32001 || rpc.Code < -32005) {
		return faultf(stageInitialize, "refused the handshake: %s", rpc.Message).because(err)
	}
	return faultf(stageInitialize, "the handshake failed: %s", plain(err)).because(err)
}

// newRoundTripper dials through the guard that the target's origin calls for.
func (p *Pool) newRoundTripper(t *target) (*roundTripper, error) {
	u, err := url.Parse(t.url)
	if err != nil {
		return nil, misconfigured("the URL cannot be read").because(err)
	}
	base := p.guarded
	if t.trusted {
		base = p.trusted
	}
	return &roundTripper{base: base, host: u.Host, headers: t.headers, limit: p.cfg.MaxResponse}, nil
}

func (p *Pool) dialHTTP(ctx context.Context, t *target, era string) (*session, error) {
	rt, err := p.newRoundTripper(t)
	if err != nil {
		return nil, err
	}
	if era == eraLegacy {
		s, err := p.shakeHTTP(ctx, t, rt, pinned)
		if err == nil || ctx.Err() != nil || rt.last.Load() == nil {
			return s, err
		}
	}
	probing, cancel := context.WithTimeout(ctx, probeTimeout)
	s, err := p.shakeHTTP(probing, t, rt, newest)
	mute := probing.Err() != nil
	cancel()
	if err != nil && mute && ctx.Err() == nil {
		return p.shakeHTTP(ctx, t, rt, pinned)
	}
	return s, err
}

// shakeHTTP makes a Streamable HTTP session. The SDK's stream for changes is off:
// streamable has its own, which cannot end the session.
func (p *Pool) shakeHTTP(ctx context.Context, t *target, rt *roundTripper, opts *mcp.ClientSessionOptions) (*session, error) {
	client := rt.client()
	tr := &mcp.StreamableClientTransport{Endpoint: t.url, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true}
	sdk, err := p.client(t).Connect(ctx, tr, opts)
	if err != nil {
		return nil, explained(ctx, err, rt, t)
	}
	h := &streamable{url: t.url, client: client, limit: p.cfg.MaxResponse, sessionID: sdk.ID(), done: make(chan struct{})}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	s := newSession(t, sdk, h, p.implementation())
	h.protocol, h.modern = s.info.Protocol, s.meta != nil
	h.onNotice = func(method string) {
		switch method {
		case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
			p.notify.changed(t.id)
		}
	}
	h.listenTo(s)
	return s, nil
}

// listenTo opens the stream on which the server tells of changes.
func (h *streamable) listenTo(s *session) {
	if !h.modern {
		h.tasks.start(func() {
			h.listen(func(ctx context.Context) (*http.Response, error) { return h.get(ctx, "") })
		})
		return
	}
	if s.caps.Tools != nil && s.caps.Tools.ListChanged {
		params := withMeta([]byte(`"notifications":{"toolsListChanged":true},`), s.meta, 0)
		h.tasks.start(func() { h.listen(h.subscribe(params)) })
	}
}

// explained says why a handshake over HTTP failed, by the server's last answer.
func explained(ctx context.Context, err error, rt *roundTripper, t *target) *fault {
	last := rt.last.Load()
	var f *fault
	switch {
	case errors.As(err, &f):
		return inStage(stageConnect, f)
	case last == nil && ctx.Err() == nil:
		return faultf(stageConnect, "%s", plain(err)).because(err)
	case last != nil && (last.status < 200 || last.status >= 300 || last.contentType != "application/json" && last.contentType != "text/event-stream" && last.contentType != ""):
		return inStage(stageInitialize, last.explain(t.transport).because(err))
	}
	return handshakeFault(ctx, err)
}
