package result

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolscout/toolscout/core"
)

// Page is a piece of one block.
type Page struct {
	// Block counts from 0. Behind the content blocks comes the structured content,
	// where it says something that no block says.
	Block int
	// Type is the block's; "structuredContent" for that.
	Type     string
	MimeType string
	// Text is a piece of text, cut between characters, or Blob one of binary content,
	// which is decoded. Blocks of other types are text: their JSON.
	Text string
	Blob []byte
	// Offset is where the piece begins, Total the size of the whole block, in bytes.
	Offset, Total int
	// Next is the cursor of the next page, "" at the end of the result.
	Next string
}

// Binary reports whether the page is of binary content.
func (p Page) Binary() bool { return p.Blob != nil }

// Cursor says where in a result a page begins: in which block, and at which byte of
// its content.
func Cursor(block, offset int) string { return strconv.Itoa(block) + "-" + strconv.Itoa(offset) }

// Page reads the result as it was parsed from a cursor on, "" for the beginning: up
// to size bytes of one block, and at least one character. A cursor that points
// nowhere in this result is InvalidParams.
func (r *Result) Page(cursor string, size int) (Page, error) {
	block, offset, ok := readCursor(cursor)
	last := len(r.blocks) - 1
	if r.structured != nil && r.Mirror() < 0 {
		last++
	}
	if !ok || block > last {
		return Page{}, badCursor()
	}
	typ, content := "structuredContent", Content{MimeType: "application/json", Text: string(r.structured)}
	if block < len(r.blocks) {
		typ, content = r.blocks[block].Type, r.blocks[block].Content()
	}
	total := max(len(content.Text), len(content.Blob))
	if offset > total {
		return Page{}, badCursor()
	}
	p := Page{Block: block, Type: typ, MimeType: content.MimeType, Total: total}
	end := min(total, offset+max(size, 1))
	if content.Blob != nil {
		p.Offset, p.Blob = offset, content.Blob[offset:end]
	} else {
		p.Offset, end = between(content.Text, offset, end)
		p.Text = content.Text[p.Offset:end]
	}
	switch {
	case end < total:
		p.Next = Cursor(block, end)
	case block < last:
		p.Next = Cursor(block+1, 0)
	}
	return p, nil
}

// between moves the ends of a piece of text to borders of characters, and takes in
// at least one.
func between(text string, start, end int) (int, int) {
	start = runeStart(text, start)
	if end = runeStart(text, end); end <= start && start < len(text) {
		_, n := utf8.DecodeRuneInString(text[start:])
		end = start + n
	}
	return start, end
}

// runeStart is the beginning of the character that i is inside of.
func runeStart(s string, i int) int {
	for n := 0; i > 0 && i < len(s) && n < utf8.UTFMax-1 && !utf8.RuneStart(s[i]); n++ {
		i--
	}
	return i
}

func readCursor(s string) (block, offset int, ok bool) {
	if s == "" {
		return 0, 0, true
	}
	a, b, _ := strings.Cut(s, "-")
	x, err := strconv.ParseUint(a, 10, 31)
	if err != nil {
		return 0, 0, false
	}
	y, err := strconv.ParseUint(b, 10, 31)
	return int(x), int(y), err == nil && s == Cursor(int(x), int(y))
}

func badCursor() error {
	return core.Errorf(core.InvalidParams, "the cursor is not one that this result gave out").
		WithHint("start again without a cursor")
}

// Mirror is the block that says what the structured content says, see Mirrors and
// Wraps, or -1.
func (r *Result) Mirror() int {
	for i := range r.blocks {
		if r.Mirrors(i) || r.Wraps(i) {
			return i
		}
	}
	return -1
}
