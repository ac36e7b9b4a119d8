package script_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core"
)

// fnv is the interpreter's hash of short texts (FNV-1a).
func fnv(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

// crowded is an object whose names all have the same low bits in their hashes.
func crowded(n int) string {
	var b strings.Builder
	for i, found := 0, 0; found < n; i++ {
		if name := fmt.Sprintf("k%x", i); fnv(name)&0x3ff == 0 {
			found++
			fmt.Fprintf(&b, `,"%s":0`, name)
		}
	}
	return "{" + b.String()[1:] + "}"
}

// TestChosenNames: whoever sends JSON cannot have it read for minutes.
func TestChosenNames(t *testing.T) {
	t.Parallel()
	h := newWorld().source(t, "def before_call(ctx, request):\n    return request.arguments")
	err := through(t, h, call(crowded(4000)), &work{})
	if err == nil || !strings.Contains(err.Error(), "max_steps") {
		t.Errorf("got %v", err)
	}
}

// TestUsualKeys: keys that were not chosen cost no more than they did.
func TestUsualKeys(t *testing.T) {
	t.Parallel()
	var names strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&names, `,"name_%d":%d`, i, i)
	}
	const source = `
def before_call(ctx, request):
    few = [i % 3 for i in range(20000)]
    if len(set(few)) != 3 or len(set([(i, "x") for i in few])) != 3 or len(dict([(i, 0) for i in few])) != 3:
        fail("not three")
    many = [i * 7 for i in range(10000)]
    if len(set(many)) != 10000 or len(request.arguments) != 10000:
        fail("not all")
`
	h := newWorld().mustLoad(t, map[string]any{"source": source, "max_steps": 1000000})
	if err := through(t, h, call("{"+names.String()[1:]+"}"), &work{}); err != nil {
		t.Error(told(err))
	}
}

// TestSearchesEnd: each match of this pattern reads to the end of the text. Without
// an end that takes an hour.
func TestSearchesEnd(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`x = re.findall("x*y|x", "x" * 200000)`,
		`x = re.sub("x*y|x", "", "x" * 200000)`,
		`x = re.split("x*y|x", "x" * 200000)`,
	} {
		h := newWorld().source(t, "def before_call(ctx, request):\n    "+body)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := h.Before(ctx, call(`{}`))
		cancel()
		if !errors.Is(err, core.Timeout) {
			t.Errorf("%s: got %v", body, err)
		}
	}
}
