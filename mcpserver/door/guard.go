package door

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"github.com/toolscout/toolscout/core"
)

const requestIDHeader = "X-Request-Id"

// Guard stands before everything: it gives the request its id, checks Host and
// Origin, bounds the body, survives a panic of next, and writes one log line.
func (d *Door) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		x := &exchange{ResponseWriter: w}
		x.request.ID = newID()
		x.allow() // the connection may carry the deadline of an earlier answer
		w.Header().Set(requestIDHeader, x.request.ID)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		defer d.logLine(r, x, start)
		defer d.recovered(x)
		d.admit(x, r, next)
	})
}

func (d *Door) admit(x *exchange, r *http.Request, next http.Handler) {
	if err := d.checkHost(r); err != nil {
		Problem(x, err)
		return
	}
	cross, err := d.checkOrigin(r)
	if err != nil {
		Problem(x, err)
		return
	}
	if cross && allowCross(x, r) {
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	if d.receive(x, r) {
		next.ServeHTTP(x, r)
	}
}

// newID is a fresh UUIDv7: a client's own request id would let it write into the
// traces of others.
func newID() string {
	id, err := uuid.NewV7()
	if err != nil { // no randomness: nothing here can go on safely
		panic(fmt.Errorf("make a request id: %w", err))
	}
	return id.String()
}

// recovered turns a panic into an internal error, or into a broken connection
// when an answer was already begun.
func (d *Door) recovered(x *exchange) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	d.log.Error("handler panicked", "request_id", x.request.ID, "panic", v, "stack", string(debug.Stack()))
	if x.status != 0 {
		x.err = fmt.Errorf("panic: %v", v)
		panic(http.ErrAbortHandler)
	}
	Problem(x, fmt.Errorf("panic: %v", v))
}

func (d *Door) logLine(r *http.Request, x *exchange, start time.Time) {
	level := slog.LevelInfo
	attrs := make([]slog.Attr, 0, 9)
	attrs = append(attrs,
		slog.String("request_id", x.request.ID),
		slog.String("method", r.Method),
		slog.String("path", clip(r.URL.Path)),
		slog.Int("status", x.status),
		slog.Int64("bytes", x.bytes),
		slog.Float64("duration_ms", float64(time.Since(start).Microseconds())/1000))
	if p := x.request.Principal; p.UserID != "" {
		attrs = append(attrs, slog.String("user", p.UserName), slog.String("agent", p.Agent))
	}
	if x.err != nil {
		attrs = append(attrs, slog.String("error", x.err.Error()))
		level = levelOf(x.err)
	}
	d.log.LogAttrs(context.Background(), level, "request", attrs...)
}

// levelOf is how loud an error is: a refusal is the caller's affair.
func levelOf(err error) slog.Level {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return slog.LevelInfo
	}
	switch core.Public(err).Kind {
	case core.Internal:
		return slog.LevelError
	case core.Unavailable:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}
