package admin

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolscout/toolscout/core"
)

// faults collects what is wrong.
type faults []core.Fault

func (f *faults) add(pointer, format string, args ...any) {
	*f = append(*f, core.Fault{Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

func (f *faults) size(at string, n int) {
	if n > maxItems {
		f.add(at, "holds %d entries, of which %d are allowed", n, maxItems)
	}
}

// text bounds a text, and refuses what the database or an operating system cannot carry.
func (f *faults) text(at, s string, limit int) {
	switch {
	case len(s) > limit:
		f.add(at, "is longer than %d bytes", limit)
	case !utf8.ValidString(s):
		f.add(at, "is not valid UTF-8")
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\n\t\r", r) }):
		f.add(at, "holds control characters")
	}
}

// escape makes a name fit for a JSON pointer (RFC 6901, section 3).
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// sorted ranges over a map in the order of its keys, so that faults come in the
// same order each time.
func sorted(m map[string]string) func(yield func(k, v string) bool) {
	return func(yield func(k, v string) bool) {
		keys := make([]string, 0, len(m))
		for k := range m {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

func shorten(s string) string {
	if len(s) <= 64 {
		return s
	}
	return fmt.Sprintf("%.64s…", s)
}

// invalid is the error for faults; nil when there are none.
func invalid(f []core.Fault) error {
	if len(f) == 0 {
		return nil
	}
	e := core.Errorf(core.InvalidParams, "%s: %s", at(f[0].Pointer), f[0].Message)
	if len(f) > 1 {
		e.Message += fmt.Sprintf(" (and %d more)", len(f)-1)
	}
	e.Faults = f
	return e
}

func at(pointer string) string {
	if pointer == "" {
		return "the input"
	}
	return pointer
}
