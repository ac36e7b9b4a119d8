package search

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	porter "github.com/blevesearch/go-porterstemmer"
	"golang.org/x/text/unicode/norm"

	"github.com/toolscout/toolscout/embeddings/words"
)

// Words that requests for anything at all are made of. In a small catalog they are
// rare, and so would count like the object that is asked for; a few tools are
// really about them, so they are not dropped. The list is ours, and was written after
// failures on the development sets had been read: docs/search.md says what a list
// that knew nothing of them earns.
const requestList = `able additionally assist assistance available based best curious currently details easily
effectively finally find firstly give going good great hello help hey hi include including info information interested
kindly know lastly learn learning like look looking make particular particularly possible provide providing really
recommend recommendation recommendations related relevant search searching secondly seeking show specific specifically
suggest suggestion suggestions sure tell thank thanks try trying understand understanding use used using various way
ways wondering actually regarding`

// requestWeight is what a word of a request counts, against 1 for another.
const requestWeight = .5

// wordSet is a list as a set.
func wordSet(list string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

// stopWords are what the index leaves out: the words that say nothing about a tool, and
// "down". The built-in table has that as loud as any other word: it was made without it,
// and to add it there would make another table, to drop it here other rankings.
func stopWords() map[string]bool {
	stop := words.Stop()
	stop["down"] = true
	return stop
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
// translation, and so rank too low (measured). A character that can be written in
// several ways gets one form first; the marks of Latin letters go with the words.
func (s *stemmer) terms(text string, add func(term string, length uint32)) {
	for run, spaceless := range runs(norm.NFKC.String(text)) {
		if spaceless {
			pairs(run, add)
			continue
		}
		for word := range words.Of(run) {
			if !s.stop[string(word)] {
				add(s.stem(word), 1)
			}
		}
	}
}

func (s *stemmer) stem(word []byte) string {
	term, ok := s.seen[string(word)]
	if !ok {
		w := string(word)
		term = stem(w)
		if s.seen != nil {
			s.seen[w] = term
		}
	}
	return term
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

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// scripts that put no spaces between words, and Korean, which joins its particles
// to them.
var scripts = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai,
	unicode.Lao, unicode.Khmer, unicode.Myanmar}

func spaceless(r rune) bool { return r >= utf8.RuneSelf && unicode.In(r, scripts...) }

// runs cuts a text where such a script begins or ends.
func runs(text string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		from, in := 0, false
		for i, r := range text {
			if is := spaceless(r); is != in {
				if from < i && !yield(text[from:i], in) {
					return
				}
				from, in = i, is
			}
		}
		if from < len(text) {
			yield(text[from:], in)
		}
	}
}

// pairs adds every two neighbouring characters, which stand in for words where
// there are no spaces between them.
func pairs(run string, add func(string, uint32)) {
	last := -1
	for i, r := range run {
		if last >= 0 {
			add(run[last:i+utf8.RuneLen(r)], 0)
		}
		last = i
	}
	if last == 0 {
		add(run, 0)
	}
}

// maxRun is how long a word of a query can be. What is longer without a space is
// data: a key, a picture, the address of a page.
const maxRun = 50

// withoutData leaves out of a query what cannot be words.
func withoutData(query string) string {
	var kept []string
	for field := range strings.FieldsSeq(query) {
		if len(field) >= maxRun && ascii(field) {
			continue
		}
		kept = append(kept, field)
	}
	if len(kept) == len(strings.Fields(query)) {
		return query
	}
	return strings.Join(kept, " ")
}
