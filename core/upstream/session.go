package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolscout/toolscout/core"
)

// wire is the data path of a session: mux for stdio and the older SSE, streamable
// for Streamable HTTP.
type wire interface {
	// add gives a request its id, before its parameters are made.
	add(*exchange)
	request(context.Context, *exchange) (json.RawMessage, error)
	// ended is closed when the session cannot be used for anything new, and why
	// then says the reason.
	ended() <-chan struct{}
	why() error
	lastHeard() time.Time
	Close() error
}

// session is a live session with a server.
type session struct {
	target *target
	sdk    *mcp.ClientSession
	wire   wire
	info   ServerInfo
	caps   mcp.ServerCapabilities
	meta   json.RawMessage // what protocol 2026-07-28 wants in each request, or nil
	onEnd  func()          // releases what the session held
	ending sync.Once

	checking atomic.Bool // somebody asks whether the server is still there

	slot *slot // nil for a trial's session

	// slot guards these.
	refs    int
	retired bool // not to be used for anything new
	made    time.Time
	used    time.Time
}

// newSession makes a session of a finished handshake.
func newSession(t *target, sdk *mcp.ClientSession, w wire, impl *mcp.Implementation) *session {
	s := &session{target: t, sdk: sdk, wire: w, onEnd: func() {}, made: time.Now(), used: time.Now()}
	init := sdk.InitializeResult()
	s.info = ServerInfo{Protocol: init.ProtocolVersion, Era: eraLegacy, Instructions: init.Instructions}
	if init.ServerInfo != nil {
		s.info.Name, s.info.Version = init.ServerInfo.Name, init.ServerInfo.Version
	}
	if init.Capabilities != nil {
		s.caps = *init.Capabilities
	}
	if init.ProtocolVersion >= modernProtocol {
		s.info.Era = eraModern
		s.meta = requestMeta(init.ProtocolVersion, impl)
	}
	return s
}

// The protocol versions that open the two generations.
const (
	modernProtocol = "2026-07-28"
	legacyProtocol = "2025-11-25"
)

// requestMeta makes the _meta that each request of the newer protocol carries. We
// declare no capabilities: a server that needs more has to say so.
func requestMeta(protocol string, impl *mcp.Implementation) json.RawMessage {
	meta, err := json.Marshal(map[string]any{
		mcp.MetaKeyProtocolVersion:    protocol,
		mcp.MetaKeyClientInfo:         impl,
		mcp.MetaKeyClientCapabilities: struct{}{},
	})
	if err != nil {
		panic(err) // strings always marshal
	}
	return meta
}

// withMeta makes a request's parameters of what goes before _meta (fields, each
// followed by a comma) and of _meta itself. token is a progress token or 0.
func withMeta(fields, meta []byte, token int64) json.RawMessage {
	var b bytes.Buffer
	b.Grow(len(fields) + len(meta) + 64)
	b.WriteByte('{')
	b.Write(fields)
	switch {
	case token == 0 && meta == nil:
		b.Truncate(max(1, b.Len()-1)) // the last comma
	case token == 0:
		b.WriteString(`"_meta":`)
		b.Write(meta)
	default:
		b.WriteString(`"_meta":{"progressToken":`)
		b.WriteString(strconv.FormatInt(token, 10))
		if len(meta) > 2 {
			b.WriteByte(',')
			b.Write(meta[1 : len(meta)-1])
		}
		b.WriteByte('}')
	}
	b.WriteByte('}')
	return b.Bytes()
}

// call runs a tool. It reports whether the request may have reached the server.
func (s *session) call(ctx context.Context, c *Call) (raw json.RawMessage, sent bool, err error) {
	args := bytes.TrimSpace(c.Args)
	if len(args) == 0 || string(args) == "null" {
		args = []byte("{}")
	}
	if args[0] != '{' || !json.Valid(args) {
		return nil, false, core.Errorf(core.InvalidParams, "the arguments are not a JSON object")
	}
	name, err := json.Marshal(c.Tool)
	if err != nil {
		return nil, false, fmt.Errorf("name of tool: %w", err)
	}
	x := &exchange{method: "tools/call", name: c.Tool}
	if s.meta != nil {
		x.mirrored = mirrored(c.InputSchema, args)
	}
	s.wire.add(x)
	token := int64(0)
	if c.Progress != nil {
		token = x.id
		x.progress = newProgress(c.Progress)
	}
	x.params = withMeta(bytes.Join([][]byte{[]byte(`"name":`), name, []byte(`,"arguments":`), args, {','}}, nil), s.meta, token)
	raw, err = s.wire.request(ctx, x)
	if x.progress != nil {
		x.progress.finish(ctx)
	}
	if err == nil {
		raw, err = finished(raw)
	}
	var rpc *RPCError
	if asked := x.asked.Load(); asked != nil && errors.As(err, &rpc) {
		err = askedForInput(*asked, rpc)
	}
	return raw, x.sent.Load(), err
}

// finished checks that raw is a result, and a final one.
func finished(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		f := faultf(stageCall, "sent an empty answer")
		f.healthy = true
		return nil, f
	}
	if !bytes.Contains(raw, []byte(`"resultType"`)) && !bytes.Contains(raw, []byte(`"task"`)) {
		return raw, nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return raw, nil
	}
	var kind string
	if json.Unmarshal(fields["resultType"], &kind) != nil {
		kind = "complete"
	}
	if fields["task"] != nil && fields["content"] == nil && kind == "complete" {
		kind = "task"
	}
	switch kind {
	case "complete":
		return raw, nil
	case "input_required":
		return nil, askedForInput("input", nil)
	case "task":
		return nil, notFinal("answered with a task to come back for, which this gateway does not do")
	}
	return nil, notFinal("answered with a result of an unknown type (%s)", strconv.Quote(kind))
}

// notFinal is the fault of an answer that is none yet. It says nothing against the
// server.
func notFinal(format string, args ...any) *fault {
	f := faultf(stageCall, format, args...)
	f.refused, f.healthy = true, true
	return f
}

func askedForInput(what string, rpc *RPCError) *fault {
	if rpc == nil {
		return notFinal("asked for %s, which this gateway does not pass on", what)
	}
	return notFinal("asked for input (%s), which this gateway does not pass on, and then failed: %s", what, rpc.Message).because(rpc)
}

// over reports whether the session has ended by itself.
func (s *session) over() bool {
	select {
	case <-s.wire.ended():
		return true
	default:
		return false
	}
}

// alive asks the server for any sign of life.
func (s *session) alive(ctx context.Context) bool {
	x := &exchange{method: "ping"}
	if s.meta != nil {
		x.method = "server/discover"
	}
	s.wire.add(x)
	x.params = withMeta(nil, s.meta, 0)
	_, err := s.wire.request(ctx, x)
	var rpc *RPCError
	return err == nil || errors.As(err, &rpc)
}

// close ends the session and everything that belongs to it.
func (s *session) close() {
	s.ending.Do(func() {
		_ = s.wire.Close() // what the SDK still has in flight fails, so that its Close does not wait
		_ = s.sdk.Close()
		s.onEnd()
	})
}
