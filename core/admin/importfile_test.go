package admin_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/admin"
)

func TestParseMCPServers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		file     string
		want     []core.Server
		warnings []string
	}{
		{"claude-desktop.json", []core.Server{
			{Name: "filesystem", Transport: core.Stdio, Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/srv/docs"}, Status: core.Active},
			{Name: "github", Transport: core.Stdio, Command: "docker", Args: []string{"run", "-i", "ghcr.io/github/github-mcp-server"},
				Env: map[string]string{"GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_example", "PORT": "8080"}, Status: core.Active},
		}, nil},
		{"cursor.json", []core.Server{
			{Name: "My-tools", Transport: core.HTTP, URL: "https://tools.example.com/mcp",
				Headers: map[string]string{"Authorization": "Bearer ${TOOLS_TOKEN}"}, Status: core.Active},
			{Name: "My-tools-2", Transport: core.Stdio, Command: "tools", Status: core.Inactive},
			{Name: "old", Transport: core.SSE, URL: "https://old.example.com/sse", Status: core.Active},
		}, []string{
			"My tools: is registered as My-tools",
			"My-tools: is registered as My-tools-2",
			`My-tools: "envFile" is not supported and was left out`,
			"old: taken for the older SSE transport, as its address ends in /sse",
		}},
		{"vscode.json", []core.Server{
			{Name: "fetch", Transport: core.Stdio, Command: "uvx", Args: []string{"mcp-server-fetch", "${HOME}/cache"}, Status: core.Active},
			{Name: "perplexity", Transport: core.HTTP, URL: "https://api.example.com/mcp", Headers: map[string]string{"X-Key": "${PERPLEXITY_KEY}"}, Status: core.Active},
		}, []string{
			"perplexity: set PERPLEXITY_KEY in the gateway's environment (API key of Perplexity)",
		}},
		{"vscode-settings.json", []core.Server{
			{Name: "memory", Transport: core.Stdio, Command: "memory", Args: []string{"${workspaceFolder}"}, Status: core.Active},
		}, []string{"memory: ${workspaceFolder} means nothing here: write the folder instead"}},
		{"odd.json", []core.Server{
			{Name: "defaulted", Transport: core.Stdio, Command: "x", Env: map[string]string{"A": "${B}"}, Status: core.Active},
		}, []string{
			`defaulted: "args" is not a list of strings and was left out`,
			"defaulted: the default of ${B} is not supported: set it in the gateway's environment",
			`defaulted: env "C" is not a string and was left out`,
			"list: left out: it is not an object",
			"nothing: left out: /command: is missing: transport stdio runs a command",
			`pigeon: type "carrier" is not known`,
			"pigeon: left out: /url: want a URL with http or https",
		}},
	} {
		t.Run(tc.file, func(t *testing.T) {
			t.Parallel()
			got, warnings, err := admin.ParseMCPServers(read(t, tc.file))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
			var said []string
			for _, w := range warnings {
				said = append(said, w.String())
			}
			if diff := cmp.Diff(tc.warnings, said); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseMCPServersRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ file, want string }{
		"nothing":        {"", "not a JSON object"},
		"a broken file":  {"{\n\"mcpServers\": {,}\n}", "line 2"},
		"a list":         {"[]", "not a JSON object"},
		"null":           {"null", "not a JSON object"},
		"other settings": {`{"theme":"dark"}`, "neither mcpServers nor servers"},
		"wrong type":     {`{"mcpServers":[]}`, "not an object of servers"},
		"wrong mcp":      {`{"mcp":1}`, `"mcp" is not an object`},
		"other case":     {`{"MCPServers":{}}`, "neither mcpServers nor servers"},
		"deep nesting":   {strings.Repeat(`{"mcpServers":`, 20000), "not a JSON object"},
		"too large":      {strings.Repeat(" ", 5<<20), "larger than"},
	} {
		_, _, err := admin.ParseMCPServers([]byte(tc.file))
		if !errors.Is(err, core.InvalidParams) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want invalid_params with %q", name, err, tc.want)
		}
	}
}

// FuzzImport holds that no file panics, that every server that is taken over can
// be registered, and that names are unique.
func FuzzImport(f *testing.F) {
	for _, file := range []string{"claude-desktop.json", "cursor.json", "vscode.json", "vscode-settings.json", "odd.json"} {
		f.Add(read(f, file))
	}
	f.Add([]byte(`{"mcpServers":{"":{"command":"x"},"ü":{"command":"x"},"/":{"url":"http://a//b"}} // c`))
	f.Add([]byte("\xef\xbb\xbf{\"servers\":{\"a\":{\"command\":\"\\\"//\",\"args\":[\"/*\",],},}}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		servers, _, err := admin.ParseMCPServers(raw)
		if err != nil && !errors.Is(err, core.InvalidParams) {
			t.Errorf("error %v, want invalid_params", err)
		}
		seen := map[string]bool{}
		for _, s := range servers {
			if faults := admin.ValidateServer(s); len(faults) > 0 {
				t.Errorf("server %q has faults: %v", s.Name, faults)
			}
			if seen[s.Name] {
				t.Errorf("two servers are called %q", s.Name)
			}
			seen[s.Name] = true
		}
	})
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
