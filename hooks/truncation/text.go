package truncation

import (
	"strings"
	"unicode/utf8"
)

// near is the part of a text within which a line's end is near enough to be cut at
// instead.
const near = 8

// cutText gives the head of a text, with a marker as its last line, in at most n
// bytes, of which the marker takes at most room; with a tail, two thirds of what is
// left are the head's. marker is given what is shown. It reports false when nothing
// can be.
func cutText(s string, n, room int, tail bool, marker func(head, end string) string) (string, bool) {
	n -= room + len("\n\n")
	if n <= 0 {
		return "", false
	}
	if !tail {
		head := headOf(s, n)
		return line(head) + marker(head, ""), head != ""
	}
	head := headOf(s, n*2/3)
	end := tailOf(s[len(head):], n-len(head))
	return line(head) + marker(head, end) + "\n" + end, head != ""
}

// line ends the last line of a text.
func line(s string) string {
	if strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// headOf is the beginning of s in at most n bytes, up to a line's end where one is
// near.
func headOf(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	if end := strings.LastIndexByte(s[:n], '\n') + 1; end > n-n/near {
		return s[:end]
	}
	return s[:n]
}

// tailOf is the end of s in at most n bytes, from a line's beginning where one is
// near.
func tailOf(s string, n int) string {
	if len(s) <= n {
		return s
	}
	at := len(s) - n
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	if end := strings.IndexByte(s[at:], '\n') + 1; end > 0 && end < n/near {
		at += end
	}
	return s[at:]
}
