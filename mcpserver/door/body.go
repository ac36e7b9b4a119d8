package door

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// bodyTimeout is how long a client may take to send a body.
	bodyTimeout = time.Minute
	// A body that is too large is read on for a while: a client that is still
	// sending when its connection closes never sees why.
	lingerBytes   = 64 << 20
	lingerTimeout = 5 * time.Second
)

// body is a request's body, bounded in size and in time.
type body struct {
	io.ReadCloser // bounded
	raw           io.Reader
	deadline      *http.ResponseController
}

// receive bounds the body of r, if it has one. It reports false when r says itself
// that its body is too large, and has then refused it.
func (d *Door) receive(x *exchange, r *http.Request) bool {
	if r.Body == nil || r.Body == http.NoBody {
		return true
	}
	b := &body{raw: r.Body, deadline: http.NewResponseController(x.ResponseWriter)}
	b.within(bodyTimeout)
	tooLarge := &http.MaxBytesError{Limit: cmp.Or(d.config.MaxBodies[r.URL.Path], d.config.MaxBody)}
	if r.ContentLength > tooLarge.Limit {
		if r.Header.Get("Expect") == "" { // or else nothing is on its way yet
			b.linger()
		}
		Problem(x, tooLarge)
		return false
	}
	b.ReadCloser = http.MaxBytesReader(x, r.Body, tooLarge.Limit)
	r.Body = b
	return true
}

// Read reads on; at the body's end its deadline is lifted, which would else cut off
// whoever waits for the answer.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		b.linger()
	case errors.Is(err, io.EOF):
		b.within(0)
	}
	return n, err
}

// linger reads what is left, within bounds. Where there is still more, the
// deadline stands: net/http reads on before it answers.
func (b *body) linger() {
	b.within(lingerTimeout)
	if _, err := io.CopyN(io.Discard, b.raw, lingerBytes); errors.Is(err, io.EOF) {
		b.within(0)
	}
}

// within sets the deadline for all further reading, or lifts it.
func (b *body) within(d time.Duration) {
	var at time.Time
	if d > 0 {
		at = time.Now().Add(d)
	}
	_ = b.deadline.SetReadDeadline(at) // what has no connection needs none
}
