package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
	"github.com/toolscout/toolscout/embeddings/builtin"
)

// TestTrainRefuses what cannot be adapted, before it reads or starts anything.
func TestTrainRefuses(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		`{"id":1,"provider":"openai","name":"small","active":true}`:                "only the built-in model can be adapted",
		`{"id":1,"provider":"builtin","name":"words-256-v1","active":true}`:        "use the program of the server's version",
		`{"id":1,"provider":"builtin","name":"words-256-v1+0a0b0c","active":true}`: "read the model that is in use",
		`{"id":1,"provider":"builtin","name":"words-256-v2+0a0b0c","active":true}`: "read the model that is in use",
		`{"id":1,"provider":"builtin","name":"words-256-v2+0a0b0d","active":true}`: "may have learned from what is held out now",
		`{"id":1,"provider":"builtin","name":"words-256-v2"}`:                      "no embedding model is active yet",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case modelsPath:
				_, _ = w.Write([]byte(`{"items":[` + model + `]}`))
			case tablePath:
				_, _ = w.Write([]byte(`{"table":"eA=="}`))
			default:
				t.Errorf("asked for %s", r.URL)
			}
		}))
		code, _, stderr := command(t, server.URL, "train", "--from-catalog")
		server.Close()
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, it said %q, want %q", model, code, stderr, want)
		}
	}
}

func TestTrainRefusesFlags(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                                    "say --from-catalog or --revert",
		"--usage":                             "--usage goes with --from-catalog",
		"--from-catalog --since 1d":           "--since goes with --usage",
		"--from-catalog --usage --since soon": "as in 30d or 12h",
	} {
		code, _, stderr := command(t, "http://127.0.0.1:1", append([]string{"train"}, strings.Fields(line)...)...)
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("train %s: status %d, it said %q, want %q", line, code, stderr, want)
		}
	}
}

// catalogOf is a server with the built-in model and these tools.
func catalogOf(t *testing.T, tools string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		items := tools
		if r.URL.Path == modelsPath {
			provider, name, _ := strings.Cut(builtin.Name, "/")
			items = fmt.Sprintf(`{"id":1,"provider":%q,"name":%q,"active":true}`, provider, name)
		}
		fmt.Fprintf(w, `{"items":[%s]}`, items)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestTrainWithTooFewTools says at once how many it takes, in words.
func TestTrainWithTooFewTools(t *testing.T) {
	t.Parallel()
	base := catalogOf(t, `{"id":"a","name":"a","description":"Does something or other","serverName":"s"}`)
	for _, holdOut := range []string{".2", ".01"} {
		code, _, stderr := command(t, base, "train", "--from-catalog", "--holdout", holdOut)
		want := map[string]string{".2": "so some 100 tools in all", ".01": "so some 2000 tools in all"}[holdOut]
		if code == 0 || !strings.Contains(stderr, want) || !strings.Contains(stderr, "hold out a larger share with --holdout") ||
			!strings.Contains(stderr, "1 tool of 1 server\n") || strings.Contains(stderr, "1 tools") || strings.Contains(stderr, "invalid_params") || strings.Contains(stderr, "database") {
			t.Errorf("status %d, it said %q", code, stderr)
		}
	}
}

// TestTrainStopped says what became of it.
func TestTrainStopped(t *testing.T) {
	t.Parallel()
	env := map[string]string{"TOOLSCOUT_URL": catalogOf(t, ""), "TOOLSCOUT_TOKEN": "ts_test", "HOME": t.TempDir()}
	source := config.Source{Getenv: func(name string) string { return env[name] }, Environ: func() []string { return nil }, ReadFile: os.ReadFile}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var errs strings.Builder
	if code := run(ctx, []string{"train", "--from-catalog"}, strings.NewReader(""), io.Discard, &errs, source); code == 0 || errs.String() != "toolscout: stopped: nothing is changed\n" {
		t.Errorf("status %d, it said %q", code, errs.String())
	}
}

// TestRevertEndsWhenAnotherIsChosenMeanwhile, instead of waiting for what never comes.
func TestRevertEndsWhenAnotherIsChosenMeanwhile(t *testing.T) {
	t.Parallel()
	chosen := []string{"builtin/words", "builtin/words", "builtin/words+other"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case modelsPath:
			_, _ = w.Write([]byte(`{"items":[{"id":1,"provider":"builtin","name":"words+adapted","active":true}]}`))
		case tablePath:
			_, _ = w.Write([]byte(`{"id":1,"provider":"builtin","name":"words+adapted"}`))
		case indexPath:
			fmt.Fprintf(w, `{"state":"running","chosen":%q}`, chosen[0])
			if len(chosen) > 1 {
				chosen = chosen[1:]
			}
		}
	}))
	t.Cleanup(server.Close)
	code, _, stderr := command(t, server.URL, "train", "--revert")
	if want := "search was to use builtin/words, and meanwhile somebody else had it use builtin/words+other"; code == 0 || !strings.Contains(stderr, want) {
		t.Errorf("status %d, it said %q, want %q", code, stderr, want)
	}
}
