package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// desktop is somebody at the command line of a running server: their settings, and
// a folder for their files.
type desktop struct {
	t   *testing.T
	env []string
	dir string
}

// hooksDesktop is an admin's, of a server with one hook in its file, the server a and
// the user ann. It gives ann's token as well.
func hooksDesktop(t *testing.T) (d desktop, ann string) {
	t.Helper()
	s := start(t, options{config: "[hooks]\nopen_to_users = [\"response_truncation\"]\n\n[hooks.toon_transform]\npriority = 501\n"})
	s.register(testserver(t, "a", "-tools", "echo"))
	_, ann = s.user("ann", "dev")
	return desktop{t, []string{"TOOLSCOUT_URL=" + s.url, "TOOLSCOUT_TOKEN=" + adminToken, "TOOLSCOUT_DATA_DIR=" + s.dataDir}, s.dataDir}, ann
}

// as is the same desk with another token.
func (d desktop) as(token string) desktop {
	d.env = append(d.env[:len(d.env):len(d.env)], "TOOLSCOUT_TOKEN="+token)
	return d
}

// write makes a file and gives its path.
func (d desktop) write(name, text string) string {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	return path
}

// hooks runs toolscout hooks.
func (d desktop) hooks(args ...string) command {
	d.t.Helper()
	return cli(d.t, d.env, append([]string{"hooks"}, args...)...)
}

// fed runs it with something on its standard input.
func (d desktop) fed(in string, args ...string) command {
	d.t.Helper()
	cmd := exec.CommandContext(context.Background(), binary, append([]string{"hooks"}, args...)...)
	cmd.Env = append(cleanEnv(), d.env...)
	cmd.Stdin = strings.NewReader(in)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	return command{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// does runs what has to work, and gives what it prints, with the file's folder left
// out of it.
func (d desktop) does(args ...string) string {
	d.t.Helper()
	c := d.hooks(args...)
	if c.code != 0 || c.stderr != "" {
		d.t.Fatalf("hooks %q: status %d\n%s%s", args, c.code, c.stdout, c.stderr)
	}
	return strings.ReplaceAll(c.stdout, d.dir+"/", "")
}

// gap is what lies between columns, as wide as the folder's name makes it.
var gap = regexp.MustCompile(`  +`)

// shows runs a command of which every word on its standard output is known.
func (d desktop) shows(want string, args ...string) {
	d.t.Helper()
	if diff := cmp.Diff(gap.ReplaceAllString(d.does(args...), "  "), gap.ReplaceAllString(strings.TrimPrefix(want, "\n"), "  ")); diff != "" {
		d.t.Errorf("hooks %q (-got +want):\n%s", args, diff)
	}
}

// refuses runs a command that ends with status 1, prints nothing, and says all of
// this on its standard error.
func (d desktop) refuses(want []string, args ...string) {
	d.t.Helper()
	c := d.hooks(args...)
	if c.code != 1 || c.stdout != "" || !strings.HasPrefix(c.stderr, "toolscout: ") || strings.Contains(c.stderr, "panic") {
		d.t.Errorf("hooks %q: status %d\n%s%s", args, c.code, c.stdout, c.stderr)
	}
	for _, w := range want {
		if !strings.Contains(c.stderr, w) {
			d.t.Errorf("hooks %q says %q, want %q", args, c.stderr, w)
		}
	}
}

const exclaim = "def after_call(ctx, result):\n    return result.text + \"!\"\n"

// TestHooksCommands leads a hook through its life as a person would.
func TestHooksCommands(t *testing.T) {
	t.Parallel()
	d, _ := hooksDesktop(t)
	script := d.write("exclaim.star", exclaim)
	config := d.write("config.json", "{\n  \"max_tokens\": 4000\n}\n")
	prefix := func(want string, args ...string) {
		t.Helper()
		if got := d.does(args...); !strings.HasPrefix(got, want) {
			t.Errorf("hooks %q: got %q, want %q", args, got, want)
		}
	}

	d.shows(`
NAME            TYPE            SCOPE   PATTERN  PRIORITY  MODE     FROM
toon_transform  toon_transform  global  *        501       enforce  toolscout.toml:4
`, "list")
	prefix("added small: response_truncation, scope global, enforce (", "add", "small", "--type", "response_truncation", "--config", config)
	prefix("added exclaim: script, scope user+server, observe (", "add", "exclaim", "--type", "script", "--source", script,
		"--user", "ann", "--server", "a", "--mode", "observe", "--on-error", "disable", "--priority", "7", "--pattern", "a_*", "--event", "tool:after", "--timeout", "2s")
	prefix("added test_filter: test_filter, scope user, enforce (", "add", "test_filter", "--user", "ann")
	prefix("added slow: rate_limit, scope server, enforce (", "add", "slow", "--type", "rate_limit", "--server", "a", "--agents", "ci,ide", "--config", `{"rate": 5}`)
	d.shows(`
NAME            TYPE                 SCOPE     PATTERN  PRIORITY  MODE     FROM
toon_transform  toon_transform       global    *        501       enforce  toolscout.toml:4
exclaim         script               ann on a  a_*      7         observe  database
slow            rate_limit           server a  *        200       enforce  database
small           response_truncation  global    *        400       enforce  database
test_filter     test_filter          ann       *        700       enforce  database
`, "list")

	prefix("switched off small: response_truncation, scope global, off (", "off", "small")
	prefix("switched on small: response_truncation, scope global, enforce (", "on", "small")
	prefix("changed brief: response_truncation, scope global, background (", "edit", "small", "--name", "brief", "--mode", "background", "--config", `{"max_bytes": 2000}`)
	prefix("changed exclaim: script, scope user, observe (", "edit", "exclaim", "--server", "")
	prefix("changed exclaim: script, scope global, enforce (", "edit", "exclaim", "--user", "", "--pattern", "", "--mode", "", "--priority", "9")
	d.shows("removed test_filter\n", "remove", "test_filter")
	d.shows(`
NAME            TYPE                 SCOPE     PATTERN  PRIORITY  MODE        FROM
toon_transform  toon_transform       global    *        501       enforce     toolscout.toml:4
brief           response_truncation  global    *        400       background  database
exclaim         script               global    *        9         enforce     database
slow            rate_limit           server a  *        200       enforce     database
`, "list")
	shown := decodeTB[map[string]any](t, []byte(d.does("show", "exclaim")))
	if shown["onError"] != "disable" || shown["timeout"] != "2s" || shown["config"].(map[string]any)["source"] != exclaim {
		t.Errorf("it is shown as %v", shown)
	}

	d.shows(`
calls by ann through ci

around the meta-tool (before: from the top; after: from the bottom)
NAME            TYPE            SCOPE   PRIORITY  MODE     ON ERROR  FROM
audit           audit           global  -         enforce  fail      builtin
access_control  access_control  global  -         enforce  fail      builtin

around the call of a_echo
NAME            TYPE                 SCOPE     PRIORITY  MODE        ON ERROR  FROM
audit           audit                global    -         enforce     fail      builtin
access_control  access_control       global    -         enforce     fail      builtin
exclaim         script               global    9         enforce     disable   database
brief           response_truncation  global    400       background  ignore    database
toon_transform  toon_transform       global    501       enforce     ignore    toolscout.toml:4
slow            rate_limit           server a  200       enforce     fail      database
`, "explain", "--user", "ann", "--agent", "ci", "--tool", "a_echo")
	d.does("off", "brief")
	d.shows(`
calls by admin

around the meta-tool (before: from the top; after: from the bottom)
NAME            TYPE            SCOPE   PRIORITY  MODE     ON ERROR  FROM
audit           audit           global  -         enforce  fail      builtin
access_control  access_control  global  -         enforce  fail      builtin

left out
NAME            TYPE                 SCOPE     FROM              WHY
brief           response_truncation  global    database          it is switched off
exclaim         script               global    database          it acts on calls of tools, and no tool was named
slow            rate_limit           server a  database          it acts on calls of tools, and no tool was named
toon_transform  toon_transform       global    toolscout.toml:4  it acts on calls of tools, and no tool was named
`, "explain")
	if c := cli(t, d.env, "servers", "off", "a"); c.code != 0 {
		t.Fatalf("%+v", c)
	}
	if got := d.does("explain", "--tool", "a_echo"); !strings.Contains(got, "\na_echo is off for admin: access_control refuses the call\n") ||
		!strings.Contains(got, "it is for the agents ci, ide, and this call names none\n") {
		t.Errorf("of a tool that is off: %s", got)
	}
}

// TestHooksCommandsOfUsers has a user look after their own hooks.
func TestHooksCommandsOfUsers(t *testing.T) {
	t.Parallel()
	admin, token := hooksDesktop(t)
	admin.does("add", "theirs", "--type", "rate_limit", "--user", "ann", "--config", `{"rate": 5}`)
	d := admin.as(token)
	d.does("add", "own", "--mine", "--type", "response_truncation", "--server", "a")
	for _, args := range [][]string{{"list"}, {"list", "--mine"}} {
		d.shows(`
NAME    TYPE                 SCOPE     PATTERN  PRIORITY  MODE     FROM
own     response_truncation  you on a  *        400       enforce  database
theirs  rate_limit           you       *        200       enforce  database
`, args...)
	}
	admin.shows(`
NAME            TYPE                 SCOPE     PATTERN  PRIORITY  MODE     FROM
toon_transform  toon_transform       global    *        501       enforce  toolscout.toml:4
own             response_truncation  ann on a  *        400       enforce  database
theirs          rate_limit           ann       *        200       enforce  database
`, "list")
	d.does("edit", "own", "--mine", "--priority", "3")
	d.does("off", "own", "--mine")
	if h := decodeTB[map[string]any](t, []byte(d.does("show", "own", "--mine"))); h["priority"] != 3.0 || h["enabled"] != false || h["owned"] != true {
		t.Errorf("it is shown as %v", h)
	}
	d.does("remove", "own", "--mine")
	d.does("types")

	const admins = "this needs the role admin"
	d.refuses([]string{admins, "add --mine"}, "show", "theirs")
	d.refuses([]string{admins, "add --mine"}, "add", "x", "--type", "response_truncation")
	d.refuses([]string{admins, "add --mine"}, "add", "x", "--type", "response_truncation", "--user", "ann")
	d.refuses([]string{admins}, "explain")
	d.refuses([]string{admins}, "test", "toon_transform", "--call", "{}")
	d.refuses([]string{"hooks of the type script are for admins", "open_to_users"}, "add", "x", "--mine", "--type", "script", "--source", d.write("x.star", exclaim))
	d.refuses([]string{"--user does not go with --mine"}, "add", "x", "--mine", "--type", "response_truncation", "--user", "ann")
	d.refuses([]string{`an admin made the hook "theirs" for you`, "ask an admin"}, "off", "theirs", "--mine")
	d.refuses([]string{`no hook is called "toon_transform"`}, "off", "toon_transform", "--mine")
}

// TestHooksCommandsForPrograms reads with --json what each command answers.
func TestHooksCommandsForPrograms(t *testing.T) {
	t.Parallel()
	d, _ := hooksDesktop(t)
	read := func(into any, args ...string) {
		t.Helper()
		decoder := json.NewDecoder(strings.NewReader(d.does(append(args, "--json")...)))
		if err := decoder.Decode(into); err != nil || decoder.More() {
			t.Errorf("hooks %q --json: %v", args, err)
		}
	}
	var h, same configuredHook
	read(&h, "add", "x", "--type", "response_truncation")
	if h.ID == "" || h.Name != "x" || h.Version != 1 || h.Scope != "global" || h.State.State != "active" || h.Origin.Kind != "database" {
		t.Errorf("added %+v", h)
	}
	for i, args := range [][]string{{"edit", "x", "--priority", "3"}, {"off", h.ID}, {"on", "x"}} {
		read(&same, args...)
		if want := int64(i) + 2; same.ID != h.ID || same.Version != want {
			t.Errorf("hooks %q: %+v, want version %d", args, same, want)
		}
	}
	read(&same, "show", h.ID)
	if same.Version != 4 {
		t.Errorf("it is shown as %+v", same)
	}
	var list []configuredHook
	if read(&list, "list"); len(list) != 2 {
		t.Errorf("listed %+v", list)
	}
	var types []struct {
		Name   string
		Schema map[string]any
	}
	if read(&types, "types"); len(types) != 11 || types[0].Name != "access_control" || types[0].Schema["type"] != "object" {
		t.Errorf("types %+v", types)
	}
	var one struct{ Name string }
	if read(&one, "types", "webhook"); one.Name != "webhook" {
		t.Errorf("type %+v", one)
	}
	var effective struct{ Outer, Inner, Skipped []configuredHook }
	if read(&effective, "explain", "--tool", "a_echo"); len(effective.Outer) != 2 || len(effective.Inner) != 4 || effective.Skipped == nil {
		t.Errorf("effective %+v", effective)
	}
	var tried struct {
		Before, After struct{ Args, Result json.RawMessage }
		Effects       []hookEffect
	}
	if read(&tried, "test", "toon_transform", "--call", `{"args": {"n": 1.50}, "result": {"content": []}}`); len(tried.Effects) != 0 || string(tried.After.Args) != `{ "n": 1.50 }` && string(tried.After.Args) != "{\n      \"n\": 1.50\n    }" {
		t.Errorf("tried: %s, %+v", tried.After.Args, tried.Effects)
	}
	var removed struct{ Removed string }
	if read(&removed, "remove", "x"); removed.Removed != "x" {
		t.Errorf("removed %+v", removed)
	}
	var checked []struct {
		File string
		OK   bool
	}
	if read(&checked, "check", d.write("x.star", exclaim)); len(checked) != 1 || !checked[0].OK {
		t.Errorf("checked %+v", checked)
	}
}

// TestHooksCommandsRefuse makes every mistake that one can make. Each is answered
// with what is wrong, where, and what would be right.
func TestHooksCommandsRefuse(t *testing.T) {
	t.Parallel()
	d, _ := hooksDesktop(t)
	d.does("add", "one", "--type", "response_truncation", "--server", "a")
	d.does("add", "twice", "--type", "response_truncation", "--server", "a")
	d.does("add", "twice", "--type", "response_truncation", "--user", "ann")
	d.write("broken.json", "{\n  \"max_bytes\": 1,\n  x\n}")
	d.write("list.json", "[1]")
	d.write("empty.json", "")
	d.write("bad.star", "def after_call(ctx, result):\n    return nowhere\n")
	d.write("good.star", exclaim)
	file := func(name string) string { return filepath.Join(d.dir, name) }
	add := func(args ...string) []string {
		return append([]string{"add", "x", "--type", "response_truncation"}, args...)
	}
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"no such command", []string{"delete", "x"}, []string{`unknown command "delete"`}},
		{"no such flag", []string{"list", "--jason"}, []string{"unknown flag: --jason (see toolscout hooks list --help)"}},
		{"no name", []string{"add"}, []string{"usage: toolscout hooks add NAME"}},
		{"two names", []string{"add", "x", "y"}, []string{"usage: toolscout hooks add NAME"}},
		{"empty name", []string{"add", "", "--type", "script", "--source", file("good.star")}, []string{"/name: is required"}},
		{"odd name", []string{"add", "x\ty", "--type", "script", "--source", file("good.star")}, []string{"/name: holds characters that a name cannot have"}},
		{"name that is taken", []string{"add", "one", "--type", "response_truncation", "--server", "a"}, []string{"there is already a hook of this name in this scope"}},

		{"no type", []string{"add", "x"}, []string{`/type: there is no type "x"; there are access_control, `, "say with --type which it is"}},
		{"unknown type", []string{"add", "x", "--type", "nothing"}, []string{`/type: there is no type "nothing"; there are access_control, `}},
		{"unknown type to list", []string{"types", "nothing"}, []string{`there is no type "nothing": see toolscout hooks types`}},
		{"unknown type to try", []string{"test", "nothing", "--call", "{}"}, []string{`there is no type "nothing"`}},

		{"unknown keys", add("--config", `{"max_bite": 1, "max_bytes": 5000, "kepe": 2}`), []string{"/config/kepe: is not a setting", "/config/max_bite: is not a setting"}},
		{"too small", add("--config", `{"max_bytes": 300}`), []string{"/config/max_bytes: is 300, and can be 1024 or more, or 0 for no limit"}},
		{"wrong kind", add("--config", `{"max_bytes": "300"}`), []string{"/config/max_bytes: got string, want integer"}},
		{"wrong word", add("--config", `{"keep": "tail"}`), []string{"/config/keep: value must be one of 'head', 'head_tail'"}},
		{"missing key", []string{"add", "x", "--type", "event_emit"}, []string{"/config/channel: is required"}},
		{"key twice", add("--config", `{"max_bytes": 2000, "max_bytes": 3000}`), []string{"max_bytes"}},
		{"bad expression", []string{"add", "x", "--type", "param_sanitizer", "--config", `{"rules": [{"do": "deny", "pointer": "/a", "match": "("}]}`}, []string{"/config/rules/0/match: "}},
		{"wrong key of another type", []string{"edit", "one", "--type", "toon_transform", "--config", `{"max_bytes": 0}`}, []string{"/config/max_bytes: is not a setting"}},
		{"file in the database", []string{"add", "x", "--type", "script", "--config", `{"file": "/etc/passwd"}`}, []string{"/config/file"}},

		{"configuration that is no JSON", add("--config", "{x"), []string{"--config: line 1, column 2: not valid JSON"}},
		{"configuration that is a list", add("--config", "[1]"), []string{"--config: want a JSON object"}},
		{"empty configuration", add("--config", ""), []string{"--config is empty"}},
		{"file that is not there", add("--config", file("none.json")), []string{"--config: open ", "none.json: no such file"}},
		{"file that is no JSON", add("--config", file("broken.json")), []string{"broken.json: line 3, column 3: not valid JSON: invalid character 'x'"}},
		{"file that is empty", add("--config", file("empty.json")), []string{"empty.json: line 1, column 1: not valid JSON"}},
		{"file that is a list", add("--config", file("list.json")), []string{"list.json: want a JSON object"}},
		{"file that is a folder", add("--config", d.dir), []string{"is a directory"}},
		{"script that is not there", []string{"add", "x", "--type", "script", "--source", file("none.star")}, []string{"--source: open ", "none.star: no such file"}},
		{"script that does not compile", []string{"add", "x", "--type", "script", "--source", file("bad.star")}, []string{"/config/source: x.star:2:12: undefined: nowhere"}},
		{"script of another type", add("--source", file("good.star")), []string{"/config/source: is not a setting"}},

		{"wrong words", add("--level", "all", "--mode", "dry", "--on-error", "sometimes", "--timeout", "soon"),
			[]string{"/level: value must be one of 'meta', 'tool', 'both'", "/mode: ", "'observe'", "/onError: ", "'disable'", "/timeout: want a duration such as 30s"}},
		{"timeout out of range", add("--timeout", "99h"), []string{"/timeout: is not between 1ms and 24h"}},
		{"unknown event", add("--event", "tool:during"), []string{"/events/0: "}},
		{"event of no use", []string{"add", "x", "--type", "param_sanitizer", "--event", "tool:after"}, []string{"/events/0: a param_sanitizer does nothing at tool:after"}},
		{"priority that is no number", add("--priority", "high"), []string{`"high"`, "--priority"}},
		{"nobody", add("--user", "nobody"), []string{`no user is called "nobody": see toolscout users list`}},
		{"no server", add("--server", "nothing"), []string{`no server is called "nothing": see toolscout servers list`}},

		{"no such hook", []string{"show", "nothing"}, []string{`no hook is called "nothing": see toolscout hooks list`}},
		{"no such hook to edit", []string{"edit", "nothing", "--priority", "1"}, []string{`no hook is called "nothing"`}},
		{"no such hook to switch", []string{"on", "nothing"}, []string{`no hook is called "nothing"`}},
		{"no such hook to remove", []string{"remove", "nothing"}, []string{`no hook is called "nothing"`}},
		{"hook of a name that two have", []string{"off", "twice"}, []string{`2 hooks are called "twice": say which by its id`}},
		{"edit of nothing", []string{"edit", "one"}, []string{"nothing to change"}},
		{"edit of the file's", []string{"edit", "toon_transform", "--priority", "1"}, []string{`the hook "toon_transform" is configured in `, "toolscout.toml:4", "change it there"}},
		{"removal of the file's", []string{"remove", "toon_transform"}, []string{"toolscout.toml:4"}},
		{"switching the file's", []string{"off", "toon_transform"}, []string{"toolscout.toml:4"}},

		{"unknown tool", []string{"explain", "--tool", "nothing"}, []string{`there is no tool "nothing"`}},
		{"unknown user", []string{"explain", "--user", "nobody"}, []string{"there is no such user"}},
		{"something to explain", []string{"explain", "a_echo"}, []string{"usage: toolscout hooks explain"}},

		{"trial of nothing", []string{"test"}, []string{"usage: toolscout hooks test TYPE --call JSON"}},
		{"trial without a call", []string{"test", "toon_transform"}, []string{"--call is missing"}},
		{"trial of a broken call", []string{"test", "toon_transform", "--call", file("broken.json")}, []string{"--call: ", "broken.json: line 3, column 3"}},
		{"trial of a list", []string{"test", "toon_transform", "--call", "[]"}, []string{"--call: want a JSON object"}},
		{"trial of a call with unknown members", []string{"test", "toon_transform", "--call", `{"tol": 1, "tool": {"name": "x", "nmae": 1}}`}, []string{"/call/tol: unknown field", "/call/tool/nmae: unknown field"}},
		{"trial of a call that is none", []string{"test", "toon_transform", "--call", `{"tool": "x", "level": "deep"}`}, []string{"/call/tool: got string, want object", "/call/level: "}},
		{"trial of a bad configuration", []string{"test", "toon_transform", "--call", "{}", "--config", `{"min": 1}`}, []string{"/config/min is not a setting"}},
		{"trial of a script that does not compile", []string{"test", "script", "--call", "{}", "--config", `{"source": "def x("}`}, []string{"/config/source script.star:1:"}},
		{"nothing to check", []string{"check"}, []string{"usage: toolscout hooks check FILE"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := d
			d.t = t
			d.refuses(tt.want, tt.args...)
		})
	}
	if hooks := decodeTB[[]configuredHook](t, []byte(d.does("list", "--json"))); len(hooks) != 4 {
		t.Errorf("mistakes have left %+v", hooks)
	}
	t.Run("connection", func(t *testing.T) {
		commands := [][]string{{"list"}, {"show", "x"}, {"add", "x"}, {"edit", "x", "--priority", "1"}, {"on", "x"}, {"off", "x"}, {"remove", "x"}, {"types"}, {"explain"}, {"test", "script", "--call", "{}"}}
		for what, wrong := range map[string]desktop{
			"no token: set TOOLSCOUT_TOKEN":                   {t, []string{d.env[0], "TOOLSCOUT_DATA_DIR=" + t.TempDir()}, ""},
			"set TOOLSCOUT_TOKEN to a token that is valid":    d.as("ts_wrong"),
			"no server at http://127.0.0.1:1: start one with": {t, append(d.env[1:len(d.env):len(d.env)], "TOOLSCOUT_URL=http://127.0.0.1:1"), ""},
		} {
			for _, args := range commands {
				wrong.refuses([]string{what}, args...)
			}
		}
	})
}
