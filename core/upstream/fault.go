package upstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
)

// RPCError is a JSON-RPC error that a server answered with. It is the cause of
// the core.UpstreamError that Call returns.
type RPCError struct {
	Code    int64
	Message string
	Data    []byte // JSON, or nil
}

func (e *RPCError) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

// unknownTool reports whether the server means that it has no such tool.
func (e *RPCError) unknownTool() bool {
	return (e.Code == -32602 || e.Code == -32601) && namesUnknownTool(e.Message)
}

func namesUnknownTool(message string) bool {
	m := strings.ToLower(message)
	return strings.Contains(m, "unknown tool") ||
		strings.Contains(m, "tool") && (strings.Contains(m, "not found") || strings.Contains(m, "does not exist"))
}

// fault is why a dial or a request failed, with what follows from it.
type fault struct {
	stage string // as core.Health names it
	text  string // without secrets, and without the server's name
	cause error

	// config: no retry helps before somebody mends the configuration.
	config bool
	// evict: the session is not to be used again.
	evict bool
	// missing: the server did not carry the request out because it no longer
	// knows the session.
	missing bool
	// refused: the server answered, and did not carry the request out.
	refused bool
	// healthy: the fault says nothing against the server's health.
	healthy bool
	// until is when the next dial is due, for those that come during a pause.
	until time.Time
}

func (f *fault) Error() string {
	if f.cause == nil {
		return f.text
	}
	return f.text + ": " + f.cause.Error()
}

func (f *fault) Unwrap() error { return f.cause }

func (f *fault) because(err error) *fault { f.cause = err; return f }

func faultf(stage, format string, args ...any) *fault {
	return &fault{stage: stage, text: fmt.Sprintf(format, args...)}
}

func misconfigured(format string, args ...any) *fault {
	f := faultf(stageConfig, format, args...)
	f.config = true
	return f
}

// lost is the end of a session in the middle of something.
func lost(format string, args ...any) *fault {
	f := faultf(stageCall, format, args...)
	f.evict = true
	return f
}

// The stages of core.Health.
const (
	stageConfig     = "config"
	stageStart      = "start"
	stageConnect    = "connect"
	stageInitialize = "initialize"
	stageList       = "list"
	stageCall       = "call"
)

// asFault finds the fault in err, or makes one.
func asFault(stage string, err error) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	return faultf(stage, "%s", plain(err)).because(err)
}

// errClosed is what calls get once the pool is closing.
var errClosed = core.Errorf(core.Unavailable, "the gateway is shutting down")

// refuse makes of an error what a caller may see. sent says whether the request
// may have reached the server.
func refuse(t *target, err error, sent bool) error {
	var rpc *RPCError
	var own *core.Error
	var f *fault
	switch {
	case errors.As(err, &f):
		return f.refusal(t, sent)
	case errors.As(err, &rpc):
		return core.Errorf(core.UpstreamError, "%s answered with error %d: %s", t.name, rpc.Code, t.mask.clean(rpc.Message)).Because(err)
	case errors.As(err, &own):
		return own
	case errors.Is(err, context.DeadlineExceeded) && sent:
		return core.Errorf(core.Timeout, "%s did not answer in time; the call may have run", t.name).Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return core.Errorf(core.Unavailable, "%s could not be reached in time; the call was not sent", t.name).Because(err)
	case errors.Is(err, context.Canceled) && sent:
		return core.Errorf(core.Timeout, "the call was cancelled; it may have run").Because(err)
	case errors.Is(err, context.Canceled):
		return core.Errorf(core.Timeout, "the call was cancelled").Because(err)
	case sent:
		return core.Errorf(core.UpstreamError, "%s: the connection was lost; the call may have run", t.name).Because(err)
	}
	return core.Errorf(core.Unavailable, "%s is unavailable", t.name).Because(err)
}

func (f *fault) refusal(t *target, sent bool) error {
	text := t.mask.clean(f.text)
	switch {
	case f.refused && sent:
		return core.Errorf(core.UpstreamError, "%s: %s", t.name, text).Because(f)
	case sent:
		return core.Errorf(core.UpstreamError, "%s: %s; the call may have run", t.name, text).Because(f)
	}
	e := core.Errorf(core.Unavailable, "%s is unavailable: %s", t.name, text).Because(f)
	if !f.until.IsZero() {
		e.RetryAfter = max(time.Until(f.until), time.Millisecond)
		e.Hint = fmt.Sprintf("the next try is in %s", e.RetryAfter.Round(100*time.Millisecond))
	}
	return e
}
