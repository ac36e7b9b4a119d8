package embeddings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/toolscout/toolscout/core"
)

const (
	attempts       = 4
	firstDelay     = 100 * time.Millisecond // doubled each time: a search waits 0.7 s at most
	longestDelay   = 30 * time.Second       // a longer Retry-After is the caller's to wait for
	requestTimeout = time.Minute
	textTimeout    = 10 * time.Second // more for each further text: a transformer on a busy CPU is slow
	maxResponse    = 32 << 20         // 32 texts of 4,096 dimensions are 3 MB
	maxComplaint   = 300              // bytes of a refusal that are kept for the log
)

// batch asks for the vectors of one request's texts, patiently.
func (h *HTTP) batch(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(h.protocol.request(h.config.Model, texts))
	if err != nil {
		return nil, fmt.Errorf("encode %d texts: %w", len(texts), err)
	}
	delay := firstDelay
	for try := 1; ; try++ {
		answer, err := h.ask(ctx, body, requestTimeout+time.Duration(len(texts)-1)*textTimeout)
		if err == nil {
			return h.read(answer, len(texts))
		}
		var later *again
		if !errors.As(err, &later) {
			return nil, err
		}
		wait := max(later.reason.RetryAfter, delay/2+rand.N(delay/2))
		deadline, limited := ctx.Deadline()
		if try == attempts || wait > longestDelay || limited && time.Until(deadline) < wait {
			return nil, later.reason
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
		delay *= 2
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the embedding service: %w", ctx.Err())
	}
}

// again is a failure that may pass: asking once more makes sense.
type again struct{ reason *core.Error }

func (a *again) Error() string { return a.reason.Error() }
func (a *again) Unwrap() error { return a.reason }

// ask sends one request and gives the body of a good answer.
func (h *HTTP) ask(ctx context.Context, body []byte, timeout time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", bare(err))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if h.config.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+h.config.APIKey)
	}
	resp, err := h.config.Client.Do(req)
	if err != nil {
		return nil, unreachable(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return nil, &again{core.Errorf(core.Unavailable, "the embedding service's answer broke off").Because(bare(err))}
	}
	if len(answer) > maxResponse {
		return nil, core.Errorf(core.UpstreamError, "the embedding service's answer is longer than %d MiB", maxResponse>>20)
	}
	return answer, h.refusal(resp, answer)
}

// unreachable says why there was no answer. Asking again makes sense where the service
// took the request and hung up, and none where nobody is there or it takes for ever.
func unreachable(err error) error {
	switch why := bare(err); {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF):
		return &again{core.Errorf(core.Unavailable, "the embedding service hung up").Because(why)}
	case errors.Is(err, context.DeadlineExceeded):
		return core.Errorf(core.Unavailable, "the embedding service did not answer in time").Because(why)
	default:
		return core.Errorf(core.Unavailable, "the embedding service cannot be reached").Because(why)
	}
}

// bare takes the URL, which may hold a key, off an error of net/http.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// refusal turns an answer that is no success into an error.
func (h *HTTP) refusal(resp *http.Response, answer []byte) error {
	status := resp.StatusCode
	if status == http.StatusOK {
		return nil
	}
	complaint := errors.New(h.redact(answer))
	if status == http.StatusTooManyRequests || status >= 500 {
		e := core.Errorf(core.Unavailable, "the embedding service answered %d", status).Because(complaint)
		e.RetryAfter = retryAfter(resp.Header.Get("Retry-After"))
		return &again{e}
	}
	e := core.Errorf(core.UpstreamError, "the embedding service answered %d", status).Because(complaint)
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return e.WithHint("Check its API key.")
	case http.StatusNotFound:
		return e.WithHint("Check its base URL, and that it has the model %q.", h.config.Model)
	}
	return e
}

// redact keeps the beginning of what a service complained of, without our key.
func (h *HTTP) redact(answer []byte) string {
	text := string(answer)
	if h.config.APIKey != "" {
		text = strings.ReplaceAll(text, h.config.APIKey, "[key]")
	}
	return clip(strings.ToValidUTF8(text, "?"), maxComplaint)
}

// retryAfter reads the header: seconds or a date (RFC 9110, 10.2.3).
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return max(0, time.Duration(min(seconds, 1<<30))*time.Second)
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// read decodes and checks an answer.
func (h *HTTP) read(answer []byte, want int) ([][]float32, error) {
	vectors, err := h.protocol.vectors(answer)
	if err != nil {
		e := core.Errorf(core.UpstreamError, "the embedding service's answer cannot be read").Because(err)
		if bytes.HasPrefix(bytes.TrimSpace(answer), []byte("<")) {
			return nil, e.WithHint("It answered a web page: check its base URL.")
		}
		return nil, e
	}
	if err := h.check(vectors, want); err != nil {
		return nil, err
	}
	return vectors, nil
}
