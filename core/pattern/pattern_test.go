package pattern_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core/pattern"
)

func TestFindAllIsThatOfRegexp(t *testing.T) {
	t.Parallel()
	for _, re := range []string{`a(b)?`, `\bab\b`, `^`, ``, `(?m)$`, `c`, `x`} {
		for _, text := range []string{"", "ab", strings.Repeat("ab abc\n", 10), strings.Repeat("ab abc\n", 700)} {
			for _, most := range []int{-1, 0, 1, 15, 16, 17, 100, 1 << 40} {
				re := regexp.MustCompile(re)
				got, err := pattern.FindAll(re, text, most, func() error { return nil })
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(got, re.FindAllStringSubmatchIndex(text, most)); diff != "" {
					t.Errorf("%s in %d bytes, at most %d: %s", re, len(text), most, diff)
				}
			}
		}
	}
}

// TestFindAllEnds: without an end this takes an hour.
func TestFindAllEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	text := strings.Repeat("x", 1<<17)
	if _, err := pattern.FindAll(regexp.MustCompile(`x*y|x`), text, -1, ctx.Err); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
