package gateway

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// summary gives a text in one line of at most some n bytes: what a list says of a
// tool, where white space would only cost tokens. It is cut behind a sentence or a
// paragraph where there is one beyond the first third, else behind a word. What is too
// long ends before it lists the arguments: the signature names them all.
func summary(text string, n int) string {
	paragraphs := paragraphsOf(text)
	s := strings.Join(paragraphs, " ")
	if len(s) <= n {
		return s
	}
	ends, at := make(map[int]bool, len(paragraphs)), 0
	for _, p := range paragraphs {
		if at > n/3 && describesCall(p) {
			n = min(n, at-1)
		}
		at += len(p)
		ends[at] = true
		at++
	}
	for i := n; i >= n/3; i-- {
		if ends[i] || endsSentence(s, i) {
			return s[:i]
		}
	}
	head := strings.ToValidUTF8(s[:n], "")
	if space := strings.LastIndexByte(head, ' '); space >= n/3 {
		head = head[:space]
	}
	return strings.TrimSpace(head) + "…"
}

// paragraphsOf are the parts between empty lines, and the items of lists, each in one
// line.
func paragraphsOf(text string) []string {
	var list []string
	var words []string
	end := func() {
		if len(words) > 0 {
			list = append(list, strings.Join(words, " "))
			words = nil
		}
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || item(fields) || describesCall(fields[0]) {
			end()
		}
		words = append(words, fields...)
	}
	end()
	return list
}

// item reports whether a line begins one of a list, or is a heading.
func item(fields []string) bool {
	mark := fields[0]
	return len(fields) > 1 && (strings.Trim(mark, "-*+•#") == "" || numbers(mark))
}

// describesCall reports whether a text begins as the part of a docstring that describes
// arguments and results.
func describesCall(text string) bool {
	word, _, _ := strings.Cut(text, " ")
	switch strings.Trim(word, "*#") {
	case "Args:", "Arguments:", "Parameters:", "Params:", "Returns:", ":param":
		return true
	}
	return false
}

// numbers reports whether a word numbers an item, as in 1. or 12).
func numbers(word string) bool {
	digits := strings.TrimRight(word, ".)")
	return len(digits)+1 == len(word) && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// endsSentence reports whether a sentence ends right before s[i]: behind a mark with a
// space after it, or behind a mark of those scripts that put none. Quotes and brackets
// that close belong to it.
func endsSentence(s string, i int) bool {
	if i < len(s) && !utf8.RuneStart(s[i]) {
		return false
	}
	head := strings.TrimRightFunc(s[:i], closes)
	last, size := utf8.DecodeLastRuneInString(head)
	switch {
	case last == '!' || last == '?':
		return i == len(s) || s[i] == ' '
	case last == '.':
		return i == len(s) || s[i] == ' ' && !abbreviates(head[:len(head)-size])
	case unicode.Is(unicode.STerm, last): // of another script, where no space need follow
		next, _ := utf8.DecodeRuneInString(s[i:])
		return i == len(s) || !closes(next)
	}
	return false
}

func closes(r rune) bool {
	return r == '"' || r == '\'' || unicode.In(r, unicode.Pe, unicode.Pf)
}

// abbreviations are words that a full stop does not end a sentence behind.
var abbreviations = []string{"e.g", "i.e", "eg", "ie", "etc", "vs", "cf", "approx", "incl", "dr", "mr", "mrs", "z.b", "bzw", "p.ex"}

func abbreviates(head string) bool {
	word := head[strings.LastIndexAny(head, " (")+1:]
	return utf8.RuneCountInString(word) == 1 || numbers(word+".") || slices.Contains(abbreviations, strings.ToLower(word))
}
