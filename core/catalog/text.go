package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cleanText takes out of a text what a person does not see but a model reads, or
// what reorders what a person sees. It reports whether there was any such thing.
func cleanText(s string) (clean string, hidden bool) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, isHidden) < 0 {
		return s, false
	}
	return strings.Map(func(r rune) rune {
		if isHidden(r) {
			return -1
		}
		return r
	}, s), true
}

// isHidden reports whether a character is invisible and of no use in a text:
// control characters, format characters (bidirectional overrides, zero-width
// spaces, tags), fillers, and the variation selectors that can carry bytes. The
// joiners and the two selectors that emoji and Indic scripts need are spared.
func isHidden(r rune) bool {
	switch r {
	case '\n', '\t', '\r', '\u200C', '\u200D', '\uFE0E', '\uFE0F':
		return false
	case '\u115F', '\u1160', '\u3164', '\uFFA0', '\u034F', '\u2028', '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r)
}

// clip cuts a text to at most n bytes, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
