// Package toon writes JSON as TOON and reads it back: Token-Oriented Object
// Notation, a text format for language models that states the fields of a list
// once, and then a row for each element. It follows version 4.1 of the specification
// (github.com/toon-format/spec, SPEC.md), to whose sections the comments refer.
//
// Both directions work on text, without a tree in between:
//
//   - Numbers are decimal text of any size and precision (§2, §4). Their value is
//     kept exactly; their form becomes the canonical one: 1.50 is 1.5, 1e3 is 1000,
//     -0 is 0, and from 1e21 on, or below 1e-6, 1E21 is 1e+21.
//   - The order of keys is kept, but for tables, where it is the first row's (§9.3).
//   - No key is special (§15), and two keys in one object are never equal.
//   - JSON that is nested deeper than MaxDepth is refused (§15), and so is an answer
//     longer than Options.Limit: both formats can say much in few bytes.
package toon

import (
	"errors"
	"fmt"
)

// MaxDepth is how deep objects and arrays may be nested in one another.
const MaxDepth = 256

// DefaultLimit is the limit of an answer's length unless Options say another.
const DefaultLimit = 64 << 20

// The errors that a caller may want to tell from a document's faults.
var (
	ErrTooDeep = fmt.Errorf("nested deeper than %d levels", MaxDepth)
	ErrTooLong = errors.New("the answer exceeds the limit")
	// ErrInexact is given for what TOON cannot hold as it is; see Options.Exact.
	ErrInexact = errors.New("TOON has no negative zero")
)

// Options are those of both directions. The zero value is the specification's
// defaults.
type Options struct {
	// Indent is how many spaces one level is indented; 2 if zero.
	Indent int
	// Delimiter is what separates the values of a row when encoding: ',' if zero,
	// '\t' or '|'. When decoding, documents say it themselves.
	Delimiter byte
	// Limit bounds the bytes of the answer; DefaultLimit if zero.
	Limit int
	// Exact has Encode refuse a negative zero, which TOON writes as 0.
	Exact bool
	// Lenient has Decode put up with what §14 calls errors of strict mode: wrong
	// counts, odd indentation, blank lines between rows, duplicate keys, of which
	// the last one counts.
	Lenient bool
}

func (o Options) filled() (Options, error) {
	if o.Indent == 0 {
		o.Indent = 2
	}
	if o.Delimiter == 0 {
		o.Delimiter = ','
	}
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	if o.Indent < 0 || o.Limit < 0 {
		return o, errors.New("a negative indentation or limit")
	}
	if o.Delimiter != ',' && o.Delimiter != '\t' && o.Delimiter != '|' {
		return o, fmt.Errorf("%q is no delimiter: comma, tab or pipe", o.Delimiter)
	}
	return o, nil
}
