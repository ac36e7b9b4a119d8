package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/toolscout/toolscout/hooks"
)

// Hooks is the [hooks] table.
type Hooks struct {
	DiscoveryPaths []string // absolute
	OpenToUsers    []string // names of types
	Budget         time.Duration
	Declared       []Hook // by name
}

// Hook is a [hooks.NAME] table: what it says of the hook, and as JSON what it says
// to its type.
type Hook struct {
	Name     string
	Settings hooks.Settings
	Config   json.RawMessage
}

// fileHooks are the keys of [hooks] that are no hook.
type fileHooks struct {
	DiscoveryPaths []string `json:"discovery_paths" help:"folders whose *.star files are hooks, seen as soon as they change; relative to the folder of this file" default:"[]"`
	OpenToUsers    []string `json:"open_to_users" help:"the types of which users may have hooks of their own, as in [\"toon_transform\", \"script\"]" default:"[]"`
	Budget         string   `json:"budget" help:"how long all hooks of one chain may take together" default:"30s"`
}

// hooks reads the [hooks] table, whose keys are as many as somebody has hooks.
func (c *Config) hooks(table map[string]any, fail func(string, error)) {
	own, names := map[string]any{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if _, isHook := table[name].(map[string]any); isHook {
			names = append(names, name)
			continue
		}
		own[name] = table[name]
	}
	var f fileHooks
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if !slices.Contains(keysOf(reflect.TypeFor[fileHooks]()), name) {
			fail("hooks."+name, errors.New("unknown key; a hook is a table, as in [hooks.toon_transform]"))
			delete(own, name)
		}
	}
	c.assign("hooks", own, &f, fail)
	c.Hooks = Hooks{OpenToUsers: f.OpenToUsers, Budget: duration("hooks.budget", f.Budget, 30*time.Second, time.Millisecond, fail)}
	for _, dir := range f.DiscoveryPaths {
		c.Hooks.DiscoveryPaths = append(c.Hooks.DiscoveryPaths, c.beside(dir))
	}
	for _, name := range names {
		c.Hooks.Declared = append(c.Hooks.Declared, c.hook(name, table[name].(map[string]any), fail))
	}
}

// hook reads one [hooks.NAME] table.
func (c *Config) hook(name string, table map[string]any, fail func(string, error)) Hook {
	key := "hooks." + name
	h := Hook{Name: name}
	settings, rest := map[string]any{}, map[string]any{}
	common := keysOf(reflect.TypeFor[hooks.Settings]())
	for k, v := range table {
		v = inFolder(v, filepath.Dir(c.File))
		if slices.Contains(common, k) {
			settings[k] = v
			continue
		}
		rest[k] = v
	}
	c.assign(key, settings, &h.Settings, fail)
	if timeout, ok := settings["timeout"].(string); ok && timeout == "" {
		fail(key+".timeout", errors.New("is empty: leave it out for the type's default"))
	} else if ok {
		_ = duration(key+".timeout", timeout, 0, time.Millisecond, fail)
	}
	if file, ok := rest["file"].(string); ok { // of a script
		rest["file"] = c.beside(file)
	}
	for _, k := range slices.Sorted(maps.Keys(rest)) {
		if _, err := json.Marshal(rest[k]); err != nil {
			fail(key+"."+k, errors.New("inf and nan are no values for a hook"))
			delete(rest, k)
		}
	}
	var err error
	if h.Config, err = json.Marshal(rest); err != nil {
		fail(key, err)
	}
	return h
}

// assign puts a table's values, one by one, into the fields of a struct that are
// tagged with their keys.
func (c *Config) assign(key string, table map[string]any, into any, fail func(string, error)) {
	for _, k := range slices.Sorted(maps.Keys(table)) {
		raw, err := json.Marshal(map[string]any{k: table[k]})
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			err = fmt.Errorf("want %s, not %s", kindOf(wrong.Type), wrong.Value)
		}
		fail(key+"."+k, err)
	}
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "an array of strings"
	case reflect.Int:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	default:
		return "a string"
	}
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for f := range t.Fields() {
		keys = append(keys, f.Tag.Get("json"))
	}
	return keys
}

// beside makes a path that is relative to the file's folder absolute.
func (c *Config) beside(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(c.File), path)
}

// inFolder replaces the reference to the file's folder in all strings of a value.
func inFolder(v any, folder string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, folderReference, folder)
	case []any:
		for i := range v {
			v[i] = inFolder(v[i], folder)
		}
	case map[string]any:
		for k := range v {
			v[k] = inFolder(v[k], folder)
		}
	}
	return v
}
