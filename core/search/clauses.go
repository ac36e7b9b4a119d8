package search

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxClauses = 8    // each costs a pass over the vectors
	minWords   = 3    // of a clause that can stand alone
	maxQuery   = 2000 // characters of a query that count
)

// joint is where one need ends and the next begins: the end of a sentence, "and
// then", ", then", ", and", "also".
var joint = regexp.MustCompile(`(?i)[.!?](?:\s+|$)|[。！？；]|\n+|,?\s+and\s+then\s+|,\s*then\s+|,\s*and\s+|,?\s*\balso\b,?`)

// clauses splits a query into the needs that it states one after the other. None
// are given when it states one.
func clauses(query string) []string {
	var list []string
	for _, c := range joint.Split(query, -1) {
		c = strings.Trim(c, " \t\r\n,.;:!?")
		if wordCount(c) >= minWords && !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	if len(list) < 2 {
		return nil
	}
	return list[:min(len(list), maxClauses)]
}

// wordCount is how many words a text has; two characters stand for one in a script
// without spaces.
func wordCount(text string) int {
	n := 0
	for run, spaceless := range runs(text) {
		if spaceless {
			n += (utf8.RuneCountInString(run) + 1) / 2
		} else {
			n += len(strings.Fields(run))
		}
	}
	return n
}
