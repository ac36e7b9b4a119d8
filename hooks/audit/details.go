package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// The bounds of what a row says about a call's arguments.
const (
	maxDepth   = 6
	maxMembers = 50
	maxKey     = 64
	maxText    = 500       // bytes of one text
	maxShape   = 4 << 10   // bytes of a shape
	maxValues  = 16 << 10  // bytes of arguments as they are
	maxNotes   = 20        // warnings, pointers, observations
	maxRead    = 256 << 10 // bytes of arguments that are looked at
)

// record is the details column of a row.
type record struct {
	Args json.RawMessage `json:"args,omitempty"`
	// Edited: hooks changed the arguments.
	Edited bool `json:"edited,omitempty"`
	// IsError: the tool said that it failed.
	IsError  bool           `json:"isError,omitempty"`
	Error    string         `json:"error,omitempty"`
	Faults   []string       `json:"faults,omitempty"` // JSON pointers
	Warnings []string       `json:"warnings,omitempty"`
	Hooks    []hooks.Effect `json:"hooks,omitempty"`
}

// details says what happened in a call. Without values it holds nothing that the
// caller or the tool wrote: shapes of arguments, pointers of faults, and our own
// words.
func details(c *hooks.Call, values bool) json.RawMessage {
	d := record{IsError: c.IsError, Edited: !bytes.Equal(c.Original, c.Args),
		Warnings: c.Warnings[:min(len(c.Warnings), maxNotes)], Hooks: c.Effects[:min(len(c.Effects), maxNotes)]}
	if values {
		d.Args = Values(c.Args)
	} else {
		d.Args = Shape(c.Args)
	}
	if c.Err != nil {
		d.fail(core.Public(c.Err), values)
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return nil
	}
	return raw
}

// fail records an error. Messages about arguments quote them, and a server's own
// messages may.
func (d *record) fail(e *core.Error, values bool) {
	if values || e.Kind != core.InvalidParams && e.Kind != core.UpstreamError && e.Kind != core.HookRejected {
		d.Error = cut(e.Message, maxText)
	}
	for _, f := range e.Faults[:min(len(e.Faults), maxNotes)] {
		d.Faults = append(d.Faults, cut(f.Pointer, maxText))
	}
}

// Shape describes JSON by the types and sizes of its parts, without any value:
// {"query":"string(24)","top_k":"number"}. It is bounded in depth, width and size.
func Shape(raw json.RawMessage) json.RawMessage {
	return encode(raw, maxShape, func(v any) any { return shape(v, 0) })
}

// Values gives arguments as they are, without what looks like a secret by its
// name. What is too long is described by its shape instead.
func Values(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxValues {
		cut, err := json.Marshal(map[string]any{"cut": len(raw), "shape": Shape(raw)})
		if err != nil {
			return nil
		}
		return cut
	}
	return encode(raw, 2*maxValues, redact)
}

// encode rewrites JSON with f. What is not JSON, or still too long, is described
// by its length.
func encode(raw json.RawMessage, limit int, f func(any) any) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if len(raw) <= maxRead && dec.Decode(&v) == nil {
		if out, err := json.Marshal(f(v)); err == nil && len(out) <= limit {
			return out
		}
	}
	out, err := json.Marshal(fmt.Sprintf("json(%d)", len(raw)))
	if err != nil {
		return nil
	}
	return out
}

func shape(v any, depth int) any {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return fmt.Sprintf("string(%d)", utf8.RuneCountInString(v))
	case []any:
		if len(v) == 0 || depth == maxDepth {
			return fmt.Sprintf("array(%d)", len(v))
		}
		return []any{fmt.Sprintf("array(%d) of", len(v)), shape(v[0], depth+1)}
	case map[string]any:
		if depth == maxDepth || len(v) > maxMembers {
			return fmt.Sprintf("object(%d)", len(v))
		}
		m := make(map[string]any, len(v))
		for k, member := range v {
			m[cut(k, maxKey)] = shape(member, depth+1)
		}
		return m
	}
	return "unknown"
}

// secret matches names whose values are never written down.
var secret = regexp.MustCompile(`(?i)\bpass$|passw(or)?d|passphrase|secret|token|api[-_]?key|private[-_]?key|authorization|credential|cookie`)

// redact replaces what is named like a secret, and characters that a database
// cannot store.
func redact(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "\x00", "\uFFFD")
	case []any:
		for i := range v {
			v[i] = redact(v[i])
		}
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, member := range v {
			key := strings.ReplaceAll(k, "\x00", "\uFFFD")
			if secret.MatchString(k) {
				m[key] = "[redacted]"
				continue
			}
			m[key] = redact(member)
		}
		return m
	}
	return v
}

// cut shortens text to at most n bytes, at the end of a character, and replaces
// what a database cannot store.
func cut(s string, n int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
