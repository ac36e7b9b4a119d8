// Package pattern runs regular expressions over texts where neither may be trusted.
//
// One search takes time in proportion to the text, all searches for all matches need
// not: of "x*y|x" in a text of nothing but x, each reads to the end of the text before
// it settles for one character. A megabyte of that takes hours.
package pattern

import "regexp"

const (
	// atOnce is a length of text, in bytes, for which the worst is over soon enough.
	atOnce = 4 << 10
	// first is how many matches of a longer text are looked for before anybody asks
	// whether to go on.
	first = 16
)

// FindAll is regexp's FindAllStringSubmatchIndex, most of them if most is not
// negative. Now and then it asks stop, whose error ends it: at the latest when it
// has taken three times as long as at the time before.
//
// regexp cannot go on where it stopped, so it begins again for twice as many, which
// costs as much again in all.
func FindAll(re *regexp.Regexp, text string, most int, stop func() error) ([][]int, error) {
	if len(text) <= atOnce {
		return re.FindAllStringSubmatchIndex(text, most), nil
	}
	for n := first; ; n *= 2 {
		if err := stop(); err != nil {
			return nil, err
		}
		if most >= 0 && n > most {
			n = most
		}
		found := re.FindAllStringSubmatchIndex(text, n)
		if len(found) < n || n == most {
			return found, nil
		}
	}
}
