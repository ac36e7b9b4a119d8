package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
)

// post sends a message and gives the answer's body, nil if it says nothing.
func (h *hook) post(ctx context.Context, id string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.config.URL, bytes.NewReader(body))
	if err != nil {
		return nil, h.unreachable(err)
	}
	h.sign(req, id, body)
	resp, err := h.client.Do(req)
	if err != nil {
		return nil, h.unreachable(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, int64(h.config.MaxBodyBytes)+1))
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, core.Errorf(core.UpstreamError, "the webhook answered with status %d", resp.StatusCode)
	case err != nil:
		return nil, h.unreachable(err)
	case len(answer) > h.config.MaxBodyBytes:
		return nil, core.Errorf(core.UpstreamError, "the webhook's answer is larger than %d bytes", h.config.MaxBodyBytes)
	case len(bytes.TrimSpace(answer)) == 0:
		return nil, nil
	case !isJSON(resp.Header.Get("Content-Type")):
		return nil, core.Errorf(core.UpstreamError, "the webhook's answer is not application/json")
	}
	return answer, nil
}

// sign sets the headers. The signature is that of Standard Webhooks 1.0: HMAC-SHA256
// over id, timestamp and body, joined by dots.
func (h *hook) sign(req *http.Request, id string, body []byte) {
	for name, value := range h.config.Headers {
		req.Header.Set(name, value)
	}
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, h.key)
	fmt.Fprintf(mac, "%s.%s.", id, timestamp)
	mac.Write(body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Webhook-Id", id)
	req.Header.Set("Webhook-Timestamp", timestamp)
	req.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// unreachable is a failure to send or to read, without the URL: it may hold a secret.
func (h *hook) unreachable(err error) error {
	var carrier *url.Error
	if errors.As(err, &carrier) {
		err = carrier.Err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("post to the webhook: %w", err)
	case errors.Is(err, core.Denied):
		return core.Errorf(core.Unavailable, "the webhook's address is not public, and not allowed here").Because(err)
	}
	return core.Errorf(core.Unavailable, "the webhook could not be reached").Because(err)
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" ||
		strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json"))
}
