package toon

import (
	"strconv"
	"strings"
)

// isNumber reports whether an unquoted token is a number (§4): JSON's grammar.
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	n := digits(s)
	return n > 0 && (n == 1 || s[0] != '0') && isTail(s[n:])
}

// looksNumeric reports whether a string must be quoted for looking like a number
// (§7.2): a sign and leading zeros make no difference.
func looksNumeric(s string) bool {
	if s[0] == '+' || s[0] == '-' {
		s = s[1:]
	}
	n := digits(s)
	return n > 0 && isTail(s[n:])
}

// isTail reports whether s is what may follow the integer part.
func isTail(s string) bool {
	if strings.HasPrefix(s, ".") {
		n := digits(s[1:])
		if n == 0 {
			return false
		}
		s = s[1+n:]
	}
	if s == "" {
		return true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && digits(s) == len(s)
}

// digits counts those that s begins with.
func digits(s string) int {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return i
		}
	}
	return len(s)
}

// appendNumber adds a JSON number in canonical form (§2). It works on the digits,
// so that none is lost.
func appendNumber(dst []byte, s string) []byte {
	if digits(s) == len(s) {
		return append(dst, s...)
	}
	mantissa, exponent := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		n, err := strconv.Atoi(s[i+1:])
		if err != nil || n > 1<<40 || n < -1<<40 {
			return appendHuge(dst, s, i)
		}
		mantissa, exponent = s[:i], n
	}
	minus := strings.HasPrefix(mantissa, "-")
	mantissa = strings.TrimPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	fraction = strings.TrimRight(fraction, "0")
	if fraction == "" && exponent == 0 { // an integer stays as it is, however long
		if minus && whole != "0" {
			dst = append(dst, '-')
		}
		return append(dst, whole...)
	}
	// The value is all × 10^point-len(all) with neither leading nor trailing zeros.
	point := len(whole) + exponent
	all := whole + fraction
	trimmed := strings.TrimLeft(all, "0")
	point -= len(all) - len(trimmed)
	all = strings.TrimRight(trimmed, "0")
	if all == "" {
		return append(dst, '0')
	}
	if minus {
		dst = append(dst, '-')
	}
	return appendDecimal(dst, all, point)
}

// appendDecimal adds 0.all × 10^point: without exponent from 1e-6 to below 1e21.
func appendDecimal(dst []byte, all string, point int) []byte {
	switch {
	case point > 21 || point < -5:
		dst = append(dst, all[0])
		if len(all) > 1 {
			dst = append(append(dst, '.'), all[1:]...)
		}
		dst = append(dst, 'e')
		if point > 0 {
			dst = append(dst, '+')
		}
		return strconv.AppendInt(dst, int64(point)-1, 10)
	case point <= 0:
		return append(append(append(dst, '0', '.'), zeros[:-point]...), all...)
	case point >= len(all):
		return append(append(dst, all...), zeros[:point-len(all)]...)
	default:
		return append(append(append(dst, all[:point]...), '.'), all[point:]...)
	}
}

const zeros = "000000000000000000000"

// appendHuge adds a number with an exponent that no calculation is done with.
func appendHuge(dst []byte, s string, at int) []byte {
	if strings.Trim(s[:at], "-0.") == "" {
		return append(dst, '0')
	}
	dst = append(append(dst, s[:at]...), 'e')
	exponent := s[at+1:]
	if exponent[0] != '-' && exponent[0] != '+' {
		dst = append(dst, '+')
	}
	return append(dst, exponent...)
}

// isNegativeZero reports whether a JSON number is one.
func isNegativeZero(s string) bool {
	if s[0] != '-' || s[1] != '0' {
		return false
	}
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		i = len(s)
	}
	return strings.Trim(s[:i], "-0.") == ""
}
