// Package sanitizer is the hook that mends, strips and refuses the arguments of a
// call before anybody else sees them.
//
// Arguments are edited as text: what no rule touches stays byte for byte, number
// literals, order, white space and duplicates included. Rules are carried out in
// their order; then what the tool's schema does not know is dropped or refused, and
// last come the schema's defaults.
package sanitizer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/rawjson"
	"github.com/toolscout/toolscout/hooks"
)

// Type makes the type param_sanitizer.
func Type() hooks.Type {
	return hooks.Type{
		Name: "param_sanitizer",
		Description: "Mends, strips and refuses arguments before a call: trims, clamps, renames, denies, replaces, redacts secrets, drops " +
			"or refuses what the tool's schema does not know, and fills in its defaults.",
		Events: []hooks.Event{hooks.MetaBefore, hooks.ToolBefore},
		Level:  hooks.Tool, OnError: hooks.Fail, Priority: 900, Inline: true,
		Schema: configSchema,
		New:    func(i hooks.Instance) (hooks.Hook, error) { return newSanitizer(i.Config) },
	}
}

// maxDepth is how deep arguments may be nested: the gateway refuses more.
const maxDepth = 100

// maxBytes bounds the arguments that rules make: no request may have more.
const maxBytes = 4 << 20

// maxTold bounds the faults and the warnings of one call.
const maxTold = 20

// sanitizer is a configured hook.
type sanitizer struct {
	config
	schemas schemas
}

// Before edits the arguments, or rejects the call with every fault.
func (s *sanitizer) Before(ctx context.Context, c *hooks.Call) error {
	p := pass{args: c.Args, counts: map[string]int{}, ended: ctx.Err}
	if err := rawjson.Check(c.Args, maxDepth); err != nil {
		p.fault(nil, "not valid JSON, or nested too deep")
		return p.refusal(c)
	}
	for i := range s.Rules {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.Rules[i].apply(&p)
		if p.err != nil {
			return p.err
		}
	}
	warning := s.fit(&p, c)
	if p.err != nil {
		return p.err
	}
	if warning != "" {
		c.Warn(warning)
	}
	if len(p.faults) > 0 {
		return p.refusal(c)
	}
	for _, w := range p.warnings {
		c.Warn(w)
	}
	for did, n := range p.counts {
		c.Note(did, n)
	}
	c.Args = p.args
	return nil
}

// After has nothing to do.
func (*sanitizer) After(context.Context, *hooks.Call) error { return nil }

// fit makes the arguments fit the tool's schema. The warning says why it did not.
func (s *sanitizer) fit(p *pass, c *hooks.Call) (warning string) {
	if s.Unknown == keepUnknown && !s.Defaults || c.Level != hooks.Tool || c.Tool == nil {
		return ""
	}
	d, err := s.schemas.of(c.Tool)
	if err != nil {
		return "the tool has no input schema that can be used, so its arguments were not fitted to it"
	}
	if s.Unknown != keepUnknown {
		err = p.unknown(d, s.Unknown == refuseUnknown)
	}
	if s.Defaults && err == nil {
		err = p.defaults(d)
	}
	if err != nil {
		return "the tool's input schema is too large for these arguments, so they were not fitted to it"
	}
	return ""
}

// pass is one call's arguments on their way through the rules.
type pass struct {
	args     json.RawMessage
	faults   []core.Fault
	warnings []string
	counts   map[string]int // what was done, how often
	told     map[string]bool

	// ended is what long work asks, and err what ended the pass.
	ended func() error
	err   error
	// size is what the arguments come to with the edits of the rule at work.
	size int
}

// grow reports whether there is room for so many bytes more.
func (p *pass) grow(by int) bool {
	if p.size += by; p.size > maxBytes && by > 0 {
		p.err = hooks.Reject(core.InvalidParams, "the rules for its arguments make them larger than %d MiB", maxBytes>>20)
	}
	return p.err == nil
}

// fault names something that is refused. The text quotes nothing.
func (p *pass) fault(path []string, text string) {
	f := core.Fault{Pointer: pointer(path), Message: text}
	if len(p.faults) < maxTold && !p.once("fault "+f.Pointer+" "+text) {
		p.faults = append(p.faults, f)
	}
}

// did counts what was done, and tells the caller unless the words are empty.
func (p *pass) did(what string, path []string, words string) {
	p.counts[what]++
	if words == "" || len(p.warnings) >= maxTold {
		return
	}
	if text := pointer(path) + " " + words; !p.once(text) {
		p.warnings = append(p.warnings, text)
	}
}

// once reports whether it was asked the same before.
func (p *pass) once(text string) bool {
	if p.told == nil {
		p.told = map[string]bool{}
	}
	before := p.told[text]
	p.told[text] = true
	return before
}

// refusal looks like that of arguments that are against the schema.
func (p *pass) refusal(c *hooks.Call) error {
	var words []string
	for _, f := range p.faults[:min(len(p.faults), 3)] {
		words = append(words, strings.TrimSpace(f.Pointer+" "+f.Message))
	}
	if more := len(p.faults) - 3; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	r := hooks.Reject(core.InvalidParams, "the arguments of %s are not allowed: %s", c.Name(), strings.Join(words, "; "))
	r.Err.Faults = p.faults
	if c.Level == hooks.Tool && c.Tool != nil && json.Valid(c.Tool.InputSchema) {
		r.Err.InputSchema = c.Tool.InputSchema
	}
	return r
}

// pointer writes an RFC 6901 JSON pointer.
func pointer(path []string) string {
	var b strings.Builder
	for _, token := range path {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1"))
	}
	return b.String()
}
