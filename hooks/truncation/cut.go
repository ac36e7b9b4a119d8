package truncation

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolscout/toolscout/hooks/result"
)

// least is the smallest room in which something is shortened: with less it is left
// out.
var least = budget{bytes: 512, tokens: 200}

// cutting is one result being brought within the limits.
type cutting struct {
	config
	*result.Result
	link
	// valid reports whether structured content may be so.
	valid func(json.RawMessage) bool

	left budget // for the text still to come
	// structured is what became of structured content: "shortened", "left out" or "".
	structured string
}

// piece is a block, or structured content, with what it takes of the budget: of
// binary content nothing, unless it is too large and a marker stands for it.
type piece struct {
	result.Content
	size budget
	gone string // the marker
}

// run brings the result within the limits. What is within them stays as it is.
func (c *cutting) run() {
	c.left = c.all()
	blocks := c.Blocks()
	pieces := make([]piece, 0, len(blocks)+1)
	binary := c.MaxBinaryBytes
	for i, b := range blocks {
		p := piece{Content: b.Content()}
		switch {
		case p.Blob == nil:
			p.size = c.left.sizeOf(p.Text)
		case c.MaxBinaryBytes == 0 || len(p.Blob) <= binary:
			binary -= len(p.Blob)
		default:
			p.gone = c.leftOut(i, describe(b.Type, p))
			p.size = c.left.sizeOf(p.gone)
		}
		pieces = append(pieces, p)
	}
	mirror := -1
	if c.Structured() != nil {
		if mirror = c.Mirror(); mirror < 0 {
			text := string(c.Structured())
			pieces = append(pieces, piece{Content: result.Content{Text: text}, size: c.left.sizeOf(text)})
		}
	}
	c.each(pieces, len(blocks))
	if mirror >= 0 {
		c.follow(mirror, pieces[mirror])
	}
}

// each goes through the pieces, of which those from blocks on are no blocks. Room is
// kept for a marker as long as the rest does not fit.
func (c *cutting) each(pieces []piece, blocks int) {
	need := c.needs(pieces)
	for i, p := range pieces {
		allowed := c.block()
		if !c.left.holds(need[i]) {
			room := c.left
			if i < len(pieces)-1 {
				room = room.minus(c.left.sizeOf(c.leftOut(i, unnamed)))
			}
			allowed = allowed.min(room)
			if !allowed.holds(least) && !allowed.holds(p.size) {
				c.dropFrom(i, blocks, pieces)
				return
			}
		}
		if i < blocks {
			c.left = c.left.minus(c.one(i, p, allowed))
		} else {
			c.alone(i, p, allowed)
		}
	}
}

// unnamed is as long as what can be said of what is left out.
var unnamed = strings.Repeat("?", 120)

// needs is what each piece and those behind it take when each has been shortened to
// what a block may have.
func (c *cutting) needs(pieces []piece) []budget {
	need := make([]budget, len(pieces))
	var sum budget
	for i := len(pieces) - 1; i >= 0; i-- {
		sum = sum.plus(pieces[i].size.min(c.block()))
		need[i] = sum
	}
	return need
}

// one brings block i within what it may have and gives what it takes then.
func (c *cutting) one(i int, p piece, allowed budget) budget {
	if p.gone != "" {
		c.SetBlock(i, result.TextBlock(p.gone, nil))
		return p.size
	}
	if allowed.holds(p.size) {
		return p.size
	}
	if p.IsText {
		if text, ok := c.shortened(i, p.Text, allowed); ok {
			c.SetText(i, text)
			return c.left.sizeOf(text)
		}
	}
	marker := c.leftOut(i, describe(c.Blocks()[i].Type, p))
	c.SetBlock(i, result.TextBlock(marker, nil))
	return c.left.sizeOf(marker)
}

// describe names a block that is left out: its type, and what it says of itself in
// as many words as a marker has room for.
func describe(typ string, p piece) string {
	size := max(len(p.Text), len(p.Blob))
	if p.MimeType == "" || p.Blob == nil && !p.IsText {
		return fmt.Sprintf("block of type %.30q with %d bytes", typ, size)
	}
	return fmt.Sprintf("%.30s (%.60s) with %d bytes", typ, p.MimeType, size)
}

// shortened is a text with a marker within what it may have. JSON stays JSON.
func (c *cutting) shortened(i int, text string, allowed budget) (string, bool) {
	tail := c.Keep == keepHeadTail
	if isJSON(text) {
		return allowed.shorten(len(text), func(n int) (string, bool) {
			j := cutter{tail: tail, marker: func(missing string, first int) any { return c.note(i, text, missing, first) }}
			cut, ok := j.cut([]byte(text), n)
			return string(cut), ok
		})
	}
	whole := count(text)
	room := len(c.shown(i, whole.bytes, whole, whole))
	return allowed.shorten(len(text), func(n int) (string, bool) {
		return cutText(text, n, room, tail, func(head, end string) string {
			return c.shown(i, len(head), count(head).plus(count(end)), whole)
		})
	})
}

func isJSON(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text))
}

// dropFrom leaves out a piece and all that follow.
func (c *cutting) dropFrom(i, blocks int, pieces []piece) {
	size := 0
	for _, p := range pieces[i:] {
		size += max(len(p.Text), len(p.Blob))
	}
	what := fmt.Sprintf("%d of %d blocks with %d bytes", blocks-i, blocks, size)
	if len(pieces) > blocks {
		if c.DropStructured(); i == blocks {
			what = fmt.Sprintf("structured content with %d bytes", size)
		}
		c.structured = leftOut
	}
	c.DropFrom(i)
	c.AppendText(c.leftOut(i, what), nil)
}
