package toon

import (
	"fmt"
	"strings"
)

// fault is what is wrong with a TOON document.
type fault string

func (f fault) Error() string { return string(f) }

func faultf(format string, args ...any) error { return fault(fmt.Sprintf(format, args...)) }

// line is one line of a document that is neither blank nor a comment.
type line struct {
	// depth is its indentation in levels, content what follows that.
	depth   int
	content string
	// gap: a blank line stands before it.
	gap bool
}

// lines reads a document line by line, one ahead.
type lines struct {
	options Options
	rest    string
	number  int // of the line ahead, from 1
	current int // of the one before
	ahead   line
	ended   bool // there is no line ahead
	err     error
}

// fail ends the document at its first error.
func (l *lines) fail(err error) {
	if l.err == nil {
		l.err = fmt.Errorf("line %d: %w", l.current, err)
	}
	l.ended = true
}

// failAhead is fail for what is wrong with the line ahead.
func (l *lines) failAhead(err error) {
	l.current = l.number
	l.fail(err)
}

// advance reads the next line that is neither blank nor a comment (§5.1, §12).
func (l *lines) advance() {
	l.ahead, l.current = line{}, max(l.number, 1)
	for l.rest != "" && l.err == nil {
		var text string
		text, l.rest, _ = strings.Cut(l.rest, "\n")
		l.number++
		text = strings.TrimRight(strings.TrimSuffix(text, "\r"), " ")
		content := strings.TrimLeft(text, " ")
		if strings.HasPrefix(content, "#") {
			continue
		}
		if content != "" && l.indented(len(text)-len(content), content) {
			return
		}
		l.ahead.gap = true
	}
	l.ended = true
}

// indented takes the line ahead, and reports whether it is not blank after all.
// Where indentation is not enforced, a line is as deep as its spaces say, rounded
// down, and a tab counts as one level.
func (l *lines) indented(spaces int, content string) bool {
	if l.options.Lenient {
		rest := strings.TrimLeft(content, " \t")
		tabs := strings.Count(content[:len(content)-len(rest)], "\t")
		spaces += len(content) - len(rest) - tabs + tabs*l.options.Indent
		content = rest
	}
	l.ahead.depth, l.ahead.content = spaces/l.options.Indent, content
	switch {
	case strings.HasPrefix(content, "\t"):
		l.failAhead(faultf("a tab in the indentation"))
	case !l.options.Lenient && spaces%l.options.Indent != 0:
		l.failAhead(faultf("indented by %d spaces, which is no multiple of %d", spaces, l.options.Indent))
	}
	return content != ""
}

// next gives the content of the line ahead if it stands at depth. Lines deeper than
// that belong to nothing (§8).
func (l *lines) next(depth int) (string, bool) {
	for !l.ended && l.ahead.depth > depth {
		if !l.options.Lenient {
			l.failAhead(faultf("indented too deep"))
			return "", false
		}
		l.advance()
	}
	return l.ahead.content, !l.ended && l.ahead.depth == depth
}

// opened gives the depth at which a scope's content stands: one level deeper than
// what opened it, and, where indentation is not enforced, whatever its first line says.
func (l *lines) opened(depth int) int {
	if l.options.Lenient && !l.ended {
		return max(depth, l.ahead.depth)
	}
	return depth
}

// unquotedIndex gives where c first stands outside of quotes, or -1.
func unquotedIndex(s string, c byte) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case c:
			return i
		case '"':
			n := closing(s[i:])
			if n < 0 {
				return -1
			}
			i += n
		}
	}
	return -1
}
