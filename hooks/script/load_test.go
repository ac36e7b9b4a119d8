package script_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/script"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	const body = "\ndef before_call(ctx, request): pass\n"
	cases := map[string]struct{ source, want string }{
		"good":                {body, ""},
		"syntax":              {"def before_call(ctx, request)\n    pass", "a.star:2:1: got newline, want ':'"},
		"unknown name":        {"def before_call(ctx, request):\n    return foo", "a.star:2:12: undefined: foo"},
		"no function":         {"x = 1", "a.star: defines none of before_call(ctx, request), after_call(ctx, result), on_event(ctx, event)"},
		"no function of two":  {"def before_call(ctx): pass", "a.star:1:1: before_call must be a function of two parameters"},
		"no function at all":  {"before_call = 1", "a.star: before_call must be a function of two parameters"},
		"load":                {"load(\"x.star\", \"y\")" + body, "a.star:1:1: a script is one file: there is no load()"},
		"fails":               {"x = 1 // 0" + body, "a.star:1:7: floored division by zero"},
		"loops":               {"for i in range(1000000000): pass" + body, "a.star:1:1: took more than 500000 steps (max_steps)"},
		"eats":                {"x = \"x\" * 1000000000" + body, "a.star:1:9: used more than 32 MiB of memory (max_memory)"},
		"shares":              {"t = ()\nfor i in range(60): t = (t, t)" + body2, "a.star: took more than 500000 steps (max_steps)"},
		"emits":               {"emit(\"x\", {})" + body, "a.star:1:5: emit: only while a call or an event is handled"},
		"caches":              {"cache.put(1, 2, 3, shared = True)" + body, "a.star:1:10: cache.put: only while a call or an event is handled"},
		"rejects":             {"reject(\"x\")" + body, "a.star:1:7: reject() and answer() work in before_call and after_call only"},
		"nests":               {"x = " + strings.Repeat("[", 200) + body, "a.star:1: more than 100 brackets within each other"},
		"nests behind quotes": {"y = \"]]]\" # ]]]\nx = " + strings.Repeat("[']', ", 101) + body, "a.star:2: more than 100 brackets within each other"},
		"brackets in texts":   {"x = \"" + strings.Repeat("(", 200) + "\"\ny = '''" + strings.Repeat("(\n", 200) + "'''\n# " + strings.Repeat("(", 200) + body, ""},
		"long":                {strings.Repeat("#", 65537), "a.star: a script has at most 65536 bytes"},
		"setting":             {"hook = {\"patern\": \"x\"}" + body, "a.star: hook: unknown field \"patern\""},
		"odd setting":         {"hook = {\"priority\": \"x\"}" + body, "a.star: hook: \"priority\" cannot be a string"},
		"odd settings":        {"hook = 1" + body, "a.star: hook must be a dict of settings, not a int"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := script.Check("/somewhere/a.star", []byte(tc.source)); err != nil {
				got = core.Public(err).Message
				if !errors.Is(err, core.InvalidParams) {
					t.Errorf("got kind %s", core.Public(err).Kind)
				}
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

const body2 = "\ndef after_call(ctx, result): pass\n"

func TestSettings(t *testing.T) {
	t.Parallel()
	const source = `
hook = {"pattern": "github_" + "*", "priority": -5, "on_error": "fail", "timeout": "2s", "agents": ["ide"],
    "events": ["tool:after"], "level": "both", "server": "github", "enabled": False, "mode": "observe"}
def before_call(ctx, request): pass
`
	s, err := script.Settings("a.star", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	d := script.Type(script.Config{}).Definition()
	if err := s.Apply(&d); err != nil {
		t.Fatal(err)
	}
	want := script.Type(script.Config{}).Definition()
	want.Pattern, want.Priority, want.OnError, want.Timeout = "github_*", -5, hooks.Fail, 2e9
	want.Agents, want.Events, want.Level, want.ServerID = []string{"ide"}, []hooks.Event{hooks.ToolAfter}, "", "github"
	want.Enabled, want.Mode = false, hooks.Observe
	if diff := cmp.Diff(d, want); diff != "" {
		t.Error(diff)
	}
	if s, err := script.Settings("a.star", []byte(body2)); err != nil || !cmp.Equal(s, hooks.Settings{}) {
		t.Errorf("got %+v, %v of a script that says nothing", s, err)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "from-file.star")
	if err := os.WriteFile(path, []byte("def before_call(ctx, request): fail(\"file\")"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		config  map[string]any
		source  string
		trusted bool
		want    string // of the call, or of New
		pointer string
	}{
		"read":                 {map[string]any{"file": path}, "", true, "from-file.star:1:36: fail: file", ""},
		"read before":          {map[string]any{"file": path}, "def before_call(ctx, request): fail(\"given\")", true, "from-file.star:1:36: fail: given", ""},
		"of a stranger":        {map[string]any{"file": path}, "", false, "only the configuration file names files: give the script itself as source", "/file"},
		"not there":            {map[string]any{"file": path + "x"}, "", true, "read the script from-file.starx", ""},
		"neither":              {map[string]any{}, "", true, "a script has either file or source", ""},
		"both":                 {map[string]any{"file": path, "source": "x"}, "", true, "a script has either file or source", ""},
		"broken":               {map[string]any{"file": path}, "x = foo", true, "from-file.star:1:5: undefined: foo", "/file"},
		"broken source":        {map[string]any{"source": "x = (", "vars": map[string]any{}}, "", true, "mine.star:1:6: got end of file, want primary expression", "/source"},
		"source of a stranger": {map[string]any{"source": "def before_call(ctx, request): fail(config[\"x\"])", "vars": map[string]any{"x": "var"}}, "", false, "mine.star:1:36: fail: var", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := json.Marshal(tc.config)
			if err != nil {
				t.Fatal(err)
			}
			in := hooks.Instance{Name: "mine", Config: config, Trusted: tc.trusted}
			if tc.source != "" {
				in.Source = []byte(tc.source)
			}
			h, err := script.Type(script.Config{}).New(in)
			if err == nil {
				err = h.Before(t.Context(), call(`{}`))
			}
			e := core.Public(err)
			if got := told(err); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if tc.pointer != "" && (len(e.Faults) == 0 || e.Faults[0].Pointer != tc.pointer) {
				t.Errorf("got faults %v, want them at %s", e.Faults, tc.pointer)
			}
		})
	}
}

func TestAllFaultsOfASource(t *testing.T) {
	t.Parallel()
	err := script.Check("a.star", []byte("def before_call(ctx, request):\n    return foo + bar"))
	want := []core.Fault{{Message: "a.star:2:12: undefined: foo"}, {Message: "a.star:2:18: undefined: bar"}}
	if diff := cmp.Diff(core.Public(err).Faults, want); diff != "" {
		t.Error(diff)
	}
}

func TestPrintsToTheDebugLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := script.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	h, err := script.Type(c).New(hooks.Instance{Name: "chatty", Config: json.RawMessage(`{"source":"def before_call(ctx, request):\n    for i in range(30): print(\"line\", i, \"x\" * 2000)"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Before(t.Context(), call(`{}`)); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "script=chatty.star"); n != 20 || log.Len() > 30000 {
		t.Errorf("%d lines of %d bytes, want 20 of at most a thousand each", n, log.Len())
	}
}

func TestSchemaNamesEachSetting(t *testing.T) {
	t.Parallel()
	typ := script.Type(script.Config{})
	var schema struct {
		AdditionalProperties bool
		Properties           map[string]struct {
			Description string
			Default     json.RawMessage
		}
	}
	if err := json.Unmarshal(typ.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	for name, p := range schema.Properties {
		if p.Description == "" || len(p.Default) == 0 {
			t.Errorf("%s has no description or no default", name)
		}
	}
	if len(schema.Properties) != 6 || schema.AdditionalProperties {
		t.Errorf("got %+v", schema)
	}
}
