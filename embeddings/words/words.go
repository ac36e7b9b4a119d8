// Package words cuts text and identifiers into the words that the built-in
// embedding and the word index are made of.
package words

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

const (
	maxLetters = 30 // a word is cut here
	maxDigits  = 4  // a longer number is dropped: it is an id or a time stamp
)

// Of yields the words of text in lower case: runs of letters, split where an
// identifier changes case (createIssue, XMLHttpRequest), and numbers of up to
// four digits. A yielded slice is valid until the next one.
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
		if !unicode.IsLetter(r) || n > 0 && startsWord(last, r, text[i+size:]) {
			break
		}
		if n < maxLetters {
			word = utf8.AppendRune(word, unicode.ToLower(r))
		}
		last = r
		i += size
	}
	return word, i
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
