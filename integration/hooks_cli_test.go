package integration_test

import (
	"encoding/json"
	"os"
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
	return fed(d.t, d.env, in, append([]string{"hooks"}, args...)...)
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
