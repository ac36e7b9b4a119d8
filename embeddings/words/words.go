// Package words cuts text and identifiers into the words that the built-in
// embedding and the word index are made of.
package words

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxLetters = 30 // a word is cut here
	maxDigits  = 4  // a longer number is dropped: it is an id or a time stamp
)

// stopList is ours: articles, pronouns, prepositions, auxiliaries and what a request is
// wrapped in. The built-in table was made with it: with another one, as with the "down"
// that search leaves out as well, the same texts make another table.
const stopList = `a about after all also am an and any are as at be been before being both but by can could did do does
doing during each else few for from had has have having he her here hers him his how i if in into is it its just let ll
me might more most must my need no nor not now of off on once only or other our ours out over own per please re s same
shall she should so some such t than that the their theirs them then there these they this those through to too under
until up us ve very via want was we were what when where which while who whom whose why will with would you your yours`

// Stop gives a set of the words that say nothing about a tool, for the caller to keep.
func Stop() map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(stopList) {
		set[w] = true
	}
	return set
}

// Of yields the words of text in lower case: runs of letters, split where an
// identifier changes case (createIssue, XMLHttpRequest), and numbers of up to
// four digits. Latin letters lose their marks (é is e, ß is ss, the ligature ﬁ is
// fi), because one writer sets them and the next leaves them out. A yielded slice
// is valid until the next one.
func Of(text string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var buf [maxLetters * utf8.UTFMax]byte
		for i := 0; i < len(text); {
			r, size := utf8.DecodeRuneInString(text[i:])
			switch {
			case unicode.IsLetter(r):
				var word []byte
				word, i = letters(buf[:0], text, i)
				if !yield(word) {
					return
				}
			case unicode.IsDigit(r):
				start := i
				i = digitsEnd(text, i)
				if utf8.RuneCountInString(text[start:i]) > maxDigits {
					continue
				}
				if !yield(append(buf[:0], text[start:i]...)) {
					return
				}
			default:
				i += size
			}
		}
	}
}

// letters appends the word that starts at i, and says where it ends.
func letters(word []byte, text string, i int) ([]byte, int) {
	var last rune
	for n := 0; i < len(text); n++ {
		r, size := utf8.DecodeRuneInString(text[i:])
		if isMark(r) {
			i += size
			continue
		}
		if !unicode.IsLetter(r) || n > 0 && startsWord(last, r, text[i+size:]) {
			break
		}
		if n < maxLetters {
			word = fold(word, r)
		}
		last = r
		i += size
	}
	return word, i
}

// isMark reports whether r is an accent that stands behind its letter: the block
// of combining marks that Latin letters are put together with.
func isMark(r rune) bool { return r >= 0x0300 && r <= 0x036F }

// fold appends a letter in lower case, a Latin one without its marks.
func fold(word []byte, r rune) []byte {
	r = unicode.ToLower(r)
	if r < utf8.RuneSelf || !unicode.Is(unicode.Latin, r) {
		return utf8.AppendRune(word, r)
	}
	switch r { // letters of their own, which Unicode does not take apart
	case 'ß':
		return append(word, "ss"...)
	case 'æ':
		return append(word, "ae"...)
	case 'œ':
		return append(word, "oe"...)
	case 'þ':
		return append(word, "th"...)
	case 'ø':
		return append(word, 'o')
	case 'đ', 'ð':
		return append(word, 'd')
	case 'ł':
		return append(word, 'l')
	case 'ı':
		return append(word, 'i')
	}
	var letter [utf8.UTFMax]byte
	folded := word
	for _, c := range norm.NFKD.Properties(utf8.AppendRune(letter[:0], r)).Decomposition() {
		if 'a' <= c && c <= 'z' {
			folded = append(folded, c)
		}
	}
	if len(folded) > len(word) {
		return folded
	}
	return utf8.AppendRune(word, r)
}

// startsWord reports whether r begins a new word after last: at a change from
// lower to upper case, and at the last capital of several before a small letter.
func startsWord(last, r rune, rest string) bool {
	if !unicode.IsUpper(r) {
		return false
	}
	if unicode.IsLower(last) {
		return true
	}
	next, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsUpper(last) && unicode.IsLower(next)
}

func digitsEnd(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !unicode.IsDigit(r) {
			break
		}
		i += size
	}
	return i
}
