package tokens_test

import (
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core/tokens"
)

func TestEstimate_is_nought_only_for_nothing(t *testing.T) {
	t.Parallel()
	if got := tokens.Estimate(""); got != 0 {
		t.Errorf("of nothing: %d, want 0", got)
	}
	for _, s := range []string{"a", "A", "1", " ", "\n", "{", "é", "\xff"} {
		if got := tokens.Estimate(s); got != 1 {
			t.Errorf("of %q: %d, want 1", s, got)
		}
	}
}

func TestEstimate_does_not_allocate(t *testing.T) {
	s := strings.Repeat(`{"id":12,"名前":"Ada Lovelace"}`+"\n", 100)
	if n := testing.AllocsPerRun(10, func() { tokens.Estimate(s) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkEstimate(b *testing.B) {
	s := strings.Repeat(`{"id":1234,"title":"The build fails on Windows","state":"open","labels":["bug"]},`, 52)[:4096]
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		tokens.Estimate(s)
	}
}
