package main

import (
	"strings"
	"testing"
	"time"
)

// TestEvalRefuses what does not go together, before it starts anything.
func TestEvalRefuses(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"--live a --from-usage":               "one at a time",
		"--live a ./set":                      "they take no sets",
		"--from-usage --config a.toml":        "they take no sets",
		"--apply":                             "--apply goes with --tune",
		"--tune --apply ./set":                "--apply goes with --tune",
		"--save a":                            "--save goes with --from-usage",
		"--tune --against a ./set":            "--tune tries every weight",
		"--against a --against-config b":      "one at a time",
		"--keep":                              "--keep goes with --figures",
		"--weight 1":                          "--weight 1",
		"--weight NaN":                        "--weight NaN",
		"--k 51":                              "want 1 to 50",
		"--min metatool=2":                    "from 0 to 1",
		"--from-usage --since soon":           "as in 30d or 12h",
		"--live /nowhere.jsonl":               "/nowhere.jsonl",
		"--config /nowhere.toml":              "/nowhere.toml",
		"/nowhere/set":                        "/nowhere/set/tools.jsonl",
	} {
		code, _, stderr := command(t, "http://127.0.0.1:1", append([]string{"eval"}, strings.Fields(line)...)...)
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("eval %s: status %d, it said %q, want %q", line, code, stderr, want)
		}
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "1.5d": 36 * time.Hour, "12h": 12 * time.Hour, "0d": 0, "-1h": 0, "d": 0, "": 0} {
		if got, err := ago("since", text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: got %v (%v), want %v", text, got, err, want)
		}
	}
}
