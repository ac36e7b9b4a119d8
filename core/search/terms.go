package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	porter "github.com/blevesearch/go-porterstemmer"

	"github.com/toolscout/toolscout/embeddings/words"
)

// Words that say nothing about a tool. The list is ours: articles, pronouns,
// prepositions, auxiliaries and what a request is wrapped in.
const stopList = `a about after all also am an and any are as at be been before being both but by can could did do does
doing down during each else few for from had has have having he her here hers him his how i if in into is it its just
let ll me might more most must my need no nor not now of off on once only or other our ours out over own per please re
s same shall she should so some such t than that the their theirs them then there these they this those through to too
under until up us ve very via want was we were what when where which while who whom whose why will with would you your
yours`

// stopWords is stopList as a set.
func stopWords() map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(stopList) {
		set[w] = true
	}
	return set
}

// stemmer turns words into the terms of the index. Its zero value lacks the stop
// words.
type stemmer struct {
	stop map[string]bool
	// seen, unless it is nil, remembers the terms of words, so that building an
	// index stems each word once. Such a stemmer is not safe for concurrent use.
	seen map[string]string
}

// terms calls add with every term of text, and what it adds to the text's length:
// 1 for a word, 0 for a pair of characters in a script without spaces. Pairs
// overlap, and a text in such a script would count as several times as long as its
// translation, and so rank too low (measured).
func (s *stemmer) terms(text string, add func(term string, length uint32)) {
	for word := range words.Of(text) {
		if s.stop[string(word)] {
			continue
		}
		term, ok := s.seen[string(word)]
		if !ok {
			w := string(word)
			term = stem(w)
			if s.seen != nil {
				s.seen[w] = term
			}
		}
		if term[0] >= utf8.RuneSelf && ideographic(term) {
			pairs(term, add)
			continue
		}
		add(term, 1)
	}
}

// stem is Porter's stem of an English word; other words stay as they are.
func stem(word string) string {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	return string(porter.StemWithoutLowerCasing([]rune(word)))
}

// ideographic reports whether a word begins in a script that puts no spaces
// between words.
func ideographic(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// pairs adds every two neighbouring characters, which stand in for words where
// there are no spaces between them.
func pairs(word string, add func(string, uint32)) {
	last := -1
	for i, r := range word {
		if last >= 0 {
			add(word[last:i+utf8.RuneLen(r)], 0)
		}
		last = i
	}
	if last == 0 {
		add(word, 0)
	}
}
