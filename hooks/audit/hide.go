package audit

import (
	"regexp"
	"strconv"
	"strings"
)

// secret matches names whose values are never written down.
var secret = regexp.MustCompile(`(?i)\bpass$|passw(or)?d|passphrase|secret|token|api[-_]?key|private[-_]?key|authorization|credential|cookie`)

// redacted stands in the place of what is not kept.
const redacted = "[redacted]"

// hider takes out of decoded JSON what a redaction names.
type hider struct {
	redaction
	hidden bool
}

func (h *hider) hide() any {
	h.hidden = true
	return redacted
}

// everywhere hides members by their name, and replaces characters that a database
// cannot store.
func (h *hider) everywhere(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "\x00", "\uFFFD")
	case []any:
		for i := range v {
			v[i] = h.everywhere(v[i])
		}
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, member := range v {
			key := strings.ReplaceAll(k, "\x00", "\uFFFD")
			if h.hides(k) {
				m[key] = h.hide()
				continue
			}
			m[key] = h.everywhere(member)
		}
		return m
	}
	return v
}

// at hides what a pointer's tokens lead to.
func (h *hider) at(v any, tokens []string) any {
	if len(tokens) == 0 {
		return h.hide()
	}
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			if tokens[0] == "*" || tokens[0] == k {
				v[k] = h.at(member, tokens[1:])
			}
		}
	case []any:
		for i, element := range v {
			if tokens[0] == "*" || tokens[0] == strconv.Itoa(i) {
				v[i] = h.at(element, tokens[1:])
			}
		}
	}
	return v
}
