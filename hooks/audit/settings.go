package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// Type makes the type audit: what rows keep of the calls to which a hook of this type
// applies. Whether there are rows is not configured: there always are.
func Type() hooks.Type {
	return hooks.Type{
		Name: "audit",
		Description: "Says what the audit keeps of calls: values or shapes of arguments, what is redacted, and whether the answer waits " +
			"for its row. The audit itself is always on.",
		Events:  []hooks.Event{hooks.MetaAfter, hooks.ToolAfter},
		OnError: hooks.Ignore, Priority: 50, Inline: true,
		Schema: settingsSchema,
		New:    func(i hooks.Instance) (hooks.Hook, error) { return newSettings(i.Config) },
	}
}

var settingsSchema = json.RawMessage(`{
	"type": "object",
	"additionalProperties": false,
	"properties": {
		"values": {
			"description": "true keeps arguments as they are, false their shape; null leaves that to a wider scope and at last to [audit]. The narrowest scope that says something counts",
			"type": ["boolean", "null"], "default": null
		},
		"redact": {
			"description": "what is never kept: names of members at any depth, in which * and ? are wild and letters big or small, or JSON pointers from the tool's arguments on, in which * is any one member or element. Those of all hooks that apply add up, beside what is named like a secret",
			"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 200, "default": []
		},
		"wait": {"description": "true has the answer wait until its row is written; one hook that says so is enough", "type": "boolean", "default": false}
	}
}`)

// settings is a configured hook. It does nothing in the chain: the row is written
// further out, also when the call never came here.
type settings struct {
	values *bool
	redact redaction
	wait   bool
}

func newSettings(config json.RawMessage) (*settings, error) {
	var c struct {
		Values *bool    `json:"values"`
		Redact []string `json:"redact"`
		Wait   bool     `json:"wait"`
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, core.Errorf(core.InvalidParams, "the configuration cannot be read").Because(err)
	}
	s := &settings{values: c.Values, wait: c.Wait}
	for i, text := range c.Redact {
		if !s.redact.add(text) {
			e := core.Errorf(core.InvalidParams, "redact holds what is no JSON pointer")
			e.Faults = []core.Fault{{Pointer: fmt.Sprintf("/redact/%d", i), Message: "is not a JSON pointer"}}
			return nil, e
		}
	}
	return s, nil
}

// Before has nothing to do.
func (*settings) Before(context.Context, *hooks.Call) error { return nil }

// After has nothing to do.
func (*settings) After(context.Context, *hooks.Call) error { return nil }

// heed is the key of what a row is to keep.
type heed struct{}

// rules is what the settings that apply to a call come to.
type rules struct {
	values *bool
	scope  hooks.Scope // of values
	redact redaction
	wait   bool
	// conceal: settings may apply that are not known.
	conceal bool
}

// Heed has the row of a call keep what the audit hooks of its chain say.
func Heed(c *hooks.Call, chain hooks.Chain) {
	for _, e := range chain {
		if e.Type != "audit" || e.Priority == hooks.Outermost || e.Mode != "" && e.Mode != hooks.Enforce {
			continue
		}
		r := heeded(c)
		if s, ok := e.Hook.(*settings); ok {
			r.take(s, e.Scope())
		} else {
			r.conceal = true // one that cannot be made
		}
		c.SetValue(heed{}, r)
	}
}

// HeedInner has the row of a meta-tool's call, whose arguments hold those of a real
// tool, keep no more than that tool's row.
func HeedInner(outer, inner *hooks.Call) {
	if inner.Value(heed{}) == nil {
		return
	}
	r, in := heeded(outer), heeded(inner)
	if in.values != nil && (r.values == nil || in.scope >= r.scope) {
		r.values, r.scope = in.values, in.scope
	}
	r.redact = r.redact.and(in.redact)
	r.wait, r.conceal = r.wait || in.wait, r.conceal || in.conceal
	outer.SetValue(heed{}, r)
}

// Conceal has the row of a call keep no values: nobody knows what the settings say.
func Conceal(c *hooks.Call) {
	r := heeded(c)
	r.conceal = true
	c.SetValue(heed{}, r)
}

func heeded(c *hooks.Call) rules {
	r, _ := c.Value(heed{}).(rules)
	return r
}

// take adds settings that lie further in than those before.
func (r *rules) take(s *settings, scope hooks.Scope) {
	if s.values != nil && scope >= r.scope {
		r.values, r.scope = s.values, scope
	}
	r.redact = r.redact.and(s.redact)
	r.wait = r.wait || s.wait
}

// keeps reports whether the row of a call keeps values.
func (r *rules) keeps(c *hooks.Call, otherwise bool) bool {
	if t, _ := subject(c); t == nil && c.Level == hooks.Meta && c.Action == "execute_tool" {
		return false // arguments of a tool that nobody knows, and so nobody's settings
	}
	if r.conceal {
		return false
	}
	if r.values != nil {
		return *r.values
	}
	return otherwise
}

// redaction is what is never kept.
type redaction struct {
	names    []string   // globs, in small letters
	pointers [][]string // the tokens of each
}

// add takes a name or a pointer, and reports whether it is one.
func (r *redaction) add(text string) bool {
	if !strings.HasPrefix(text, "/") {
		r.names = append(r.names, strings.ToLower(text))
		return true
	}
	tokens := strings.Split(text[1:], "/")
	for i, t := range tokens {
		plain := strings.ReplaceAll(strings.ReplaceAll(t, "~1", ""), "~0", "")
		if strings.Contains(plain, "~") {
			return false
		}
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	r.pointers = append(r.pointers, tokens)
	return true
}

func (r redaction) and(o redaction) redaction {
	r.names = append(r.names[:len(r.names):len(r.names)], o.names...)
	r.pointers = append(r.pointers[:len(r.pointers):len(r.pointers)], o.pointers...)
	return r
}

// hides reports whether a member of this name is left out wherever it is.
func (r *redaction) hides(name string) bool {
	if secret.MatchString(name) {
		return true
	}
	if len(r.names) == 0 {
		return false
	}
	name = strings.ToLower(name)
	for _, glob := range r.names {
		if hooks.Glob(glob, name) {
			return true
		}
	}
	return false
}
