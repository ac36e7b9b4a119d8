package config_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
)

// source is an environment and a folder of files.
func source(env map[string]string, files map[string]string) config.Source {
	return config.Source{
		Getenv: func(k string) string { return env[k] },
		Environ: func() []string {
			var out []string
			for k, v := range env {
				out = append(out, k+"="+v)
			}
			return out
		},
		ReadFile: func(name string) ([]byte, error) {
			if s, ok := files[name]; ok {
				return []byte(s), nil
			}
			return nil, fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
		},
	}
}

func load(toml string, env ...string) (config.Config, error) {
	vars := map[string]string{"HOME": "/home/ann", "TOOLSCOUT_CONFIG": "/etc/toolscout.toml"}
	for i := 0; i < len(env); i += 2 {
		vars[env[i]] = env[i+1]
	}
	return config.Load(source(vars, map[string]string{"/etc/toolscout.toml": toml, "/run/token": "ts_abc\n"}), nil)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	c, err := load(`
[gateway]
allow_networks = ["10.0.0.0/8"]

[[gateway.servers]]
name = "github"
transport = "stdio"
command = ["npx", "-y", "@modelcontextprotocol/server-github"]
env = { GITHUB_PERSONAL_ACCESS_TOKEN = "${GITHUB_TOKEN}" }
prefix = "gh_"
domain = "code"
timeout = "45s"

[[gateway.servers]]
name = "local"
command = "serve"
args = ["--stdio", "${TOOLSCOUT_CONFIG_DIR}/data"]

[embeddings]
provider = "openai"
model = "text-embedding-3-small"
api_key = "${KEY}"

[audit]
mode = "sync"
retention = "2160h"
`, "KEY", "k", "TOOLSCOUT_ADMIN_TOKEN_FILE", "/run/token", "TOOLSCOUT_ALLOWED_ORIGINS", "https://a.example, https://b.example")
	if err != nil {
		t.Fatal(err)
	}
	got := []any{c.Addr, c.DataDir, c.AdminToken, c.AllowedOrigins, c.LoopbackOnly(), c.Gateway.Enabled, c.Gateway.CallTimeout, c.Gateway.PerServer,
		c.Embeddings, c.Audit, len(c.Gateway.Servers)}
	want := []any{"127.0.0.1:8080", "/home/ann/.local/share/toolscout", "ts_abc", []string{"https://a.example", "https://b.example"}, true, true, 30 * time.Second, 32,
		config.Embeddings{Provider: "openai", Model: "text-embedding-3-small", APIKey: "k"}, config.Audit{Sync: true, Retention: 2160 * time.Hour}, 2}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	gh, local := c.Gateway.Servers[0], c.Gateway.Servers[1]
	if d := cmp.Diff([]any{"npx", []string{"-y", "@modelcontextprotocol/server-github"}, "${GITHUB_TOKEN}", 45 * time.Second},
		[]any{gh.Command, gh.Args, gh.Env["GITHUB_PERSONAL_ACCESS_TOKEN"], gh.Timeout}); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]any{"serve", []string{"--stdio", "/etc/data"}}, []any{local.Command, local.Args}); d != "" {
		t.Error(d)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		toml string
		env  []string
		want string
	}{
		"unknown key":                  {toml: "[gateway]\nenabled = true\nalow_stdio = true\n", want: `/etc/toolscout.toml:3: unknown key "gateway.alow_stdio"`},
		"unknown key of a server":      {toml: "[[gateway.servers]]\nname = \"a\"\nurll = \"x\"\n", want: `:3: unknown key "gateway.servers.urll"`},
		"syntax":                       {toml: "[gateway\n", want: "/etc/toolscout.toml:1:"},
		"wrong type":                   {toml: "[gateway]\nenabled = \"yes\"\n", want: "/etc/toolscout.toml:2:"},
		"duplicate table":              {toml: "[audit]\n[audit]\n", want: "/etc/toolscout.toml:2:"},
		"bad duration":                 {toml: "[gateway]\ncall_timeout = \"soon\"\n", want: "/etc/toolscout.toml:2: gateway.call_timeout"},
		"negative bound":               {toml: "[gateway]\nmax_children = -1\n", want: "/etc/toolscout.toml:2: gateway.max_children"},
		"bad network":                  {toml: "[gateway]\nallow_networks = [\"ten\"]\n", want: "/etc/toolscout.toml:2: gateway.allow_networks"},
		"bad audit mode":               {toml: "[audit]\nmode = \"never\"\n", want: "/etc/toolscout.toml:2: audit.mode"},
		"reference without value":      {toml: "[embeddings]\nprovider = \"openai\"\napi_key = \"${NOPE}\"\n", want: "environment variable NOPE is not set"},
		"bad timeout of a server":      {toml: "[[gateway.servers]]\nname = \"a\"\n[gateway.servers.env]\nA = \"b\"\n\n[[gateway.servers]]\nname = \"b\"\ntimeout = \"soon\"\n", want: "/etc/toolscout.toml:8: gateway.servers[1].timeout"},
		"unknown provider in the file": {toml: "[embeddings]\n# one of\nprovider = \"word2vec\"\n", want: "/etc/toolscout.toml:3: embeddings.provider"},
		"unknown provider":             {env: []string{"TOOLSCOUT_EMBEDDINGS", "word2vec"}, want: "word2vec"},
		"model with builtin":           {toml: "[embeddings]\nmodel = \"x\"\n", want: "built-in model"},
		"bad address":                  {env: []string{"TOOLSCOUT_ADDR", "8080"}, want: "TOOLSCOUT_ADDR"},
		"bad public url":               {env: []string{"TOOLSCOUT_PUBLIC_URL", "tools.example.com"}, want: "TOOLSCOUT_PUBLIC_URL"},
		"bad database url":             {env: []string{"DATABASE_URL", "mysql://x"}, want: "TOOLSCOUT_DATABASE_URL"},
		"secret given twice":           {env: []string{"TOOLSCOUT_ADMIN_TOKEN", "a", "TOOLSCOUT_ADMIN_TOKEN_FILE", "/run/token"}, want: "both set"},
		"secret file missing":          {env: []string{"TOOLSCOUT_ADMIN_TOKEN_FILE", "/run/none"}, want: "/run/none"},
		"config file missing":          {env: []string{"TOOLSCOUT_CONFIG", "/none.toml"}, want: "/none.toml"},
		"bad log level":                {env: []string{"TOOLSCOUT_LOG_LEVEL", "loud"}, want: "TOOLSCOUT_LOG_LEVEL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(tt.toml, tt.env...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want something with %q", err, tt.want)
			}
		})
	}
}

func TestEmbeddingsByEnvironment(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]config.Embeddings{
		"":                       {Provider: "builtin"},
		"ollama":                 {Provider: "ollama", Model: "nomic-embed-text"},
		"http://127.0.0.1:9/v1":  {Provider: "openai", BaseURL: "http://127.0.0.1:9/v1", Model: "text-embedding-3-small", APIKey: "k"},
		"openai":                 {Provider: "openai", Model: "text-embedding-3-small", APIKey: "k"},
		"https://tei.example/v1": {Provider: "openai", BaseURL: "https://tei.example/v1", Model: "text-embedding-3-small", APIKey: "k"},
	} {
		c, err := load("", "TOOLSCOUT_EMBEDDINGS", setting, "OPENAI_API_KEY", "k")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, c.Embeddings); d != "" {
			t.Errorf("%q: %s", setting, d)
		}
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		addr, public string
		want         bool
	}{
		{"127.0.0.1:0", "", true},
		{"localhost:80", "http://localhost:80", true},
		{"[::1]:80", "https://tools.example.com", false}, // behind a proxy
		{":8080", "", false},
		{"0.0.0.0:8080", "http://127.0.0.1:8080", false},
	} {
		c, err := load("", "TOOLSCOUT_ADDR", tt.addr, "TOOLSCOUT_PUBLIC_URL", tt.public)
		if err != nil {
			t.Fatal(err)
		}
		if c.Local() != tt.want {
			t.Errorf("%s as %q: local %v, want %v", tt.addr, tt.public, c.Local(), tt.want)
		}
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	got := config.Unknown(source(map[string]string{"TOOLSCOUT_ALLOWED_ORIGIN": "x", "TOOLSCOUT_ADDR": "y", "TOOLSCOUT_TOKEN_FILE": "z"}, nil))
	if d := cmp.Diff([]string{"TOOLSCOUT_ALLOWED_ORIGIN"}, got); d != "" {
		t.Error(d)
	}
}

// FuzzFile holds that no file makes Load panic.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{"", "[gateway]\nenabled = true\n", "[[gateway.servers]]\nname = \"a\"\ncommand = [\"x\"]\n",
		"a = ", "[embeddings]\napi_key = \"${X}\"\n", "[[gateway.servers]]\nenv = { A = 1 }\n", "\xff", "[gateway]\nservers = 3\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, toml string) {
		c, err := load(toml)
		if err == nil && c.Addr == "" {
			t.Error("a file took the address away")
		}
	})
}

func TestUseOfToolsCountsUnlessItIsSwitchedOff(t *testing.T) {
	t.Parallel()
	for toml, want := range map[string]bool{"": true, "[search]\n": true, "[search]\nusage = true\n": true, "[search]\nusage = false\n": false} {
		if c, err := load(toml); err != nil || c.Search.Usage != want {
			t.Errorf("%q: %v, %v", toml, c.Search, err)
		}
	}
}
