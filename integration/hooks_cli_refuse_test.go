package integration_test

import (
	"path/filepath"
	"testing"
)

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
