package enrich

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/tokens"
	"github.com/toolscout/toolscout/hooks"
)

// longestWait bounds what a Retry-After may have us do.
const longestWait = time.Hour

// completion is what is read of an answer.
type completion struct {
	Choices []struct {
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
}

// ask gives what the model says, "" if it was not asked because of the budget.
func (h *hook) ask(ctx context.Context, c *hooks.Call, q question) (string, error) {
	guess := usage{tokens.Estimate(q.system) + tokens.Estimate(q.user), h.config.MaxOutputTokens}
	aside, refusal := h.purse.take(h.cost(guess), h.config.MaxCostPerHour, h.config.MaxCostPerDay)
	if refusal != "" {
		c.Note("skipped", refusal)
		return "", nil
	}
	c.Note("model", h.config.Model)
	status, body, err := h.post(ctx, q)
	if err != nil {
		if status >= 300 {
			h.purse.settle(aside, 0) // refused, so not charged
		}
		return "", err
	}
	var answer completion
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", core.Errorf(core.UpstreamError, "the model's endpoint did not answer with a completion").Because(err)
	}
	if u := answer.Usage; u != nil && u.Prompt > 0 && u.Completion >= 0 { // some count nothing
		h.purse.settle(aside, h.cost(*u))
		c.Note("promptTokens", u.Prompt)
		c.Note("completionTokens", u.Completion)
		if cost := h.cost(*u); cost > 0 {
			c.Note("cost", cost)
		}
	}
	if len(answer.Choices) == 0 || strings.TrimSpace(answer.Choices[0].Message.Content) == "" {
		return "", core.Errorf(core.UpstreamError, "the model said nothing")
	}
	if answer.Choices[0].FinishReason == "length" {
		c.Note("cut", true)
	}
	return strings.TrimSpace(answer.Choices[0].Message.Content), nil
}

func (h *hook) cost(u usage) float64 {
	return (float64(u.Prompt)*h.config.InputPrice + float64(u.Completion)*h.config.OutputPrice) / 1e6
}

// post sends a question, once, and gives the answer's status (0 without one) and body.
func (h *hook) post(ctx context.Context, q question) (status int, body []byte, err error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	request := map[string]any{"model": h.config.Model, h.config.MaxTokensField: h.config.MaxOutputTokens,
		"messages": []message{{"system", q.system}, {"user", q.user}}}
	if h.config.Temperature != nil {
		request["temperature"] = *h.config.Temperature
	}
	raw, err := core.EncodeJSON(request)
	if err != nil {
		return 0, nil, fmt.Errorf("encode a question to a model: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.config.BaseURL+"/chat/completions", bytes.NewReader(raw))
	if err != nil {
		return 0, nil, unreachable(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if h.config.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+h.config.APIKey)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return 0, nil, unreachable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return resp.StatusCode, nil, h.refused(resp)
	}
	// 16 bytes are more than any tokenizer makes of a token on the average, and a
	// character may take six bytes as an escape.
	limit := 64<<10 + 6*16*h.config.MaxOutputTokens
	body, err = io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err != nil {
		return resp.StatusCode, nil, unreachable(err)
	}
	if len(body) > limit {
		return resp.StatusCode, nil, core.Errorf(core.UpstreamError, "the model's answer is larger than %d bytes", limit)
	}
	return resp.StatusCode, body, nil
}

// refused is the failure of an answer that is none. Its text is not passed on:
// services quote the key in it.
func (h *hook) refused(resp *http.Response) error {
	kind := core.UpstreamError
	if resp.StatusCode == http.StatusTooManyRequests {
		kind = core.RateLimited
	}
	refusal := core.Errorf(kind, "the model's endpoint answered with status %d", resp.StatusCode)
	if kind == core.RateLimited || resp.StatusCode == http.StatusServiceUnavailable {
		refusal.RetryAfter = retryAfter(resp.Header.Get("Retry-After"))
		h.purse.wait(refusal.RetryAfter)
	}
	return refusal
}

// retryAfter reads the header of that name (RFC 9110, section 10.2.3): seconds or a
// date. It gives 0 for anything else.
func retryAfter(value string) time.Duration {
	d := time.Duration(0)
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		d = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		d = time.Until(at)
	}
	return min(max(d, 0), longestWait)
}

// unreachable is a failure to ask or to read, without the URL.
func unreachable(err error) error {
	var carrier *url.Error
	if errors.As(err, &carrier) {
		err = carrier.Err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("ask a model: %w", err)
	case errors.Is(err, core.Denied):
		return core.Errorf(core.Unavailable, "the address of the model's endpoint is not public, and not allowed here").Because(err)
	}
	return core.Errorf(core.Unavailable, "the model's endpoint could not be reached").Because(err)
}
