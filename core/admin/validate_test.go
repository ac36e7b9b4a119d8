package admin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/admin"
)

func TestValidateServerAccepts(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]core.Server{
		"stdio":       stdio(nil),
		"http":        remote(nil),
		"sse":         remote(func(s *core.Server) { s.Transport = core.SSE }),
		"references":  remote(func(s *core.Server) { s.URL = "https://${HOST}:${PORT}/mcp?key=${KEY}" }),
		"all by name": remote(func(s *core.Server) { s.URL = "${REMOTE_URL}" }),
		"owned": remote(func(s *core.Server) {
			s.Visibility, s.OwnerID = core.Owned, "0d4cb5a4-4b0b-4a33-a2fb-6a6a3e0ba6b4"
		}),
		"everything": remote(func(s *core.Server) {
			s.Headers = map[string]string{"Authorization": "Bearer ${TOKEN}", "X-Empty": ""}
			s.AllowedTools, s.BlockedTools = []string{"read_*", "a[bc]"}, []string{"drop table"}
			s.RequiredRoles, s.AgentAllowlist, s.Tags = []string{"dev"}, []string{"claude-code"}, []string{"ein Wort"}
			s.Visibility, s.Isolation, s.Status, s.Timeout = core.Hidden, core.PerSession, core.Inactive, time.Hour
			s.Prefix, s.Domain, s.Description = "gh_", "code", "two\nlines"
		}),
	} {
		if diff := cmp.Diff([]core.Fault(nil), admin.ValidateServer(s)); diff != "" {
			t.Errorf("%s: faults (-want +got):\n%s", name, diff)
		}
	}
}

func TestValidateServerNamesEveryFault(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		server core.Server
		want   []string // pointers
	}{
		{"nothing", core.Server{}, []string{"/name", "/transport"}},
		{"unknown transport", stdio(func(s *core.Server) { s.Transport = "carrier pigeon" }), []string{"/transport"}},
		{"name with a slash", stdio(func(s *core.Server) { s.Name = "a/b" }), []string{"/name"}},
		{"name of 65", stdio(func(s *core.Server) { s.Name = strings.Repeat("a", 65) }), []string{"/name"}},
		{"stdio without command", stdio(func(s *core.Server) { s.Command = " " }), []string{"/command"}},
		{"stdio with url", stdio(func(s *core.Server) { s.URL = "https://x/" }), []string{"/url"}},
		{"stdio with headers", stdio(func(s *core.Server) { s.Headers = map[string]string{"A": "b"} }), []string{"/headers"}},
		{"http with command", remote(func(s *core.Server) { s.Command, s.Args = "x", []string{"y"} }), []string{"/command", "/args"}},
		{"http with env", remote(func(s *core.Server) { s.Env = map[string]string{"A": "b"} }), []string{"/env"}},
		{"no url", remote(func(s *core.Server) { s.URL = "" }), []string{"/url"}},
		{"file url", remote(func(s *core.Server) { s.URL = "file:///etc/passwd" }), []string{"/url"}},
		{"url without host", remote(func(s *core.Server) { s.URL = "https:///mcp" }), []string{"/url"}},
		{"url with credentials", remote(func(s *core.Server) { s.URL = "https://me:secret@host/mcp" }), []string{"/url"}},
		{"url with line end", remote(func(s *core.Server) { s.URL = "https://host/\r\nX: y" }), []string{"/url"}},
		{"bad header name", remote(func(s *core.Server) { s.Headers = map[string]string{"A B": "c"} }), []string{"/headers/A B"}},
		{"escaped pointer", remote(func(s *core.Server) { s.Headers = map[string]string{"a/b~": "c"} }), []string{"/headers/a~1b~0"}},
		{"our header", remote(func(s *core.Server) { s.Headers = map[string]string{"mcp-Session-ID": "c"} }), []string{"/headers/mcp-Session-ID"}},
		{"smuggled header", remote(func(s *core.Server) { s.Headers = map[string]string{"A": "b\r\nHost: x"} }), []string{"/headers/A"}},
		{"bad reference", remote(func(s *core.Server) { s.Headers = map[string]string{"A": "${a b}"} }), []string{"/headers/A"}},
		{"bad env name", stdio(func(s *core.Server) { s.Env = map[string]string{"A=B": "c"} }), []string{"/env/A=B"}},
		{"NUL in env", stdio(func(s *core.Server) { s.Env = map[string]string{"A": "\x00"} }), []string{"/env/A"}},
		{"NUL in args", stdio(func(s *core.Server) { s.Args = []string{"a", "b\x00"} }), []string{"/args/1"}},
		{"invalid UTF-8", stdio(func(s *core.Server) { s.Description = "\xff" }), []string{"/description"}},
		{"bad pattern", stdio(func(s *core.Server) { s.AllowedTools = []string{"ok", "[", ""} }), []string{"/allowedTools/1", "/allowedTools/2"}},
		{"bad prefix", stdio(func(s *core.Server) { s.Prefix = "a b" }), []string{"/prefix"}},
		{"bad domain", stdio(func(s *core.Server) { s.Domain = "Code!" }), []string{"/domain"}},
		{"blank role", stdio(func(s *core.Server) { s.RequiredRoles = []string{" "} }), []string{"/requiredRoles/0"}},
		{"many tags", stdio(func(s *core.Server) { s.Tags = strings.Split(strings.Repeat("a,", 256)+"a", ",") }), []string{"/tags"}},
		{"timeout too short", stdio(func(s *core.Server) { s.Timeout = time.Millisecond }), []string{"/timeout"}},
		{"negative timeout", stdio(func(s *core.Server) { s.Timeout = -time.Second }), []string{"/timeout"}},
		{"timeout too long", stdio(func(s *core.Server) { s.Timeout = 2 * time.Hour }), []string{"/timeout"}},
		{"bad words", stdio(func(s *core.Server) { s.Visibility, s.Isolation, s.Status = "x", "y", "z" }), []string{"/visibility", "/isolation", "/status"}},
		{"owned by nobody", stdio(func(s *core.Server) { s.Visibility = core.Owned }), []string{"/ownerId"}},
		{"visible with owner", stdio(func(s *core.Server) { s.OwnerID = "someone" }), []string{"/ownerId"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range admin.ValidateServer(tc.server) {
				got = append(got, f.Pointer)
				if f.Message == "" || strings.Contains(f.Message, "secret") {
					t.Errorf("message %q", f.Message)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pointers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateServerOrdersFaults(t *testing.T) {
	t.Parallel()
	s := stdio(func(s *core.Server) {
		s.Env = map[string]string{}
		for i := range 20 {
			s.Env[fmt.Sprintf("%02d", i)] = ""
		}
	})
	first := admin.ValidateServer(s)
	for range 5 {
		if diff := cmp.Diff(first, admin.ValidateServer(s)); diff != "" {
			t.Fatalf("the order changes:\n%s", diff)
		}
	}
}

func stdio(edit func(*core.Server)) core.Server {
	return edited(core.Server{Name: "files", Transport: core.Stdio, Command: "npx", Args: []string{"-y", "server"},
		Env: map[string]string{"TOKEN": "${TOKEN}"}}, edit)
}

func remote(edit func(*core.Server)) core.Server {
	return edited(core.Server{Name: "db", Transport: core.HTTP, URL: "https://db.example.com/mcp"}, edit)
}

func edited(s core.Server, edit func(*core.Server)) core.Server {
	if edit != nil {
		edit(&s)
	}
	return s
}

func TestDefaultsFollowWhatIsGiven(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		server core.Server
		want   core.Transport
	}{
		{core.Server{Command: "run"}, core.Stdio},
		{core.Server{URL: "https://x/sse", Transport: core.SSE}, core.SSE},
		{core.Server{URL: "https://x/mcp"}, core.HTTP},
		{core.Server{}, ""},
	} {
		if got := admin.Defaults(tc.server).Transport; got != tc.want {
			t.Errorf("transport of %+v is %q, want %q", tc.server, got, tc.want)
		}
	}
}
