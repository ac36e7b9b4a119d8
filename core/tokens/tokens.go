// Package tokens estimates how many tokens a language model makes of a text.
package tokens

import "unicode/utf8"

// class is what a byte is to the estimate.
type class uint8

const (
	lower class = iota
	upper
	digit
	space
	line
	mark
	wide
)

var classes = func() (t [256]class) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z':
			t[c] = lower
		case c >= 'A' && c <= 'Z':
			t[c] = upper
		case c >= '0' && c <= '9':
			t[c] = digit
		case c == '\n' || c == '\r':
			t[c] = line
		case c == ' ' || c == '\t':
			t[c] = space
		case c >= utf8.RuneSelf:
			t[c] = wide
		default:
			t[c] = mark
		}
	}
	return t
}()

// unit is what the sums below count in: parts of a token.
const unit = 100

// Estimate gives about how many tokens s is.
func Estimate(s string) int {
	if s == "" {
		return 0
	}
	sum := 0
	for i := 0; i < len(s); {
		c := classes[s[i]]
		start := i
		for i++; i < len(s) && classes[s[i]] == c; i++ {
		}
		n := i - start
		switch c {
		case lower:
			sum += unit + max(0, n-6)*25
		case upper:
			sum += n * 40
		case digit:
			sum += (n + 2) / 3 * unit
		case mark:
			sum += (n + 1) / 2 * unit
		case line:
			sum += unit
		case space:
			if n > 1 {
				sum += unit
			}
		case wide:
			sum += n * 40
		}
	}
	return max(1, (sum+unit/2)/unit)
}
