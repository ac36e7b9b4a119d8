// Package webhook is the hook that asks somebody else: before a call, after it, or
// when something happens outside calls, it posts what it knows as JSON to a URL.
// The receiver may have no opinion, allow, reject, or replace arguments or result.
//
// Messages are signed by the scheme of the Standard Webhooks specification 1.0, so
// that any of its libraries verifies them. A message is sent once and never again:
// a receiver that was slow may have acted on it.
package webhook

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["url", "secret"],
  "properties": {
    "url": {"type": "string", "minLength": 1, "maxLength": 2048,
      "description": "Where messages are posted to: http or https, without a user name. Redirects are not followed."},
    "secret": {"type": "string", "minLength": 24, "maxLength": 512, "writeOnly": true,
      "description": "The key that signs messages, shared with the receiver: whsec_ and the base64 of 24 to 64 bytes, or any text of at least 24 bytes."},
    "headers": {"type": "object", "maxProperties": 32, "additionalProperties": {"type": "string", "maxLength": 4096}, "writeOnly": true, "default": {},
      "description": "Further headers, such as an Authorization that the receiver wants."},
    "send": {"type": "object", "additionalProperties": false, "default": {},
      "description": "How much of a call goes along.",
      "properties": {
        "args": {"enum": ["none", "shape", "values"], "default": "shape", "description": "The arguments: left out, by the types and sizes of their parts, or as they are."},
        "result": {"enum": ["none", "shape", "values"], "default": "shape", "description": "The result, after a call: likewise."}
      }},
    "max_body_bytes": {"type": "integer", "minimum": 1024, "maximum": 16777216, "default": 1048576,
      "description": "The largest message that is sent, and the largest answer that is read. What is larger is a failure."}
  }
}`

// Type is the type webhook. Hooks of whoever runs this server post through trusted,
// all others through guarded.
func Type(guarded, trusted *http.Client) hooks.Type {
	guarded, trusted = still(guarded), still(trusted)
	return hooks.Type{
		Name: "webhook",
		Description: "Posts calls, before or after them, and events to a URL as signed JSON. " +
			"The receiver may allow, reject, or replace arguments or result.",
		Level: hooks.Tool, OnError: hooks.Ignore, Priority: 850, Timeout: 5 * time.Second,
		Schema: json.RawMessage(schema),
		New: func(i hooks.Instance) (hooks.Hook, error) {
			client := guarded
			if i.Trusted {
				client = trusted
			}
			return open(i, client)
		},
	}
}

// still is a client that hands a redirect over instead of following it.
func still(c *http.Client) *http.Client {
	d := *c
	d.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &d
}

// hook posts by one configuration.
type hook struct {
	config config
	key    []byte
	client *http.Client
}

func open(i hooks.Instance, client *http.Client) (hooks.Hook, error) {
	c, err := parse(i.Config)
	if err != nil {
		return nil, err
	}
	key, faults := c.check()
	if len(faults) > 0 {
		refusal := core.Errorf(core.InvalidParams, "the configuration of the webhook is not valid")
		refusal.Faults = faults
		return nil, refusal
	}
	return &hook{config: c, key: key, client: client}, nil
}

// Before asks about the arguments.
func (h *hook) Before(ctx context.Context, c *hooks.Call) error { return h.ask(ctx, c, before) }

// After asks about the result.
func (h *hook) After(ctx context.Context, c *hooks.Call) error { return h.ask(ctx, c, after) }

// Handle tells of an event outside calls. What is answered does not matter.
func (h *hook) Handle(ctx context.Context, e core.Event) error {
	id, body, err := h.event(e)
	if err != nil {
		return err
	}
	_, err = h.post(ctx, id, body)
	return err
}

func (h *hook) ask(ctx context.Context, c *hooks.Call, half half) error {
	id, body, err := h.call(c, half)
	if err != nil {
		return err
	}
	c.Note("bytesSent", len(body))
	if c.Observing() {
		c.Note("sent", false)
		return nil
	}
	answered, err := h.post(ctx, id, body)
	if err != nil {
		return err
	}
	a, err := read(answered)
	if err != nil {
		return err
	}
	return a.apply(c, half)
}
