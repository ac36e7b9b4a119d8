package config_test

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
)

var update = flag.Bool("update", false, "write the reference anew")

func TestReference(t *testing.T) {
	t.Parallel()
	const file = "../../../docs/configuration.md"
	got := config.Reference()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s is not what the code says; write it with: make docs\n%s", file, d)
	}
}

// TestExample holds that the example in the repository can be loaded.
func TestExample(t *testing.T) {
	t.Parallel()
	src := config.OS()
	src.Getenv = func(string) string { return "" }
	c, err := config.Load(src, map[string]string{"TOOLSCOUT_CONFIG": "../../../examples/toolscout.toml", "TOOLSCOUT_DATA_DIR": t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Gateway.Servers) != 3 {
		t.Errorf("got %d servers, want 3", len(c.Gateway.Servers))
	}
}
