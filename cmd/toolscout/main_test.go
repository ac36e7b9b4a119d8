package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
)

// command runs a command line against a server at base, and gives what it wrote.
func command(t *testing.T, base string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	env := map[string]string{"TOOLSCOUT_URL": base, "TOOLSCOUT_TOKEN": "ts_test", "HOME": t.TempDir()}
	source := config.Source{Getenv: func(name string) string { return env[name] }, Environ: func() []string { return nil }, ReadFile: os.ReadFile}
	var out, errs strings.Builder
	code = run(t.Context(), args, strings.NewReader(""), &out, &errs, source)
	return code, out.String(), errs.String()
}

// tokens is a server with one user, ann, who has these tokens. It gives the paths
// of what is deleted.
func tokens(t *testing.T, list string) (base string, deleted func() []string) {
	var paths []string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/admin/users", func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"items":[{"id":"u1","name":"ann"}]}`))
	})
	mux.HandleFunc("GET /v1/admin/users/u1/tokens", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(list)) })
	mux.HandleFunc("DELETE /", func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL, func() []string { return paths }
}

func TestRevokeByName(t *testing.T) {
	t.Parallel()
	const revoked = `{"id":"t1","name":"cli","revokedAt":"2026-01-01T00:00:00Z"}`
	for name, tt := range map[string]struct {
		tokens, token, want string // "" revokes nothing
	}{
		"the one that lives": {revoked + `,{"id":"t2","name":"cli"}`, "cli", "/v1/admin/users/u1/tokens/t2"},
		"two of one name":    {`{"id":"t2","name":"cli"},{"id":"t3","name":"cli"}`, "cli", ""},
		"one of two, by id":  {`{"id":"t2","name":"cli"},{"id":"t3","name":"cli"}`, "t3", "/v1/admin/users/u1/tokens/t3"},
		"revoked already":    {revoked, "cli", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, deleted := tokens(t, `{"items":[`+tt.tokens+`]}`)
			code, _, stderr := command(t, base, "tokens", "revoke", "ann", tt.token)
			if got := strings.Join(deleted(), " "); got != tt.want || (code == 0) != (tt.want != "") {
				t.Errorf("status %d, deleted %q, want %q; it said %q", code, got, tt.want, stderr)
			}
		})
	}
}

func TestErrorsCarryTheirAdvice(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/mcp.json"
	if err := os.WriteFile(file, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := command(t, "http://127.0.0.1:1", "servers", "import", file)
	if code != 1 || !strings.Contains(stderr, "Give the configuration file of Claude Desktop") {
		t.Errorf("status %d, it said %q", code, stderr)
	}
}

func TestWhatServersSayCannotSteerATerminal(t *testing.T) {
	t.Parallel()
	const escape = "\x1b]0;owned\x07\u009b2J"
	for _, answer := range []map[string]any{
		{"ok": true, "name": escape, "version": escape, "protocol": escape},
		{"ok": false, "stage": "list", "message": escape},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		}))
		_, stdout, _ := command(t, server.URL, "servers", "test", "--url", "https://example.com/mcp")
		server.Close()
		if stdout == "" || strings.ContainsAny(stdout, "\x1b\x07\u009b") {
			t.Errorf("printed %q", stdout)
		}
	}
}

// TestAdviceNamesCommands, where the server's names meta-tools.
func TestAdviceNamesCommands(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/tools" {
			w.Write([]byte(`{"items":[],"suggestion":"Look at list_tool_domains (see browse_tool_domain)."}`))
			return
		}
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte(`{"kind":"not_found","detail":"there is no tool","hint":"find tools with discover_tools"}`))
	}))
	t.Cleanup(server.Close)
	for line, want := range map[string]string{
		"tools show sum":   "find tools with toolscout tools search\n",
		"tools call sum":   "find tools with toolscout tools search\n",
		"tools search sum": "Look at toolscout tools list (see toolscout tools list --domain).",
	} {
		if _, _, stderr := command(t, server.URL, strings.Fields(line)...); !strings.Contains(stderr, want) {
			t.Errorf("%s: it said %q, want %q", line, stderr, want)
		}
	}
}

// TestAuditSince takes days, as eval and train do.
func TestAuditSince(t *testing.T) {
	t.Parallel()
	var since string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		since = r.FormValue("since")
		w.Write([]byte(`{"items":[]}`))
	}))
	t.Cleanup(server.Close)
	code, _, stderr := command(t, server.URL, "audit", "--since", "30d")
	at, err := time.Parse(time.RFC3339, since)
	if code != 0 || err != nil || time.Since(at).Round(time.Hour) != 30*24*time.Hour {
		t.Errorf("status %d: since %q (%v), it said %q", code, since, err, stderr)
	}
	if code, _, stderr := command(t, server.URL, "audit", "--since", "-1h"); code == 0 || !strings.Contains(stderr, "as in 30d or 12h") {
		t.Errorf("status %d, it said %q", code, stderr)
	}
}
