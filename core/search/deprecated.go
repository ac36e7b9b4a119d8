package search

import (
	"regexp"
	"strings"
)

// marked finds what those who wrote a description mark as not to be used any more:
// the word in capitals, or at its beginning with a sign behind it. A tool that looks for
// deprecated packages has neither.
var marked = regexp.MustCompile(`^\PL*[Dd]eprecated\s*[^\s\pL]|\bDEPRECATED\b`)

// deprecated reports whether a description says so. Nearly all do not hold the word,
// which is found out faster than by the expression.
func deprecated(description string) bool {
	return (strings.Contains(description, "eprecated") || strings.Contains(description, "DEPRECATED")) && marked.MatchString(description)
}

// deprecatedCost is what a tool loses that should not be used any more, against 1 for
// the best score: less good ones that do the same come before it, and where there are
// none it is still found.
const deprecatedCost = .25
