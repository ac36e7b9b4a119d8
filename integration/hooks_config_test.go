package integration_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// badHooks are mistakes in the file, and what is said of each.
var badHooks = []struct{ name, config, want string }{
	{"unknown type", "[hooks.nothing]\nenabled = true\n", `toolscout.toml:1: hooks.nothing: there is no type "nothing"`},
	{"unknown type given", "[hooks.mine]\npriority = 1\ntype = \"nothing\"\n", `toolscout.toml:3: hooks.mine.type: there is no type "nothing"`},
	{"unknown key", "[hooks.toon_transform]\nenabled = true\ncolour = 1\n", `toolscout.toml:3: hooks.toon_transform.colour: `},
	{"unknown key of all", "[hooks]\ncolour = 1\n", `toolscout.toml:2: hooks.colour: unknown key`},
	{"wrong enum", "[hooks.toon_transform]\non_error = \"sometimes\"\n", `toolscout.toml:2: hooks.toon_transform.on_error: is "sometimes", and can be fail, ignore, disable`},
	{"wrong mode", "[hooks.toon_transform]\n\nmode = \"dry\"\n", `toolscout.toml:3: hooks.toon_transform.mode: `},
	{"wrong event", "[hooks.toon_transform]\nevents = [\"tool:after\", \"tool:during\"]\n", `toolscout.toml:2: hooks.toon_transform.events[1]: `},
	{"event of no use", "[hooks.toon_transform]\nevents = [\"tool:before\"]\n", `toolscout.toml:2: hooks.toon_transform.events[0]: a toon_transform does nothing at tool:before`},
	{"wrong level", "[hooks.audit]\nlevel = \"all\"\n", `toolscout.toml:2: hooks.audit.level: `},
	{"wrong duration", "[hooks.audit]\ntimeout = \"soon\"\n", `toolscout.toml:2: hooks.audit.timeout: `},
	{"value of another type", "[hooks.audit]\npriority = \"high\"\n", `toolscout.toml:2: hooks.audit.priority: `},
	{"wrong type of a value", "[hooks.rate_limit]\nrate = \"many\"\n", `toolscout.toml:2: hooks.rate_limit.rate: `},
	{"wrong value of the type's", "[hooks.rate_limit]\nby = [\"user\", \"moon\"]\nrate = 1\n", `toolscout.toml:2: hooks.rate_limit.by[1]: `},
	{"nested value", "[hooks.param_sanitizer]\nrules = [\n  { do = \"trim\" },\n  { do = \"dance\" },\n]\n", `toolscout.toml:4: hooks.param_sanitizer.rules[1].do: value must be one of 'trim', `},
	{"nested table", "[hooks.webhook]\nurl = \"https://example.com\"\nsecret = \"0123456789012345678901234\"\n[hooks.webhook.send]\nargs = \"all\"\n", `toolscout.toml:5: hooks.webhook.send.args: `},
	{"bad expression", "[hooks.param_sanitizer]\nrules = [{ do = \"deny\", pointer = \"/a\", match = \"(\" }]\n", `toolscout.toml:2: hooks.param_sanitizer.rules[0].match: is not a regular expression`},
	{"missing key", "\n[hooks.event_emit]\n", `toolscout.toml:2: hooks.event_emit`},
	{"script that does not compile", "[hooks.mine]\ntype = \"script\"\nsource = \"def before_call(ctx, request)\"\n", `toolscout.toml:3: hooks.mine.source: `},
	{"script that is not there", "[hooks.mine]\ntype = \"script\"\nfile = \"nowhere.star\"\n", `toolscout.toml:3: hooks.mine.file: `},
	{"reference that is not set", "[hooks.webhook]\nurl = \"https://example.com\"\nsecret = \"${NOT_SET_ANYWHERE}\"\n", `NOT_SET_ANYWHERE`},
	{"unknown type opened", "[hooks]\nopen_to_users = [\"script\", \"nothing\"]\n", `toolscout.toml:2: hooks.open_to_users[1]: there is no type "nothing"`},
	{"folder that is a file", "[hooks]\ndiscovery_paths = [\"toolscout.toml\"]\n", `toolscout.toml:2: hooks.discovery_paths: `},
	{"folder that is no list", "[hooks]\ndiscovery_paths = \"hooks\"\n", `toolscout.toml:2: hooks.discovery_paths: want an array of strings, not string`},
	{"hook that is no table", "[hooks]\naudit = true\n", `toolscout.toml:2: hooks.audit: unknown key; a hook is a table`},
	{"hooks that are no table", "hooks = 5\n", `toolscout.toml:1:9: hooks: want a table, not integer`},
	{"array of hooks", "[[hooks.audit]]\n", `toolscout.toml:1: hooks.audit: unknown key; a hook is a table`},
	{"hook twice", "[hooks.audit]\n\n[hooks.audit]\n", `toolscout.toml:3:`},
	{"key twice", "[hooks.audit]\nwait = true\nwait = true\n", `toolscout.toml:3:1: key wait is already defined`},
	{"broken table", "[hooks.audit\n", `toolscout.toml:1:13: `},
	{"type of another type", "[hooks.audit]\ntype = 5\n", `toolscout.toml:2: hooks.audit.type: want a string, not number`},
	{"empty name", "[hooks.\"\"]\ntype = \"audit\"\n", `toolscout.toml:1: hooks..name: is required`},
	{"name with a dot", "[hooks.\"a.b\"]\ntype = \"audit\"\n\ncolour = 1\n", `toolscout.toml:4: hooks.a.b.colour: is not a setting of this type`},
	{"key of the API", "[hooks.audit]\nonError = \"fail\"\n", `toolscout.toml:2: hooks.audit.onError: is not a setting of this type`},
	{"dotted key", "hooks.rate_limit.by = [\"moon\"]\n", `toolscout.toml:1: hooks.rate_limit.by[0]: `},
	{"inline hook", "[hooks]\nrate_limit = { rate = 1,\n  by = [\"moon\"] }\n", `toolscout.toml:3: hooks.rate_limit.by[0]: `},
	{"table of a missing key", "\n[hooks.webhook.send]\nargs = \"none\"\n", `toolscout.toml:2: hooks.webhook.url: is required`},
	{"array of tables", "[hooks.param_sanitizer]\n[[hooks.param_sanitizer.rules]]\ndo = \"trim\"\n\n[[hooks.param_sanitizer.rules]]\npointer = \"/a\"\ndo = \"dance\"\n", `toolscout.toml:7: hooks.param_sanitizer.rules[1].do: `},
	{"bad expression in a list", "[hooks.param_sanitizer]\nrules = [\n  { do = \"redact\", patterns = [\n    \"fine\",\n    \"[\" ] },\n]\n", `toolscout.toml:5: hooks.param_sanitizer.rules[0].patterns[1]: is not a regular expression`},
	{"bad pointer", "[hooks.param_sanitizer]\nrules = [{ do = \"drop\", pointer = \"a\" }]\n", `toolscout.toml:2: hooks.param_sanitizer.rules[0].pointer: is not a JSON pointer`},
	{"bad trigger", "[hooks.llm_enrich]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\ntriggers = [\"(\"]\n", `toolscout.toml:4: hooks.llm_enrich.triggers[0]: `},
	{"too small", "[hooks.response_truncation]\nmax_bytes = 300\n", `toolscout.toml:2: hooks.response_truncation.max_bytes: is 300, and can be 1024 or more, or 0 for no limit`},
	{"bad life time", "[hooks.response_truncation]\nttl = \"99h\"\n", `toolscout.toml:2: hooks.response_truncation.ttl: is a duration between 1s and 24h`},
	{"limit of nothing", "[hooks.rate_limit]\n", `toolscout.toml:1: hooks.rate_limit.rate: is missing`},
	{"bad time of a limit", "[hooks.rate_limit]\nrate = 1\nper = \"soon\"\n", `toolscout.toml:3: hooks.rate_limit.per: `},
	{"fraction", "[hooks.rate_limit]\nrate = 1.5\n", `toolscout.toml:2: hooks.rate_limit.rate: got number, want integer`},
	{"endless", "[hooks.rate_limit]\nrate = inf\n", `toolscout.toml:2: hooks.rate_limit.rate: inf and nan are no values`},
	{"timeout too long", "[hooks.audit]\ntimeout = \"99h\"\n", `toolscout.toml:2: hooks.audit.timeout: is not between 1ms and 24h`},
	{"timeout of nothing", "[hooks.audit]\ntimeout = \"\"\n", `toolscout.toml:2: hooks.audit.timeout: is empty`},
	{"timeout backwards", "[hooks.audit]\ntimeout = \"-5s\"\n", `toolscout.toml:2: hooks.audit.timeout: "-5s": want 1ms or more`},
	{"bad budget", "[hooks]\nbudget = \"soon\"\n", `toolscout.toml:2: hooks.budget: "soon": want a duration, as 500ms, 30s and 2h are`},
	{"servers that are no list", "[hooks.audit]\nservers = \"a\"\n", `toolscout.toml:2: hooks.audit.servers: want an array of strings, not string`},
	{"server of no name", "[hooks.audit]\nservers = [\"a\", \"\"]\n", `toolscout.toml:2: hooks.audit.servers[1]: is required`},
	{"script of nothing", "[hooks.mine]\ntype = \"script\"\n", `toolscout.toml:1: hooks.mine: a script has either file or source`},
	{"script in two places", "[hooks.mine]\ntype = \"script\"\nsource = \"x = 1\"\nfile = \"toolscout.toml\"\n", `toolscout.toml:1: hooks.mine: a script has either file or source`},
	{"script that is a folder", "[hooks.mine]\ntype = \"script\"\nfile = \".\"\n", `toolscout.toml:3: hooks.mine.file: cannot be read: it is not a file`},
	{"script that is none", "[hooks.mine]\ntype = \"script\"\nfile = \"toolscout.toml\"\n", `toolscout.toml:3: hooks.mine.file: toolscout.toml:1:`},
	{"channel of ours", "[hooks.event_emit]\nchannel = \"tool:after\"\n", `toolscout.toml:2: hooks.event_emit.channel: events of type "tool:after" are published by Toolscout alone`},
	{"retention too short", "[events]\nretention = \"1s\"\n", `toolscout.toml:2: events.retention: "1s": want 1m or more`},
	{"retention of nothing", "[events]\nretention = \"0\"\n", `toolscout.toml:2: events.retention: "0": want 1m or more`},
	{"retention in words", "[events]\nretention = \"for ever\"\n", `toolscout.toml:2: events.retention: "for ever": want a duration`},
	{"retention of another type", "[events]\nretention = 5\n", `toolscout.toml:2:13: events.retention: want a string, not integer`},
	{"unknown key of events", "[events]\nkeep = \"1h\"\n", `toolscout.toml:2: unknown key "events.keep"`},
	{"the last of many mistakes", "[hooks.audit]\nlevel = \"all\"\ncolour = 1\n\n[hooks.rate_limit]\nrate = 1\nmode = \"dry\"\n", `toolscout.toml:7: hooks.rate_limit.mode: `},
	{"the last of many types", "[hooks.one]\n[hooks.two]\ntype = \"three\"\n", `toolscout.toml:3: hooks.two.type: there is no type "three"`},
}

// TestHooksRefused starts servers with mistakes in their hooks. None starts; each
// says what is wrong, on which line, with which key.
func TestHooksRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range badHooks {
		t.Run(tt.name, func(t *testing.T) {
			// The database is not asked for: nobody gets that far.
			checkRefused(t, launch(t, options{config: tt.config, database: "postgres://x@127.0.0.1:1/x"}), tt.want)
		})
	}
}

// TestHooksReload changes the file while the server runs. What is wrong changes
// nothing, also of what is right beside it.
func TestHooksReload(t *testing.T) {
	t.Parallel()
	const ok, failed = `"msg":"reloaded"`, `"msg":"reload failed`
	server := declared(t, "a")
	stamp := func(text string) string {
		return toml("hooks.stamp", `type = "script"`, fmt.Sprintf("source = %q", "def after_call(ctx, result):\n    return \""+text+"\"\n"))
	}
	s := start(t, options{config: server + stamp("one")})
	w := viaMCP(join(t, s, caller{token: adminToken}, legacy))
	eventually(t, "connect", func() error {
		if o := w.run(t, "a_echo", nil); o.Text != "one" {
			return fmt.Errorf("%v", o)
		}
		return nil
	})
	says := func(want string) {
		t.Helper()
		if o := w.run(t, "a_echo", nil); o.Text != want {
			t.Errorf("got %v, want %q", o, want)
		}
	}
	s.reload(t, server+stamp("two"), ok)
	says("two")
	for _, tt := range badHooks {
		s.reload(t, tt.config+strings.ReplaceAll(stamp("three"), "hooks.stamp", "hooks.stamp2")+server, failed)
		if log := s.log.String(); !strings.Contains(log[strings.LastIndex(log, failed):], unquoted(tt.want)) {
			t.Errorf("%s: the log says %s", tt.name, log[strings.LastIndex(log, failed):])
		}
		says("two")
	}
	s.reload(t, server+stamp("four"), ok)
	says("four")
	s.reload(t, server, ok)
	says("echo")
	var list struct{ Items []configuredHook }
	s.must("GET", "/v1/admin/hooks", adminToken, nil, &list)
	if len(list.Items) != 0 {
		t.Errorf("hooks are left: %+v", list.Items)
	}
}

// TestHooksOfStrangers has hooks for servers and users that are not there, which may
// be a slip of the pen: the log says so, and nothing else happens until they come.
func TestHooksOfStrangers(t *testing.T) {
	t.Parallel()
	s := start(t, options{config: declared(t, "a") +
		toml("hooks.known", `type = "toon_transform"`, `server = "a"`, `user = "admin"`) +
		toml("hooks.one", `type = "toon_transform"`, `server = "nowhere"`) +
		toml("hooks.two", `type = "toon_transform"`, `servers = ["a", "elsewhere"]`, `user = "nobody"`)})
	var warnings []string
	for text := range strings.Lines(s.log.String()) {
		line := decodeTB[struct{ Level, Msg, Hook, Where, Server, User string }](t, []byte(text))
		if line.Level == "WARN" && strings.HasPrefix(line.Msg, "a hook is for ") {
			warnings = append(warnings, line.Hook+" "+line.Server+line.User+" "+strings.TrimPrefix(line.Where, s.dataDir))
		}
	}
	same(t, "warnings", warnings, []string{"one nowhere /toolscout.toml:10", "two elsewhere /toolscout.toml:13", "two nobody /toolscout.toml:13"})
}

// unquoted is a message as it stands in a log of JSON.
func unquoted(message string) string { return strings.ReplaceAll(message, `"`, `\"`) }

// TestHooksOfTheFile tries to edit what the file declares by API.
func TestHooksOfTheFile(t *testing.T) {
	t.Parallel()
	s := start(t, options{config: toml("hooks.toon_transform", "priority = 7")})
	for method, edit := range map[string]any{http.MethodPatch: map[string]any{"priority": 8}, http.MethodDelete: nil} {
		status, body := s.request(method, "/v1/admin/hooks/file:toon_transform", adminToken, edit)
		if status != http.StatusConflict || !strings.Contains(string(body), "toolscout.toml:1") {
			t.Errorf("%s: %d %s", method, status, body)
		}
	}
	if h := s.hook("file:toon_transform"); h.Origin.Kind != "file" || h.State.State != "active" || h.Scope != "global" {
		t.Errorf("it is shown as %+v", h)
	}
}

// TestHooksBrokenRow breaks rows behind the API's back. A guard closes, a transform
// warns; calls that they do not apply to go on as ever.
func TestHooksBrokenRow(t *testing.T) {
	t.Parallel()
	one, other := pair(t, options{})
	one.register(testserver(t, "a"))
	one.register(testserver(t, "b"))
	db := connect(t, one.database)
	w, v := viaMCP(join(t, one, caller{token: adminToken}, "")), other.viaREST(caller{token: adminToken})
	guard := one.addHook(map[string]any{"name": "guard", "type": "rate_limit", "pattern": "a_*", "config": map[string]any{"rate": 1000}})
	change := one.addHook(map[string]any{"name": "change", "type": "toon_transform", "pattern": "b_*"})
	works := func(what string) {
		t.Helper()
		for _, ref := range []string{"a_echo", "b_echo"} {
			for _, way := range []way{w, v} {
				if o := way.run(t, ref, nil); o.Kind != "" || len(o.warnings(t)) != 0 {
					t.Errorf("%s: %v", what, o)
				}
			}
		}
	}
	works("before")
	for _, config := range []string{`{"min_bytes": "many"}`, `{"unknown": 1}`, `[]`} {
		query[int](t, db, `with changed as (update toolscout.mcp_hooks set config = $1::jsonb, version = version + 1 returning 1),
			told as (update toolscout.revision set hooks = hooks + 1 returning 1) select count(*)::int from changed, told`, config)
		for _, s := range []*instance{one, other} {
			for _, h := range []configuredHook{guard, change} {
				eventually(t, "find it broken", func() error { // who edits by SQL does not wait until all have heard of it
					if got := s.hook(h.ID).State; got.State != "broken" || got.Reason == "" {
						return fmt.Errorf("%s: the state of %s is %+v", config, h.Name, got)
					}
					return nil
				})
			}
		}
		for _, way := range []way{w, v} {
			if o := way.run(t, "a_echo", nil); o.Kind == "" {
				t.Errorf("%s: the guard lets through %v", config, o)
			}
			if o := way.run(t, "b_echo", nil); o.Text != "echo" || len(o.warnings(t)) != 1 || !strings.Contains(o.warnings(t)[0], "change") {
				t.Errorf("%s: %v", config, o)
			}
			if o := way.try(t, "discover_tools", map[string]any{"query": "echo"}); o.Kind != "" {
				t.Errorf("%s: a search gave %v", config, o)
			}
		}
	}
	if !strings.Contains(one.log.String(), "a hook in the database cannot be used") {
		t.Error("the log does not say it")
	}
	for id, config := range map[string]map[string]any{guard.ID: {"rate": 1000}, change.ID: {}} {
		one.must("PATCH", "/v1/admin/hooks/"+id, adminToken, map[string]any{"config": config}, nil)
	}
	works("after they were mended")
}

// TestHooksOtherInstance changes hooks on one instance and calls on another: the
// very next call goes by the change.
func TestHooksOtherInstance(t *testing.T) {
	t.Parallel()
	one, other := pair(t, options{config: toml("hooks", `open_to_users = ["script"]`)})
	one.register(testserver(t, "a"))
	_, token := one.user("ann")
	w, v := viaMCP(join(t, other, caller{token: token}, legacy)), one.viaREST(caller{token: token})
	source := func(text string) map[string]any {
		return map[string]any{"source": "def after_call(ctx, result):\n    return result.text + \" " + text + "\"\n"}
	}
	says := func(w way, want string) {
		t.Helper()
		if o := w.run(t, "a_echo", nil); o.Text != want {
			t.Fatalf("got %v, want %q", o, want)
		}
	}
	says(w, "echo")
	for i := range 10 {
		mine := fmt.Sprintf("mine %d", i)
		h := one.addHook(starlark("all", "", "config", source("all")))
		says(w, "echo all")
		var own configuredHook
		other.must("POST", "/v1/hooks", token, map[string]any{"name": "own", "type": "script", "config": source(mine)}, &own)
		says(v, "echo "+mine+" all")
		one.must("PATCH", "/v1/admin/hooks/"+h.ID, adminToken, map[string]any{"config": source("changed")}, nil)
		says(w, "echo "+mine+" changed")
		one.must("PATCH", "/v1/admin/hooks/"+h.ID, adminToken, map[string]any{"enabled": false}, nil)
		says(w, "echo "+mine)
		one.must("DELETE", "/v1/hooks/"+own.ID, token, nil, nil)
		says(w, "echo")
		one.dropHook(h)
	}
}

// TestHooksDiscovered edits the scripts in a folder: a good edit acts soon, a bad
// one leaves the last good one in place and says so.
func TestHooksDiscovered(t *testing.T) {
	t.Parallel()
	found := t.TempDir()
	writeTo := func(name, source string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(found, name), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write := func(source string) {
		t.Helper()
		writeTo("stamp.star", source)
	}
	stamp := func(text string) string { return "def after_call(ctx, result):\n    return \"" + text + "\"\n" }
	write(stamp("one"))
	s := start(t, options{config: toml("hooks", fmt.Sprintf("discovery_paths = [%q]", found))})
	s.register(testserver(t, "a"))
	w := viaMCP(join(t, s, caller{token: adminToken}, ""))
	events := s.follow(t, adminToken, "type=hook:*")
	becomes := func(want string) {
		t.Helper()
		eventually(t, "say "+want, func() error {
			if o := w.run(t, "a_echo", nil); o.Text != want || len(o.warnings(t)) != 0 {
				return fmt.Errorf("%v", o)
			}
			return nil
		})
	}
	becomes("one")
	write(stamp("two"))
	becomes("two")
	write("def after_call(ctx, result):\n    return nowhere\n")
	eventually(t, "say that it does not compile", func() error {
		if h := s.hook("script:stamp"); !strings.Contains(h.State.Reason, "stamp.star:2:12") || !strings.Contains(s.log.String(), "stamp.star:2:12") {
			return fmt.Errorf("it is %+v", h)
		}
		return nil
	})
	becomes("two")
	write(stamp("three"))
	becomes("three")
	if h := s.hook("script:stamp"); h.State.State != "active" || h.State.Reason != "" {
		t.Errorf("it is %+v", h)
	}
	if err := os.Remove(filepath.Join(found, "stamp.star")); err != nil {
		t.Fatal(err)
	}
	becomes("echo")
	writeTo("guard.star", "hook = {\"on_error\": \"fail\"}\ndef before_call(ctx, request)\n    reject()\n")
	d := desktop{t, []string{"TOOLSCOUT_URL=" + s.url, "TOOLSCOUT_TOKEN=" + adminToken, "TOOLSCOUT_DATA_DIR=" + s.dataDir}, s.dataDir}
	eventually(t, "show a script that was never valid", func() error {
		for _, args := range [][]string{{"hooks", "list"}, {"hooks", "explain", "--tool", "a_echo"}, {"doctor"}} {
			if c := cli(t, d.env, args...); !strings.Contains(c.stdout, "broken: guard.star:") {
				return fmt.Errorf("%v prints %s%s", args, c.stdout, c.stderr)
			}
		}
		return nil
	})
	eventually(t, "hear of it", func() error {
		if n := len(events.of("hook:reloaded")); n < 3 {
			return fmt.Errorf("%d events", n)
		}
		return nil
	})
}
