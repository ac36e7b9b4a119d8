package door

import (
	"net/http"
	"time"

	"github.com/toolscout/toolscout/core"
)

type exchangeKey struct{}

// exchange is one request and what became of it. It is the ResponseWriter of the
// handlers behind Guard, and what their context carries.
type exchange struct {
	http.ResponseWriter

	request core.Request
	status  int // 0 until the header is written
	bytes   int64
	err     error // what a problem document was made of

	allowed time.Time // when a write was last given its time
}

const (
	// writeTimeout is how long a client may let a write wait: one that does not read
	// would hold its handler, and its session, for ever.
	writeTimeout = 2 * time.Minute
	// allowEvery is how often that is set anew.
	allowEvery = 10 * time.Second
)

// allow gives what is written next its time.
func (x *exchange) allow() {
	now := time.Now()
	if now.Sub(x.allowed) < allowEvery {
		return
	}
	x.allowed = now
	_ = http.NewResponseController(x.ResponseWriter).SetWriteDeadline(now.Add(writeTimeout)) // what has no connection needs none
}

// WriteHeader notes the first final status.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= 200 {
		x.status = status
	}
	x.allow()
	x.ResponseWriter.WriteHeader(status)
}

// Write counts what is written.
func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	x.allow()
	n, err := x.ResponseWriter.Write(p)
	x.bytes += int64(n)
	return n, err
}

// FlushError sends what is written so far.
func (x *exchange) FlushError() error {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	x.allow()
	return http.NewResponseController(x.ResponseWriter).Flush()
}

// Flush is FlushError for callers that look for an http.Flusher.
func (x *exchange) Flush() { _ = x.FlushError() }

// Unwrap serves http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// exchangeOf finds the exchange that w wraps, or nil.
func exchangeOf(w http.ResponseWriter) *exchange {
	for {
		switch v := w.(type) {
		case *exchange:
			return v
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return nil
		}
	}
}

// note leaves an error to the log line of the request.
func note(w http.ResponseWriter, err error) {
	if x := exchangeOf(w); x != nil {
		x.err = err
	}
}
