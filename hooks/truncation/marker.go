package truncation

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/toolscout/toolscout/hooks/result"
)

// link says where the rest of a result is.
type link struct {
	id    string // "" when it is not kept
	until time.Time
	// why the rest is not kept.
	why string
}

// uri is where a result is as an MCP resource.
func uri(id, cursor string) string { return "toolscout://results/" + id + query(cursor) }

// path is where it is over REST.
func path(id, cursor string) string { return "/v1/results/" + id + query(cursor) }

func query(cursor string) string {
	if cursor == "" {
		return ""
	}
	return "?cursor=" + url.QueryEscape(cursor)
}

func (l link) deadline() string { return l.until.UTC().Format(time.RFC3339) }

// rest says where the rest of a block is, from a byte of it on.
func (l link) rest(block, offset int) string {
	if l.id == "" {
		return l.why
	}
	cursor := result.Cursor(block, offset)
	return fmt.Sprintf("until %s the rest is at %s and GET %s", l.deadline(), uri(l.id, cursor), path(l.id, cursor))
}

// shown is the marker line in a text: how much of it is shown, head bytes of that at
// the beginning.
func (l link) shown(block, head int, shown, whole budget) string {
	return fmt.Sprintf("[Toolscout: %d of %d bytes shown, about %d of %d tokens; %s]",
		shown.bytes, whole.bytes, shown.tokens, whole.tokens, l.rest(block, head))
}

// leftOut stands for what is left out.
func (l link) leftOut(block int, what string) string {
	return fmt.Sprintf("[Toolscout: %s left out; %s]", what, l.rest(block, 0))
}

// shownStructured tells what became of structured content.
func (l link) shownStructured(block, size, shown int) string {
	if shown == 0 {
		return l.leftOut(block, fmt.Sprintf("structured content with %d bytes", size))
	}
	return fmt.Sprintf("[Toolscout: structured content shortened to %d of %d bytes; %s]", shown, size, l.rest(block, 0))
}

// note is the marker in JSON.
type note struct {
	Missing string `json:"missing"`
	OfBytes int    `json:"ofBytes"`
	Rest    string `json:"rest"`
	URL     string `json:"url,omitempty"`
	Until   string `json:"until,omitempty"`
}

func (l link) note(block int, text, missing string, first int) note {
	if strings.HasPrefix(missing, "0 of ") {
		missing = "parts of what is shown"
	}
	n := note{Missing: missing, OfBytes: len(text), Rest: l.why}
	if l.id != "" {
		cursor := result.Cursor(block, first)
		n.Rest, n.URL, n.Until = uri(l.id, cursor), path(l.id, cursor), l.deadline()
	}
	return n
}
