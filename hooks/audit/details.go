package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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
	maxNotes   = 20        // warnings, pointers, a hook's notes
	maxNote    = 200       // bytes of one note
	maxEffects = 16 << 10  // bytes of what hooks did, somewhat more with quotes and escapes
	maxRead    = 256 << 10 // bytes of arguments that are looked at
)

// What an effect and a note take at least.
const (
	leastEffect = 64
	leastNote   = 16
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
	// HooksLeft is how many more effects there were than there is room for.
	HooksLeft int `json:"hooksLeft,omitempty"`
}

// details says what happened in a call. Without values it holds nothing that the
// caller or the tool wrote: shapes of arguments, pointers of faults, and our own
// words.
func details(c *hooks.Call, r rules, otherwise bool) json.RawMessage {
	d := record{IsError: c.IsError, Edited: !bytes.Equal(c.Original, c.Args)}
	values := r.keeps(c, otherwise)
	if values {
		var hidden bool
		d.Args, hidden = keep(c.Args, r.redact, c.Action == "execute_tool" && c.Level == hooks.Meta)
		// Messages quote, and what they quote may be what is hidden.
		values = !hidden
	} else {
		d.Args = Shape(c.Args)
	}
	d.Warnings = warnings(c.Warnings, values)
	d.Hooks, d.HooksLeft = effects(c.Effects, values)
	if c.Err != nil {
		d.fail(core.Public(c.Err), values)
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return nil
	}
	return raw
}

// quotes reports whether messages of this kind may hold what the caller or the tool
// wrote: those about arguments do, a server's own may, and so may the words of a
// team's own hooks.
func quotes(k core.Kind) bool {
	return k == core.InvalidParams || k == core.UpstreamError || k == core.HookRejected
}

// fail records an error.
func (d *record) fail(e *core.Error, values bool) {
	if values || !quotes(e.Kind) {
		d.Error = cut(e.Message, maxText)
	}
	for _, f := range e.Faults[:min(len(e.Faults), maxNotes)] {
		d.Faults = append(d.Faults, cut(f.Pointer, maxText))
	}
}

// warnings are those of a call. What hooks failed of is among their effects: without
// values it is not said again.
func warnings(all []string, values bool) []string {
	var kept []string
	for _, w := range all {
		if !values && strings.HasPrefix(w, `hook "`) {
			continue
		}
		if len(kept) == maxNotes {
			break
		}
		kept = append(kept, cut(w, maxText))
	}
	return kept
}

// effects are what hooks did, as many as there is room for, and how many are left out.
func effects(all []hooks.Effect, values bool) (kept []hooks.Effect, left int) {
	room := maxEffects
	for i, e := range all {
		if !values && quotes(e.Kind) {
			e.Message = ""
		}
		e.Hook, e.Message = cut(e.Hook, maxKey), cut(e.Message, maxText)
		room -= len(e.Hook) + len(e.Message) + leastEffect
		var size int
		if e.Notes, size = notes(e.Notes); room < size {
			return kept, len(all) - i
		}
		room -= size
		kept = append(kept, e)
	}
	return kept, 0
}

// notes are a hook's own, which by contract are numbers, words and truths, and their
// size.
func notes(all map[string]any) (kept map[string]any, size int) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(kept) == maxNotes {
			break
		}
		if kept == nil {
			kept = map[string]any{}
		}
		value := all[name]
		switch v := value.(type) {
		case string:
			value = cut(v, maxNote)
		case bool, int, int32, int64, uint, uint64, float32, float64:
		default:
			value = cut(fmt.Sprint(v), maxNote)
		}
		if text, ok := value.(string); ok {
			size += len(text)
		}
		name = cut(name, maxKey)
		kept[name] = value
		size += len(name) + leastNote
	}
	return kept, size
}

// Shape describes JSON by the types and sizes of its parts, without any value:
// {"query":"string(24)","top_k":"number"}. It is bounded in depth, width and size.
func Shape(raw json.RawMessage) json.RawMessage {
	return encode(raw, maxShape, func(v any) any { return shape(v, 0) })
}

// Values gives arguments as they are, without what looks like a secret by its
// name. What is too long is described by its shape instead.
func Values(raw json.RawMessage) json.RawMessage {
	kept, _ := keep(raw, redaction{}, false)
	return kept
}

// keep is Values with more that is hidden. nested says that the arguments of a tool
// lie in those of a meta-tool. It reports whether anything was hidden.
func keep(raw json.RawMessage, r redaction, nested bool) (kept json.RawMessage, hidden bool) {
	if len(raw) > maxValues {
		cut, err := json.Marshal(map[string]any{"cut": len(raw), "shape": Shape(raw)})
		if err != nil {
			return nil, true
		}
		return cut, true
	}
	h := hider{redaction: r}
	kept = encode(raw, 2*maxValues, func(v any) any {
		for _, tokens := range r.pointers {
			v = h.at(v, tokens)
			if m, ok := v.(map[string]any); ok && nested && m["params"] != nil {
				m["params"] = h.at(m["params"], tokens)
			}
		}
		return h.everywhere(v)
	})
	return kept, h.hidden
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
