package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

// TestStartRefused starts servers that cannot start. Each ends with one line that
// says why and, where there is one, names the line of the file.
func TestStartRefused(t *testing.T) {
	t.Parallel()
	away := launch(t, options{database: "postgres://x@127.0.0.1:1/x"}) // is waited for a while
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	newer := pgtest.URL(t)
	makeNewer(t, newer)
	for _, tt := range []struct {
		name string
		o    options
		want string
	}{
		{"unknown key", options{config: "[gateway]\nenabled = true\ncolour = 1\n"}, `toolscout.toml:3: unknown key "gateway.colour"`},
		{"unknown table", options{config: "[gatway]\n"}, `toolscout.toml:1: unknown key "gatway"`},
		{"unknown key of a server", options{config: "[[gateway.servers]]\nname = \"a\"\nurll = \"x\"\n"}, `toolscout.toml:3: unknown key "gateway.servers.urll"`},
		{"value of another type", options{config: "\n[gateway]\nenabled = \"yes\"\n"}, "toolscout.toml:3:"},
		{"value out of range", options{config: "[gateway]\nmax_children = -1\n"}, "toolscout.toml:2: gateway.max_children"},
		{"value that is none", options{config: "[audit]\nmode = \"never\"\n"}, "toolscout.toml:2: audit.mode"},
		{"value of a server", options{config: "[[gateway.servers]]\nname = \"a\"\ncommand = \"true\"\n\n[[gateway.servers]]\nname = \"b\"\ncommand = \"true\"\nvisibility = \"sometimes\"\n"}, "toolscout.toml:8: gateway.servers[1].visibility (b)"},
		{"server of no transport", options{config: "[[gateway.servers]]\nname = \"a\"\n"}, "toolscout.toml:1: gateway.servers[0]"},
		{"broken file", options{config: "[gateway\n"}, "toolscout.toml:1:"},
		{"no such file", options{env: []string{"TOOLSCOUT_CONFIG=/nowhere.toml"}}, "/nowhere.toml"},
		{"reference that is not set", options{config: "[embeddings]\nprovider = \"openai\"\nmodel = \"m\"\napi_key = \"${NOT_SET_ANYWHERE}\"\n"}, "NOT_SET_ANYWHERE is not set"},
		{"unknown model", options{env: []string{"TOOLSCOUT_EMBEDDINGS=word2vec"}}, "word2vec"},
		{"bad address", options{env: []string{"TOOLSCOUT_ADDR=here"}}, "TOOLSCOUT_ADDR"},
		{"bad database URL", options{database: "mysql://x"}, "TOOLSCOUT_DATABASE_URL"},
		{"secret given twice", options{env: []string{"TOOLSCOUT_ADMIN_TOKEN_FILE=/etc/hostname"}}, "both set"},
		{"unknown flag", options{args: []string{"--adr", "x"}}, "unknown flag: --adr"},
		{"argument", options{args: []string{"now"}}, "now"},
		{"port in use", options{env: []string{"TOOLSCOUT_ADDR=" + taken.Addr().String()}}, taken.Addr().String() + " is in use"},
		{"database too new", options{database: newer}, "newer program"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.o.database == "" {
				tt.o.database = "postgres://x@127.0.0.1:1/x" // nobody gets that far
			}
			checkRefused(t, launch(t, tt.o), tt.want)
		})
	}
	checkRefused(t, away, "the database does not answer")
}

func checkRefused(t *testing.T, s *instance, want string) {
	t.Helper()
	<-s.exited
	var exit *exec.ExitError
	if !errors.As(s.err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("it ended with %v, want status 1", s.err)
	}
	lines := strings.Split(strings.TrimSpace(s.log.String()), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(s.log.String(), want) || !strings.Contains(s.log.String(), "toolscout: ") {
		t.Errorf("it ends with %q, want %q", last, want)
	}
}

// makeNewer gives a database a migration that this program does not know.
func makeNewer(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var table string
	err = conn.QueryRow(t.Context(), `select attrelid::regclass::text from pg_attribute where attname = 'version_id'`).Scan(&table)
	if err == nil {
		_, err = conn.Exec(t.Context(), "insert into "+table+" (version_id, is_applied) values (9999, true)")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// command is one run of the command line.
type command struct {
	stdout, stderr string
	code           int
}

// cli runs a command against a server.
func cli(t *testing.T, env []string, args ...string) command {
	t.Helper()
	return fed(t, env, "", args...)
}

// fed is the same with something on its standard input.
func fed(t *testing.T, env []string, in string, args ...string) command {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), binary, args...)
	cmd.Env = append(cleanEnv(), env...)
	cmd.Stdin = strings.NewReader(in)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// TestCommands runs each command as a person and as a program would.
func TestCommands(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	file, err := buildTestserver()
	if err != nil {
		t.Fatal(err)
	}
	page := newRemote(t, "page")
	dir := t.TempDir()
	env := []string{"TOOLSCOUT_URL=" + s.url, "TOOLSCOUT_TOKEN=" + adminToken, "TOOLSCOUT_DATA_DIR=" + dir}
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("mcp.json", `{"mcpServers":{"imported":{"command":"`+file+`","args":["-tools","pid"]}}}`)
	for _, args := range [][]string{
		{"servers", "add", "a", "--prefix", "a_", "--domain", "demo", "--", file, "-tools", "echo"},
		{"servers", "import", good},
		{"users", "add", "ann", "--role", "dev"},
	} {
		if c := cli(t, env, args...); c.code != 0 {
			t.Fatalf("%v: %+v", args, c)
		}
	}

	t.Run("people", func(t *testing.T) {
		for _, tt := range []struct {
			args   []string
			stdout string
		}{
			{[]string{"tools", "list", "--domain", "demo"}, "NAME    SERVER  DOMAIN  WHAT IT DOES\na_echo  a       demo    Answers with the arguments it was given\n"},
			{[]string{"tools", "call", "a_echo", "x=1"}, "echo\n"},
			{[]string{"servers", "off", "a"}, "a is off\n"},
			{[]string{"tools", "list", "--domain", "demo"}, "no tools\n"},
			{[]string{"servers", "on", "a"}, "a is on\n"},
		} {
			c := cli(t, env, tt.args...)
			if d := cmp.Diff(tt.stdout, c.stdout); d != "" || c.code != 0 {
				t.Errorf("%v: status %d, %s%s", tt.args, c.code, d, c.stderr)
			}
		}
	})
	t.Run("programs", func(t *testing.T) {
		for _, args := range [][]string{
			{"servers", "list"}, {"servers", "show", "a"}, {"servers", "test", "--", file},
			{"tools", "list"}, {"tools", "search", "echo"}, {"tools", "show", "a_echo"}, {"tools", "call", "a_echo", `{"x":1}`},
			{"users", "list"}, {"tokens", "create", "ann"}, {"tokens", "list", "ann"},
			{"audit"}, {"audit", "--usage"}, {"index", "status"}, {"doctor"}, {"version"},
		} {
			if c := cli(t, env, append([]string{"--json"}, args...)...); c.code != 0 || !json.Valid([]byte(c.stdout)) || c.stdout == "" {
				t.Errorf("%v --json: %+v", args, c)
			}
		}
	})
	t.Run("mistakes", func(t *testing.T) {
		with := func(name, value string) []string {
			var out []string
			for _, kv := range env {
				if !strings.HasPrefix(kv, name+"=") {
					out = append(out, kv)
				}
			}
			if value != "" {
				out = append(out, name+"="+value)
			}
			return out
		}
		for _, tt := range []struct {
			name string
			env  []string
			args []string
			want string
		}{
			{"unknown command", env, []string{"serv"}, `unknown command "serv"`},
			{"unknown subcommand", env, []string{"servers", "destroy"}, `"destroy"`},
			{"unknown flag", env, []string{"servers", "list", "--jason"}, "unknown flag: --jason (see toolscout servers list --help)"},
			{"missing argument", env, []string{"tools", "show"}, "arg"},
			{"no token", with("TOOLSCOUT_TOKEN", ""), []string{"tools", "list"}, "no token: set TOOLSCOUT_TOKEN"},
			{"wrong token", with("TOOLSCOUT_TOKEN", "ts_wrong"), []string{"tools", "list"}, "set TOOLSCOUT_TOKEN to a token that is valid"},
			{"no server", with("TOOLSCOUT_URL", "http://127.0.0.1:1"), []string{"tools", "list"}, "no server at http://127.0.0.1:1"},
			{"another server", with("TOOLSCOUT_URL", strings.TrimSuffix(page.config["url"].(string), "/mcp")), []string{"tools", "list"}, "is TOOLSCOUT_URL right?"},
			{"unknown server", env, []string{"servers", "show", "nothing"}, `no server is called "nothing"`},
			{"unknown tool", env, []string{"tools", "call", "nothing"}, `there is no tool "nothing"`},
			{"arguments that are no JSON", env, []string{"tools", "call", "a_echo", "{x}"}, "not valid JSON"},
			{"argument without a value", env, []string{"tools", "call", "a_echo", "x"}, "NAME=VALUE"},
			{"server without anything", env, []string{"servers", "add", "b"}, "its command after --"},
			{"edit of nothing", env, []string{"servers", "edit", "a"}, "nothing to change"},
			{"token that ended before it began", env, []string{"tokens", "create", "ann", "--expires", "-1h"}, "--expires"},
			{"query left out", env, []string{"tools", "search"}, "usage: toolscout tools search QUERY"},
			{"user twice", env, []string{"users", "add", "ann"}, "already a user of this name"},
			{"import of no file", env, []string{"servers", "import", filepath.Join(dir, "none.json")}, "none.json"},
			{"import of a broken file", env, []string{"servers", "import", write("broken.json", `{"mcpServers":{"a":`)}, "broken.json"},
			{"import of another file", env, []string{"servers", "import", write("other.json", `{"name":"x"}`)}, "other.json"},
			{"import of a list", env, []string{"servers", "import", write("list.json", `[1]`)}, "list.json"},
			{"import of a server that is none", env, []string{"servers", "import", write("odd.json", `{"mcpServers":{"odd":{"command":7}}}`)}, "odd"},
		} {
			c := cli(t, tt.env, tt.args...)
			if c.code != 1 || !strings.Contains(c.stderr, tt.want) || strings.Contains(c.stderr, "panic") {
				t.Errorf("%s: status %d, want %q in %q", tt.name, c.code, tt.want, c.stderr)
			}
		}
	})
	t.Run("completion", func(t *testing.T) {
		if c := cli(t, nil, "completion", "bash"); c.code != 0 || !strings.Contains(c.stdout, "toolscout") {
			t.Errorf("%d %s", c.code, c.stderr)
		}
	})
}
