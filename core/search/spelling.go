package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolscout/toolscout/embeddings/words"
)

// speller mends words that neither a dictionary nor the catalog knows.
type speller struct {
	words []string        // commonest first
	stems map[string]bool // of words
}

const (
	minMended = 5 // letters: to shorter words too many are near
	// maxMended is how many unknown words of a query are looked at: each is compared
	// with every word there is, and a text in another language has nothing but such.
	maxMended = 8
)

func newSpeller(dictionary []string) *speller {
	s := &speller{words: dictionary, stems: make(map[string]bool, len(dictionary))}
	for _, w := range dictionary {
		s.stems[stem(w)] = true
	}
	return s
}

// mend replaces what is misspelt in a query. A word counts as misspelt when nobody
// knows it and another, which the catalog does know, is one slip away from it, or
// two when it is long.
func (e *Engine) mend(query string, x *index) string {
	if e.speller == nil {
		return query
	}
	var old []string
	for word := range words.Of(query) {
		w := string(word)
		if len(w) >= minMended && ascii(w) && !slices.Contains(old, w) && !e.stop[w] {
			if s := stem(w); !e.speller.stems[s] && !x.knows(s) {
				old = append(old, w)
			}
		}
		if len(old) == maxMended {
			break
		}
	}
	for _, w := range old {
		if better := e.speller.nearest(w, x); better != "" {
			query = replaceWord(query, w, better)
		}
	}
	return query
}

// nearest finds the word that was meant: the first with the fewest slips among
// those of the dictionary that the catalog knows, or else among the terms of the
// catalog. It is "" when there is none.
func (s *speller) nearest(word string, x *index) string {
	slips := 1
	if len(word) >= 8 {
		slips = 2
	}
	best := ""
	for _, w := range s.words {
		if near(word, w, slips) && x.knows(stem(w)) {
			if best, slips = w, distance(word, w)-1; slips == 0 {
				return best
			}
		}
	}
	if best == "" {
		best = unstem(x.nearest(stem(word), slips))
	}
	return best
}

// unstem is a word with this stem, since what is mended will be stemmed: the stem of
// database is databas, and that of databas is databa. It is "" for none.
func unstem(term string) string {
	for _, ending := range []string{"", "e", "s"} {
		if stem(term+ending) == term {
			return term + ending
		}
	}
	return ""
}

// near is a quick look before a distance is measured. Hardly anybody gets the
// first letter wrong.
func near(a, b string, slips int) bool {
	return b != "" && a[0] == b[0] && max(len(a), len(b))-min(len(a), len(b)) <= slips && distance(a, b) <= slips
}

// distance counts the slips between two words: a letter too many, missing or
// wrong, or two in the wrong order (Damerau, 1964; optimal string alignment).
func distance(a, b string) int {
	var before, last, row [64]int
	if len(a) >= len(row) || len(b) >= len(row) {
		return len(row)
	}
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// replaceWord puts another word in the place of one, whatever its case and marks.
func replaceWord(text, old, new string) string {
	var b strings.Builder
	for len(text) > 0 {
		end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
		if end < 0 {
			end = len(text)
		}
		if only(text[:end]) == old {
			b.WriteString(new)
		} else {
			b.WriteString(text[:end])
		}
		_, size := utf8.DecodeRuneInString(text[end:])
		b.WriteString(text[end : end+size])
		text = text[end+size:]
	}
	return b.String()
}

// only is the word that letters are; "" where they are several.
func only(letters string) string {
	found := ""
	for word := range words.Of(letters) {
		if found != "" {
			return ""
		}
		found = string(word)
	}
	return found
}
