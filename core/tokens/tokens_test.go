package tokens_test

import (
	"os"
	"path/filepath"
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

// TestEstimate_is_no_more_than_bytes: no tokenizer makes two tokens of a byte, and
// whoever has fewer bytes than tokens allowed need not count.
func TestEstimate_is_no_more_than_bytes(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"1 ", " 1", "1;", ". 1\n", "(\n", "A1", "\xff", "é"} {
		if got := tokens.Estimate(strings.Repeat(s, 500)); got > 500*len(s) {
			t.Errorf("%q: %d of %d bytes", s, got, 500*len(s))
		}
	}
}

// TestEstimate_is_near compares with what two tokenizers made of the texts in
// testdata (o200k_base and cl100k_base, by gpt-tokenizer 4): the estimate lies between
// them, or not far outside.
func TestEstimate_is_near(t *testing.T) {
	t.Parallel()
	for file, counts := range map[string][2]int{
		"base64": {381, 407}, "chinese": {47, 67}, "emoji": {49, 53}, "english": {72, 72}, "german": {50, 69}, "go": {117, 117},
		"hashes": {369, 370}, "japanese": {65, 97}, "json": {164, 172}, "log": {117, 117}, "russian": {54, 85}, "toon": {172, 174},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", file+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		got := float64(tokens.Estimate(string(text)))
		if got < 0.92*float64(counts[0]) || got > 1.08*float64(counts[1]) {
			t.Errorf("%s: %v tokens, want about %v", file, got, counts)
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
