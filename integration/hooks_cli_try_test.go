package integration_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHooksTry tries hooks on recorded calls, and reads what is said of each.
func TestHooksTry(t *testing.T) {
	t.Parallel()
	d, _ := hooksDesktop(t)
	rows := d.write("rows.json", `{"tool": {"name": "a_list"}, "args": {"n": 1.50},
		"result": {"content": [{"type": "text", "text": "[{\"id\":1,\"name\":\"Ada\"},{\"id\":2,\"name\":\"Linus\"},{\"id\":3,\"name\":\"Grace\"}]"}]}}`)
	source := func(text string) string {
		raw, err := json.Marshal(map[string]string{"source": text})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	receiver := newDesk(t, func([]byte) any { return map[string]any{"decision": "shrug"} })
	for _, tt := range []struct {
		name, typ, config, call string
		code                    int
		want                    string
	}{
		{"a result that changes", "toon_transform", `{"min_bytes": 1, "min_saving": 5}`, rows, 0, `
arguments: unchanged
result before: {"content":[{"type":"text","text":"[{\"id\":1,\"name\":\"Ada\"},{\"id\":2,\"name\":\"Linus\"},{\"id\":3,\"name\":\"Grace\"}]"}]}
result after:  {"content":[{"type":"text","text":"[3]{id,name}:\n  1,Ada\n  2,Linus\n  3,Grace","_meta":{"toolscout/format":"toon"}}]}
tool:after: edit; tokensAfter: 21; tokensBefore: 23; tokensSaved: 2
`},
		{"a result that is too small", "toon_transform", "", rows, 0, `
arguments: unchanged
result: unchanged
tool:after: note; left: 71 bytes, and min_bytes is 256
`},
		{"a result of which too little is saved", "toon_transform", `{"min_bytes": 1, "min_saving": 60}`, rows, 0, `
arguments: unchanged
result: unchanged
tool:after: note; left: 2 of 23 tokens would be saved, and min_saving is 60 %
`},
		{"nothing to do", "toon_transform", "", `{"result": {"content": []}}`, 0, `
arguments: unchanged
result: unchanged
`},
		{"arguments that change", "param_sanitizer", `{"rules": [{"do": "clamp", "pointer": "/n", "max": 1}]}`, rows, 0, `
arguments before: {"n":1.50}
arguments after:  {"n":1}
result: unchanged
tool:before: edit; clamped: 1
warning: /n was lowered to 1
`},
		{"a rejection", "param_sanitizer", `{"rules": [{"do": "deny", "pointer": "/q", "match": "drop", "message": "only reads"}]}`, `{"args": {"q": "drop it"}, "result": {"content": []}}`, 0, `
arguments: unchanged
result: none, since the hook ended the call
tool:before: reject
rejected (invalid_params): the arguments of tool are not allowed: /q only reads
`},
		{"a script that says much", "script", source("def after_call(ctx, result):\n    ctx.note('n', 1000000)\n    ctx.warn('take care')\n    emit('my:event', {'a': 1})\n    return 'short'\n"), rows, 0, `
arguments: unchanged
result before: {"content":[{"type":"text","text":"[{\"id\":1,\"name\":\"Ada\"},{\"id\":2,\"name\":\"Linus\"},{\"id\":3,\"name\":\"Grace\"}]"}]}
result after:  {"content":[{"type":"text","text":"short"}]}
tool:after: edit; events: 1; n: 1000000
warning: take care
published: {"type":"my:event","subject":"a_list","data":{"a":1}}
`},
		{"an answer", "script", source("def before_call(ctx, request):\n    answer('mine')\n"), `{"args": {}, "result": {"content": []}}`, 0, `
arguments: unchanged
result before: {"content":[]}
result after:  {"content":[{"type":"text","text":"mine"}]}
tool:before: answer
`},
		{"a script that fails, with its cause", "script", source("def after_call(ctx, result):\n    return 1 // 0\n"), rows, 1, `
arguments: unchanged
result: none, since the hook ended the call
tool:after: fail
failed: script.star:2:14: the script failed: floored division by zero
`},
		{"a receiver that does not answer", "webhook", `{"url": "http://127.0.0.1:1/", "secret": "0123456789012345678901234"}`, rows, 1, `
arguments: unchanged
result: none, since the hook ended the call
tool:before: fail
tool:after: fail
failed: the webhook could not be reached: dial tcp 127.0.0.1:1: connect: connection refused
`},
		{"a receiver that answers nonsense", "webhook", `{"url": "` + receiver.URL + `", "secret": "0123456789012345678901234"}`, rows, 1, "failed: the webhook"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"test", tt.typ, "--call", tt.call}
			if tt.config != "" {
				args = append(args, "--config", tt.config)
			}
			c := d.hooks(args...)
			if c.code != tt.code || c.stderr != "" {
				t.Errorf("status %d, want %d; %s", c.code, tt.code, c.stderr)
			}
			if !strings.HasPrefix(tt.want, "\n") {
				if !strings.Contains(c.stdout, tt.want) {
					t.Errorf("it says %s, want %q", c.stdout, tt.want)
				}
				return
			}
			if diff := cmp.Diff(c.stdout, tt.want[1:]); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
	if c := d.fed(`{"args": {"a": " b "}}`, "test", "param_sanitizer", "--config", `{"rules": [{"do": "trim"}]}`, "--call", "-"); c.code != 0 || !strings.Contains(c.stdout, `arguments after:  {"a":"b"}`) {
		t.Errorf("of standard input: %+v", c)
	}
	if c := d.hooks("test", "script", "--json", "--call", "{}", "--config", source("def before_call(ctx, request):\n    fail('the ' + 'reason')\n")); c.code != 1 ||
		decodeTB[struct{ Failed string }](t, []byte(c.stdout)).Failed != "script.star:2:9: the script failed: fail: the reason" {
		t.Errorf("for a program: %+v", c)
	}
}

// TestHooksCheck checks scripts without any server, as an editor would.
func TestHooksCheck(t *testing.T) {
	t.Parallel()
	d := desktop{t: t, dir: t.TempDir()}
	good, bad := d.write("good.star", exclaim), d.write("bad.star", "def after_call(ctx, result):\n    return nowhere\n")
	odd := d.write("odd.star", "hook = {\"on_error\": \"shrug\", \"mode\": \"dry\"}\n"+exclaim)
	strange := d.write("strange.star", "hook = {\"colour\": 1}\n"+exclaim)
	empty := d.write("empty.star", "")
	d.shows(good[len(d.dir)+1:]+": ok\n", "check", good)
	c := d.hooks("check", good, bad, odd, strange, empty, filepath.Join(d.dir, "none.star"))
	if c.code != 1 || c.stdout != good+": ok\n" {
		t.Errorf("status %d: %s", c.code, c.stdout)
	}
	want := bad + `:2:12: undefined: nowhere
` + odd + `: hook.mode is "dry", and can be enforce, observe, background
` + odd + `: hook.on_error is "shrug", and can be fail, ignore, disable
` + strange + `: hook: unknown field "colour"
` + empty + `: defines none of before_call(ctx, request), after_call(ctx, result), on_event(ctx, event)
open ` + d.dir + `/none.star: no such file or directory
`
	if diff := cmp.Diff(c.stderr, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	var found []struct {
		File, Error string
		OK          bool
	}
	if c := d.hooks("check", "--json", good, bad); c.code != 1 || c.stderr != "" || json.Unmarshal([]byte(c.stdout), &found) != nil ||
		len(found) != 2 || !found[0].OK || found[0].Error != "" || found[1].OK || found[1].Error != bad+":2:12: undefined: nowhere" {
		t.Errorf("for a program: %+v", c)
	}
	if c := d.fed(exclaim, "check", "-"); c.code != 0 || c.stdout != "-: ok\n" {
		t.Errorf("of standard input: %+v", c)
	}
	examples, err := filepath.Glob("../examples/hooks/*.star")
	if err != nil || len(examples) < 10 {
		t.Fatalf("%d examples: %v", len(examples), err)
	}
	d.does(append([]string{"check"}, examples...)...)
}

// TestHooksTypes reads of each type how it is configured.
func TestHooksTypes(t *testing.T) {
	t.Parallel()
	d, _ := hooksDesktop(t)
	list := d.does("types")
	lines := strings.Split(strings.TrimSpace(list), "\n")
	if len(lines) != 12 || !strings.HasPrefix(list, "TYPE ") {
		t.Errorf("the types: %s", list)
	}
	for _, line := range lines[1:] {
		name, _, _ := strings.Cut(line, " ")
		open := strings.Contains(line, "  yes  ")
		if open != (name == "response_truncation") {
			t.Errorf("open to users: %s", line)
		}
		text := d.does("types", name)
		for _, want := range []string{name + ": ", "\nscopes global, server, user, user+server; events ", "\nby default level ", "\nKEY "} {
			if !strings.Contains(text, want) {
				t.Errorf("of %s: no %q in %s", name, want, text)
			}
		}
	}
	for name, want := range map[string]string{
		"param_sanitizer":     "rules[].do (required) ",
		"webhook":             "send.args \"shape\" ",
		"response_truncation": "(head, head_tail)",
		"rate_limit":          "(user, agent, server, tool)",
	} {
		if text := strings.Join(strings.Fields(d.does("types", name)), " "); !strings.Contains(text, want) {
			t.Errorf("of %s: no %q in %s", name, want, text)
		}
	}
}

// TestHooksHelp has each command say what it is for, and every flag what it means.
func TestHooksHelp(t *testing.T) {
	t.Parallel()
	d := desktop{t: t}
	examples := map[string]bool{"add": true, "edit": true, "explain": true, "test": true, "check": true, "types": true}
	for _, name := range []string{"list", "show", "add", "edit", "remove", "on", "off", "types", "explain", "test", "check"} {
		text := d.does(name, "--help")
		if strings.HasPrefix(text, "Usage:") || !strings.Contains(text, "\n  toolscout hooks "+name) || strings.Contains(text, "Examples:") != examples[name] {
			t.Errorf("hooks %s --help: %s", name, text)
		}
		for line := range strings.Lines(text) {
			if words := strings.Fields(line); len(words) > 0 && strings.HasPrefix(words[0], "--") && len(words) < 4 {
				t.Errorf("hooks %s --help says nothing of %s", name, line)
			}
		}
	}
	if text := d.does(); !strings.Contains(text, "Start with: toolscout hooks types") {
		t.Errorf("hooks: %s", text)
	}
}
