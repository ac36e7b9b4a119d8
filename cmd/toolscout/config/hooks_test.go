package config_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/hooks"
)

func TestLoadHooks(t *testing.T) {
	t.Parallel()
	c, err := load(`
[hooks]
discovery_paths = [".toolscout/hooks/", "/srv/hooks"]
open_to_users = ["script"]
budget = "10s"

[hooks.toon_transform]
enabled = true
events = ["tool:after"]
pattern = "*"
min_bytes = 200

[hooks.limit]
type = "rate_limit"
user = "ann"
server = "github"
level = "both"
on_error = "ignore"
mode = "observe"
priority = 0
timeout = "2s"
agents = ["ci"]
by = ["user", "tool"]
nested = { big = 9007199254740993, at = 2026-01-02 }

[hooks.mine]
type = "script"
file = "mine.star"
vars = { folder = "${TOOLSCOUT_CONFIG_DIR}/x" }

[events]
retention = "1h"
`)
	if err != nil {
		t.Fatal(err)
	}
	h := c.Hooks
	if c.Events.Retention != time.Hour || h.Budget != 10*time.Second || len(h.Declared) != 3 {
		t.Errorf("got %+v, events %+v", h, c.Events)
	}
	if diff := cmp.Diff(h.DiscoveryPaths, []string{"/etc/.toolscout/hooks", "/srv/hooks"}); diff != "" {
		t.Error(diff)
	}
	limit, mine, toon := h.Declared[0], h.Declared[1], h.Declared[2]
	d := hooks.Type{Name: "rate_limit", Priority: 200}.Definition()
	if err := limit.Settings.Apply(&d); err != nil {
		t.Fatal(err)
	}
	want := hooks.Definition{Name: "rate_limit", Type: "rate_limit", UserID: "ann", ServerID: "github", Pattern: "*", Agents: []string{"ci"},
		Mode: hooks.Observe, OnError: hooks.Ignore, Priority: 0, Timeout: 2 * time.Second, Enabled: true, Config: d.Config}
	if diff := cmp.Diff(d, want); diff != "" {
		t.Error(diff)
	}
	if got, want := string(limit.Config), `{"by":["user","tool"],"nested":{"at":"2026-01-02","big":9007199254740993}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := string(mine.Config), `{"file":"/etc/mine.star","vars":{"folder":"/etc/x"}}`; got != filepath.ToSlash(want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(toon.Config); got != `{"min_bytes":200}` || toon.Settings.Type != nil {
		t.Errorf("got %s, %+v", got, toon.Settings)
	}
	if at := c.At("hooks.limit.nested.big"); at != "/etc/toolscout.toml:24: hooks.limit.nested.big" {
		t.Errorf("got %s", at)
	}
}

func TestLoadHooksRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ toml, want string }{
		"unknown key":        {"[hooks]\ndiscovery = []", `toml:2: hooks.discovery: unknown key`},
		"not a table":        {"[hooks]\ntoon_transform = true", `toml:2: hooks.toon_transform: unknown key; a hook is a table`},
		"array of tables":    {"[[hooks.toon_transform]]\nenabled = true", `hooks.toon_transform`},
		"priority":           {"[hooks.x]\npriority = \"high\"", `toml:2: hooks.x.priority: want a whole number, not string`},
		"fraction":           {"[hooks.x]\npriority = 1.5", `toml:2: hooks.x.priority: want a whole number`},
		"events":             {"[hooks.x]\nevents = \"tool:after\"", `toml:2: hooks.x.events: want an array of strings, not string`},
		"enabled":            {"[hooks.x]\nenabled = \"yes\"", `toml:2: hooks.x.enabled: want true or false, not string`},
		"timeout":            {"[hooks.x]\ntimeout = \"soon\"", `toml:2: hooks.x.timeout: "soon": want a duration, as 500ms, 30s and 2h are`},
		"timeout too short":  {"[hooks.x]\ntimeout = \"1us\"", `want 1ms or more`},
		"budget":             {"[hooks]\nbudget = 30", `toml:2: hooks.budget: want a string, not number`},
		"not a number":       {"[hooks.x]\nper = \"1m\"\nrate = nan", `toml:3: hooks.x.rate: inf and nan are no values`},
		"endless in a list":  {"[hooks.x]\nper = \"1m\"\nrates = [1, { n = -inf }]", `toml:3: hooks.x.rates: inf and nan are no values`},
		"empty timeout":      {"[hooks.x]\nmode = \"observe\"\ntimeout = \"\"", `toml:3: hooks.x.timeout: is empty`},
		"timeout of nothing": {"[hooks.x]\ntimeout = \"0\"", `toml:2: hooks.x.timeout: "0": want 1ms or more`},
		"budget of nothing":  {"[hooks]\nbudget = \"0\"", `toml:2: hooks.budget: "0": want 1ms or more`},
		"no table":           {"hooks = 5", `toml:1:9: hooks: want a table, not integer`},
		"retention":          {"[events]\nretention = \"1s\"", `toml:2: events.retention: "1s": want 1m or more`},
		"no retention":       {"[events]\nretention = \"0\"", `toml:2: events.retention: "0": want 1m or more`},
		"negative retention": {"[events]\nretention = \"-1h\"", `toml:2: events.retention: "-1h": want 1m or more`},
		"retention in words": {"[events]\nretention = \"for ever\"", `toml:2: events.retention: "for ever": want a duration`},
		"retention in hours": {"[events]\nretention = 5", `toml:2:13: events.retention: want a string, not integer`},
		"unknown events key": {"[events]\nkeep = \"1h\"", `toml:2: unknown key "events.keep"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := load(tt.toml); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// TestLines is where keys stand in the file.
func TestLines(t *testing.T) {
	t.Parallel()
	c, err := load(`hooks.dotted.min_bytes = 1 # 1
[hooks.list]
events = ["meta:after",
  "tool:after"]
rules = [
  { do = "trim" },
  { do = "set",
    value = [1,
      { a = 2 }] },
]
[[hooks.tables.rules]]
do = "trim"

[[hooks.tables.rules]]
do = "trim"
patterns = ["x"]
[hooks.tables.rules.deep]
a = 1
[[hooks.tables.rules.more]]
a = 1
[[hooks.tables.rules.more]]
a = 1
[hooks.outer.inner]
a = 1
[hooks."with.dot"]
type = "audit"
`)
	if err != nil {
		t.Fatal(err)
	}
	for key, line := range map[string]string{
		"hooks": ":1", "hooks.dotted": ":1", "hooks.dotted.min_bytes": ":1", "hooks.dotted.other": ":1",
		"hooks.list": ":2", "hooks.list.events": ":3", "hooks.list.events[0]": ":3", "hooks.list.events[1]": ":4", "hooks.list.events[9]": ":3",
		"hooks.list.rules": ":5", "hooks.list.rules[0].do": ":6", "hooks.list.rules[0].pointer": ":6", "hooks.list.rules[1]": ":7",
		"hooks.list.rules[1].value": ":8", "hooks.list.rules[1].value[1].a": ":9",
		"hooks.tables": ":11", "hooks.tables.rules": ":11", "hooks.tables.rules[0].do": ":12", "hooks.tables.rules[1]": ":14", "hooks.tables.rules[1].patterns[0]": ":16",
		"hooks.tables.rules[1].deep.a": ":18", "hooks.tables.rules[1].more[0].a": ":20", "hooks.tables.rules[1].more[1].a": ":22",
		"hooks.outer": ":23", "hooks.outer.b": ":23", "hooks.outer.inner.a": ":24", "hooks.with.dot.type": ":26",
		"gateway": "",
	} {
		if got, want := c.Place(key), "/etc/toolscout.toml"+line; got != want {
			t.Errorf("%s is at %s, want %s", key, got, want)
		}
	}
}
