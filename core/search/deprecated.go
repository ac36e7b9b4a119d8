package search

import "regexp"

// deprecated finds what those who wrote a description mark as not to be used any more:
// the word in capitals, or at its beginning with a sign behind it. A tool that looks for
// deprecated packages has neither.
var deprecated = regexp.MustCompile(`^\PL*(?i:deprecated)\s*[^\s\pL]|\bDEPRECATED\b`)

// deprecatedCost is what a tool loses that should not be used any more, against 1 for
// the best score: less good ones that do the same come before it, and where there are
// none it is still found.
const deprecatedCost = .25
