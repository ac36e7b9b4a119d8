//go:build conformance

package toon_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core/toon"
)

// fixture is one of the specification's official fixtures.
type fixture struct {
	Name        string
	Input       json.RawMessage
	Expected    json.RawMessage
	ShouldError bool
	SpecSection string
	Options     struct {
		Delimiter  string
		IndentSize int
		Strict     *bool
	}
}

func (f fixture) options() toon.Options {
	o := toon.Options{Indent: f.Options.IndentSize, Lenient: f.Options.Strict != nil && !*f.Options.Strict}
	if f.Options.Delimiter != "" {
		o.Delimiter = f.Options.Delimiter[0]
	}
	return o
}

// TestConformance runs the official fixtures in the folder TOON_FIXTURES.
func TestConformance(t *testing.T) {
	for direction, check := range map[string]func(*testing.T, fixture){"encode": checkEncode, "decode": checkDecode} {
		files, err := filepath.Glob(filepath.Join(os.Getenv("TOON_FIXTURES"), direction, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no fixtures in TOON_FIXTURES=%q: %v", os.Getenv("TOON_FIXTURES"), err)
		}
		for _, file := range files {
			for _, f := range fixturesOf(t, file) {
				t.Run(direction+"/"+filepath.Base(file)+"/"+f.Name, func(t *testing.T) { check(t, f) })
			}
		}
	}
}

func fixturesOf(t *testing.T, file string) []fixture {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Tests []fixture }
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&all); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(all.Tests) == 0 {
		t.Fatalf("%s holds no fixtures", file)
	}
	return all.Tests
}

func stringOf(t *testing.T, raw json.RawMessage) string {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%s is no string: %v", raw, err)
	}
	return s
}

func checkEncode(t *testing.T, f fixture) {
	got, err := toon.Encode(string(f.Input), f.options())
	if (err != nil) != f.ShouldError {
		t.Fatalf("§%s: error %v, want one: %v", f.SpecSection, err, f.ShouldError)
	}
	if want := stringOf(t, f.Expected); got != want {
		t.Errorf("§%s: got\n%s\nwant\n%s", f.SpecSection, got, want)
	}
}

func checkDecode(t *testing.T, f fixture) {
	got, err := toon.Decode(stringOf(t, f.Input), f.options())
	if (err != nil) != f.ShouldError {
		t.Fatalf("§%s: %s, error %v, want one: %v", f.SpecSection, got, err, f.ShouldError)
	}
	if f.ShouldError {
		return
	}
	if diff := cmp.Diff(flat(t, got), flat(t, f.Expected)); diff != "" {
		t.Errorf("§%s: got %s, want %s", f.SpecSection, got, f.Expected)
	}
}

// flat is a JSON text as its tokens in order, numbers by their value.
func flat(t *testing.T, raw json.RawMessage) []string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var all []string
	for {
		token, err := d.Token()
		if err != nil {
			return all
		}
		if n, ok := token.(json.Number); ok {
			r, ok := new(big.Rat).SetString(n.String())
			if !ok {
				t.Fatalf("%s is no number", n)
			}
			token = "number " + r.String()
		}
		b, _ := json.Marshal(token)
		all = append(all, string(b))
	}
}
