package main

import (
	"math"
	"testing"
)

// TestAtLeast: where notices were missed, no revision that is known is enough.
func TestAtLeast(t *testing.T) {
	t.Parallel()
	for notice, want := range map[string]int64{"": math.MaxInt64, "catalog 7": 7, "catalog": 0, "model 3": 0, "user x": 0} {
		if got := atLeast(notice); got != want {
			t.Errorf("%q: got %d, want %d", notice, got, want)
		}
	}
}
