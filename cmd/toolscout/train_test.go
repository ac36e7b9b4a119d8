package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
