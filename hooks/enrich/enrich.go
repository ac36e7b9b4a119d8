// Package enrich is the hook that asks a language model about a result and adds
// what it says: what an error means, what to try next, what a long log comes to.
//
// It asks only when a trigger matches, and only as far as its budget goes. What it
// adds is a block of its own that says who wrote it; what the tool said stays as it
// is. The result comes from a stranger: the model gets it between marks that cannot
// be forged, and is told that it is data.
package enrich

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/result"
)

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["base_url", "model", "triggers"],
  "properties": {
    "base_url": {"type": "string", "minLength": 1, "maxLength": 2048,
      "description": "Where an OpenAI-compatible API begins, such as http://127.0.0.1:11434/v1; /chat/completions is added."},
    "api_key": {"type": "string", "maxLength": 4096, "writeOnly": true, "default": "",
      "description": "The key for it, sent as a bearer token; none if empty."},
    "model": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The model to ask."},
    "triggers": {"type": "array", "minItems": 1, "maxItems": 50, "items": {"type": "string", "minLength": 1, "maxLength": 1000},
      "description": "Regular expressions (RE2). The model is asked when one of them matches the text of a result; \".\" is any text."},
    "on_error_only": {"type": "boolean", "default": false,
      "description": "Ask only about results by which the tool says that it failed."},
    "prompt": {"type": "string", "minLength": 1, "maxLength": 16384,
      "default": "A tool was called. Say in a few sentences what its result means, and if something went wrong, what to try next.\n\nTool: {{tool}} of {{server}}\nArguments:\n{{args}}\nResult:\n{{result}}",
      "description": "What is asked. {{result}} (which must be there), {{args}}, {{tool}} and {{server}} stand for those of the call."},
    "max_input_bytes": {"type": "integer", "minimum": 256, "maximum": 1048576, "default": 16384,
      "description": "How much of the result goes into the prompt, and a quarter as much of the arguments. Of what is longer, the middle is left out."},
    "max_output_tokens": {"type": "integer", "minimum": 1, "maximum": 16384, "default": 300,
      "description": "How long an answer may become."},
    "max_tokens_field": {"enum": ["max_tokens", "max_completion_tokens"], "default": "max_tokens",
      "description": "How the endpoint calls that limit."},
    "temperature": {"type": "number", "minimum": 0, "maximum": 2,
      "description": "The sampling temperature; by default the model's own."},
    "input_price": {"type": "number", "minimum": 0, "default": 0, "description": "What a million tokens of prompt cost."},
    "output_price": {"type": "number", "minimum": 0, "default": 0, "description": "What a million tokens of answer cost, in the same currency."},
    "max_cost_per_hour": {"type": "number", "exclusiveMinimum": 0,
      "description": "What may be spent in an hour of the clock, by each instance of the server; unbounded by default. Needs the prices."},
    "max_cost_per_day": {"type": "number", "exclusiveMinimum": 0,
      "description": "What may be spent in a day (UTC), likewise."}
  }
}`

// Type is the type llm_enrich. Hooks of whoever runs this server ask through
// trusted, all others through guarded.
func Type(guarded, trusted *http.Client) hooks.Type {
	guarded, trusted = still(guarded), still(trusted)
	purses := &purses{byKey: map[string]*purse{}}
	return hooks.Type{
		Name: "llm_enrich",
		Description: "Asks a language model about results that match a trigger, and adds its answer as a marked block. " +
			"Never replaces anything.",
		Events: []hooks.Event{hooks.MetaAfter, hooks.ToolAfter},
		Level:  hooks.Tool, OnError: hooks.Ignore, Priority: 600, Timeout: 15 * time.Second,
		Schema: json.RawMessage(schema),
		New: func(i hooks.Instance) (hooks.Hook, error) {
			client := guarded
			if i.Trusted {
				client = trusted
			}
			h, err := open(i, client)
			if err != nil {
				return nil, err
			}
			h.purse = purses.of(i.Key)
			h.leave = sync.OnceFunc(func() { purses.leave(h.purse) })
			return h, nil
		},
	}
}

// still is a client that hands a redirect over instead of following it.
func still(c *http.Client) *http.Client {
	d := *c
	d.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &d
}

// hook asks by one configuration.
type hook struct {
	name     string
	config   config
	triggers triggers
	prompt   prompt
	client   *http.Client
	purse    *purse
	leave    func() // the purse
}

func open(i hooks.Instance, client *http.Client) (*hook, error) {
	h := &hook{name: i.Name, client: client}
	var err error
	if h.config, err = parse(i.Config); err != nil {
		return nil, err
	}
	if faults := h.compile(); len(faults) > 0 {
		refusal := core.Errorf(core.InvalidParams, "the configuration of llm_enrich is not valid")
		refusal.Faults = faults
		return nil, refusal
	}
	return h, nil
}

// Close leaves the budget to who comes after it.
func (h *hook) Close() error {
	h.leave()
	return nil
}

// Before has nothing to do.
func (*hook) Before(context.Context, *hooks.Call) error { return nil }

// After asks about a result that a trigger matches.
func (h *hook) After(ctx context.Context, c *hooks.Call) error {
	r, text := h.triggered(c)
	if r == nil {
		return nil
	}
	c.Note("triggered", true)
	q := h.prompt.render(c, text, h.config.MaxInputBytes)
	if c.Observing() {
		c.Note("asked", false)
		return nil
	}
	said, err := h.ask(ctx, c, q)
	if err != nil || said == "" {
		return err
	}
	r.AppendText(h.mark(said), map[string]any{"toolscout/addedBy": map[string]any{
		"hook": h.name, "type": "llm_enrich", "model": h.config.Model}})
	c.Result = r.Bytes()
	return nil
}

// triggered gives the result with its text if it is one to ask about, else nil. It
// is cheap where nothing matches: then it has not decoded anything.
func (h *hook) triggered(c *hooks.Call) (*result.Result, string) {
	if c.Err != nil || len(c.Result) == 0 ||
		h.config.OnErrorOnly && !bytes.Contains(c.Result, []byte(`"isError"`)) || !h.triggers.possible(c.Result) {
		return nil, ""
	}
	r, err := result.Parse(c.Result)
	if err != nil || len(r.Blocks()) == 0 && r.Structured() == nil || h.config.OnErrorOnly && !r.IsError() {
		return nil, "" // the answer of a meta-tool that is no CallToolResult has neither
	}
	text := textOf(r)
	if !h.triggers.match(text) {
		return nil, ""
	}
	return r, text
}

// mark says in the text itself whose words these are: most clients show a model
// nothing of a block but its text.
func (h *hook) mark(said string) string {
	return "[Added by the language model " + h.config.Model + ", asked by the gateway. The tool did not say this.]\n" + said
}
