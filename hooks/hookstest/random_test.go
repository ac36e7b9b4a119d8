package hookstest_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/toolscout/toolscout/hooks/hookstest"
)

// TestIsJSON: whatever is made is JSON, and the same for the same seed.
func TestIsJSON(t *testing.T) {
	t.Parallel()
	r, again := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		for _, make := range []func(*rand.Rand) json.RawMessage{hookstest.Result, hookstest.Arguments} {
			raw := make(r)
			if !json.Valid(raw) {
				t.Fatalf("%s", raw)
			}
			if other := make(again); string(other) != string(raw) {
				t.Fatalf("%s\n%s", raw, other)
			}
		}
	}
}
