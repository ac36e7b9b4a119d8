package testfilter_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/testfilter"
)

var update = flag.Bool("update", false, "write the golden files anew")

func open(t testing.TB, config string) hooks.Hook {
	t.Helper()
	h, err := testfilter.Type().New(hooks.Instance{Config: json.RawMessage(config)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// filter sends a text through a hook as the only block of a result.
func filter(t testing.TB, h hooks.Hook, text string) string {
	t.Helper()
	raw, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	result := json.RawMessage(`{"content":[{"type":"text","text":` + string(raw) + `}]}`)
	c := &hooks.Call{Level: hooks.Tool, Result: result}
	if err := h.After(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if &c.Result[0] == &result[0] {
		return text
	}
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(c.Result, &r); err != nil {
		t.Fatal(err)
	}
	return r.Content[0].Text
}

func sample(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// samples are the files that scripts/test-samples.sh made.
func samples(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d samples: %v", len(paths), err)
	}
	return paths
}

// TestGolden shows what is made of each sample.
func TestGolden(t *testing.T) {
	t.Parallel()
	h := open(t, `{}`)
	for _, path := range samples(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := filter(t, h, sample(t, name))
			golden := filepath.Join("testdata", "short", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, string(want)); diff != "" {
				t.Errorf("got - want +\n%s", diff)
			}
		})
	}
}
