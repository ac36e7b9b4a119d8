package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
)

// filed are tables of hooks, good ones and bad ones.
var filed = []string{
	"[hooks]\nopen_to_users = [\"script\"]\nbudget = \"10s\"\n\n[hooks.toon_transform]\nmin_bytes = 200\n",
	"[hooks.limit]\ntype = \"rate_limit\"\nuser = \"ann\"\nserver = \"github\"\nby = [\"user\", \"tool\"]\nrate = 60\nper = \"1m\"\non_error = \"ignore\"\nmode = \"observe\"\n",
	"[hooks.param_sanitizer]\nrules = [\n  { do = \"deny\", pointer = \"/a\", match = \"(\" },\n  { do = \"redact\", patterns = [\"x\",\n    \"[\"] },\n]\n",
	"[[hooks.param_sanitizer.rules]]\ndo = \"set\"\nvalue = { a = [1.0, 2026-01-01T00:00:00Z, nan] }\n[hooks.param_sanitizer.rules.more]\n",
	"[hooks.webhook]\nurl = \"https://${HOST}/x\"\nsecret = \"${SECRET}\"\n[hooks.webhook.send]\nargs = \"values\"\n",
	"[hooks.mine]\ntype = \"script\"\nsource = '''\nhook = {\"mode\": \"observe\"}\ndef after_call(ctx, result):\n    return result.text\n'''\n[hooks.mine.vars]\n\"a.b\" = 1\n",
	"[hooks.llm_enrich]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\ntriggers = [\"(?i)error\"]\nprompt = \"{{result}}\"\n",
	"[hooks.audit]\nvalues = true\nredact = [\"/a/*\", \"pass*\"]\nwait = true\nevents = [\"tool:after\", \"tool:during\"]\n",
	"[hooks.access_control]\nallow = [\"github/*\"]\nlevel = \"meta\"\n[hooks.\"\"]\ntype = \"audit\"\n[hooks.\"a.b\\n\"]\ntype = \"audit\"\n",
	"[hooks.event_emit]\nchannel = \"tool:after\"\n[hooks.test_filter]\nframeworks = []\n[hooks.response_truncation]\nttl = \"99h\"\nmax_bytes = 1\n",
	"hooks.toon_transform.min_bytes = \"x\"\nhooks.\"a b\".type = \"audit\"\n", "hooks = 5\n", "[[hooks.audit]]\n", "[hooks]\naudit = true\ndiscovery_paths = [\"/nowhere\"]\n",
	"[events]\nretention = \"0\"\n[audit]\nmode = \"x\"\n", "[hooks.audit]\ntimeout = \"\"\npriority = 99999999999\n",
}

// FuzzHooksFile: whatever the file says of hooks, nothing panics, and each fault
// names a line of it.
func FuzzHooksFile(f *testing.F) {
	for _, seed := range filed {
		f.Add(seed, byte(0), "", "")
	}
	values := []string{`"x"`, `-1`, `1.5`, `true`, `[]`, `["x", 1]`, `{ a = 1 }`, `[{ do = "trim", pointer = "/a" }]`, `inf`, `"1m"`}
	set, err := hookset.New(hookset.Config{Lookup: func(string) (string, bool) { return "", false }, Types: hookTypes(hookParts{
		guarded: egress.New(egress.Config{}), trusted: egress.New(egress.Config{})})})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := set.Close(context.Background()); err != nil {
			f.Error(err)
		}
	})
	types := set.Types()
	for i, typ := range types {
		for _, key := range settingsOf(f, typ) {
			f.Add("", byte(i), key, values[(i+len(key))%len(values)])
		}
	}
	const name = "/nowhere/toolscout.toml"
	line := regexp.MustCompile(`^` + name + `:[1-9]\d*:`)
	f.Fuzz(func(t *testing.T, text string, typ byte, key, value string) {
		if key != "" { // deep into a table that is right but for one value
			text += fmt.Sprintf("\n[hooks.one]\ntype = %q\n%s = %s\n", types[int(typ)%len(types)].Name, key, value)
		}
		cfg, err := config.Load(config.Source{
			Getenv:  func(key string) string { return map[string]string{"HOME": "/nowhere", "TOOLSCOUT_CONFIG": name}[key] },
			Environ: func() []string { return nil },
			ReadFile: func(path string) ([]byte, error) {
				if path == name {
					return []byte(text), nil
				}
				return nil, fmt.Errorf("open %s: %w", path, fs.ErrNotExist)
			},
		}, nil)
		if err == nil && outside(cfg) {
			return // what other files hold is another matter
		}
		if err == nil {
			_, err = declareHooks(set, cfg)
		}
		for _, fault := range faultsOf(err) {
			if !line.MatchString(fault.Error()) {
				t.Errorf("%q: the fault %q names no line", text, fault)
			}
		}
	})
}

// settingsOf are the keys that a type knows.
func settingsOf(tb testing.TB, typ hooks.Type) []string {
	var schema struct{ Properties map[string]json.RawMessage }
	if err := json.Unmarshal(typ.Schema, &schema); err != nil {
		tb.Fatal(err)
	}
	return append(slices.Sorted(maps.Keys(schema.Properties)), "events", "level", "timeout", "servers")
}

// outside reports whether folders that are there are searched for hooks.
func outside(cfg config.Config) bool {
	for _, folder := range cfg.Hooks.DiscoveryPaths {
		if _, err := os.Stat(folder); err == nil || strings.ContainsRune(folder, 0) {
			return true
		}
	}
	return false
}

// faultsOf takes apart what was joined.
func faultsOf(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, faultsOf(e)...)
	}
	return all
}
