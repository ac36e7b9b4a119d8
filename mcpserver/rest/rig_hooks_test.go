package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
)

// spies keep what hooks of the type say were shown.
type spies struct {
	mu   sync.Mutex
	seen []string
}

// types are what the rig's hooks can be: one that warns callers with its text, and
// is open to users, and one that stops every call.
func (s *spies) types() []hooks.Type {
	return []hooks.Type{
		{Name: "say", Description: "Warns the caller.", Level: hooks.Tool, OnError: hooks.Ignore,
			Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["text"],"properties":{
				"text":{"type":"string","description":"What to say."},
				"secret":{"type":"string","description":"What not to say.","minLength":8,"writeOnly":true}}}`),
			New: func(in hooks.Instance) (hooks.Hook, error) {
				h := say{spies: s}
				return h, json.Unmarshal(in.Config, &h)
			}},
		{Name: "stop", Description: "Stops every call.", Scopes: []hooks.Scope{hooks.Global}, Schema: json.RawMessage(`{"type":"object","additionalProperties":false}`),
			New: func(hooks.Instance) (hooks.Hook, error) { return stop{}, nil }},
	}
}

type say struct {
	Text  string
	spies *spies
}

func (say) Before(context.Context, *hooks.Call) error { return nil }

func (h say) After(_ context.Context, c *hooks.Call) error {
	h.spies.mu.Lock()
	h.spies.seen = append(h.spies.seen, string(c.Original)+string(c.Args)+string(c.Result))
	h.spies.mu.Unlock()
	if h.Text == "!" {
		return errors.New("it failed")
	}
	c.Warn(h.Text)
	return nil
}

type stop struct{}

func (stop) Before(context.Context, *hooks.Call) error {
	return hooks.Reject(core.HookRejected, "stop")
}
func (stop) After(context.Context, *hooks.Call) error { return nil }

// seen gives what hooks of the type say were shown so far.
func (r *rig) seen() []string {
	r.spies.mu.Lock()
	defer r.spies.mu.Unlock()
	return slices.Clone(r.spies.seen)
}

// declare puts hooks into the configuration file.
func (r *rig) declare(t *testing.T, definitions ...hooks.Definition) {
	t.Helper()
	if err := r.set.SetFile(hookset.File{Hooks: definitions, OpenToUsers: []string{"say"}}); err != nil {
		t.Fatal(err)
	}
}
