package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const (
	adminHooksPath = "/v1/admin/hooks"
	myHooksPath    = "/v1/hooks"
)

// hook is a configured hook as the API answers it.
type hook struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	UserID   string `json:"userId"`
	ServerID string `json:"serverId"`
	Scope    string `json:"scope"`
	Level    string `json:"level"`
	Pattern  string `json:"pattern"`
	Mode     string `json:"mode"`
	OnError  string `json:"onError"`
	Priority int    `json:"priority"`
	Enabled  *bool  `json:"enabled"`
	Origin   struct {
		Kind  string `json:"kind"`
		Where string `json:"where"`
	} `json:"origin"`
	State struct {
		State  string `json:"state"`
		Reason string `json:"reason"`
	} `json:"state"`
}

// where says where a hook was configured.
func (h hook) where() string {
	if h.Origin.Where != "" {
		return h.Origin.Where
	}
	return h.Origin.Kind
}

// how says whether a hook acts, and if not why.
func (h hook) how() string {
	switch {
	case h.Enabled != nil && !*h.Enabled:
		return "off"
	case h.State.State != "" && h.State.State != "active":
		return strings.TrimSpace(h.State.State + ": " + short(h.State.Reason, 80))
	}
	return h.Mode
}

func (p *program) hooks() *cobra.Command {
	c := &cobra.Command{Use: "hooks", Short: "What happens before and after every call"}
	c.AddCommand(p.hooksList(), p.hooksShow(), p.hooksAdd(), p.hooksEdit(), p.hooksRemove(), p.hooksSwitch("on", true), p.hooksSwitch("off", false),
		p.hooksTypes(), p.hooksExplain(), p.hooksTest(), p.hooksCheck())
	return c
}

// hooksPath is where the hooks are that a command is about.
func hooksPath(mine bool) string {
	if mine {
		return myHooksPath
	}
	return adminHooksPath
}

func mineFlag(c *cobra.Command, mine *bool) {
	c.Flags().BoolVar(mine, "mine", false, "my own hooks, which act on my calls alone")
}

func (p *program) hooksList() *cobra.Command {
	var mine bool
	c := &cobra.Command{Use: "list", Short: "List the hooks and where each was configured: all of them for an admin, else your own", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		a, err := p.api()
		if err != nil {
			return err
		}
		items, err := all[json.RawMessage](c.Context(), a, hooksPath(mine), nil, 0)
		if e, ok := err.(*problem); ok && e.status == http.StatusForbidden {
			items, err = all[json.RawMessage](c.Context(), a, myHooksPath, nil, 0)
		}
		if err != nil {
			return err
		}
		hooks, err := decodeAll[hook](items)
		if err != nil {
			return err
		}
		return p.print(items, func() {
			var rows [][]string
			for _, h := range hooks {
				rows = append(rows, []string{h.Name, h.Type, h.Scope, h.Pattern, fmt.Sprint(h.Priority), h.how(), h.where()})
			}
			p.table("no hooks yet: toolscout hooks types says what there is, toolscout hooks add NAME adds one",
				[]string{"NAME", "TYPE", "SCOPE", "PATTERN", "PRIORITY", "MODE", "FROM"}, rows)
		})
	}}
	mineFlag(c, &mine)
	return c
}

func decodeAll[T any](items []json.RawMessage) ([]T, error) {
	out := make([]T, len(items))
	for i, raw := range items {
		if err := json.Unmarshal(raw, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *program) hooksShow() *cobra.Command {
	var mine bool
	c := &cobra.Command{Use: "show HOOK", Short: "Show one hook whole, as JSON", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return p.onHook(c, mine, args[0], func(a *api, path string) error {
			var raw json.RawMessage
			if err := a.do(c.Context(), http.MethodGet, path, nil, &raw); err != nil {
				return err
			}
			p.json = true
			return p.print(raw, nil)
		})
	}}
	mineFlag(c, &mine)
	return c
}

// onHook runs a request about a hook that is given by name or id.
func (p *program) onHook(c *cobra.Command, mine bool, name string, f func(a *api, path string) error) error {
	a, err := p.api()
	if err != nil {
		return err
	}
	id, err := named(c.Context(), a, hooksPath(mine), "hook", name)
	if err != nil {
		return err
	}
	return f(a, hooksPath(mine)+"/"+url.PathEscape(id))
}

func (p *program) hooksAdd() *cobra.Command {
	var d hookFlags
	var mine bool
	c := &cobra.Command{Use: "add NAME", Short: "Add a hook; it acts from the next call on",
		Example: "  toolscout hooks add small --type response_truncation --config '{\"max_tokens\": 4000}'\n" +
			"  toolscout hooks add slow-down --type rate_limit --server github --config '{\"by\": [\"user\"], \"rate\": 60, \"per\": \"1m\"}'\n" +
			"  toolscout hooks add redact --type script --source examples/hooks/redact_emails.star --mode observe",
		Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
			a, err := p.api()
			if err != nil {
				return err
			}
			in, err := d.body(c, p, a)
			if err != nil {
				return err
			}
			in["name"] = args[0]
			if in["type"] == nil {
				in["type"] = args[0]
			}
			return p.saveHook(c, a, http.MethodPost, hooksPath(mine), in, "added")
		}}
	d.flags(c)
	mineFlag(c, &mine)
	return c
}

func (p *program) saveHook(c *cobra.Command, a *api, method, path string, in any, verb string) error {
	var raw json.RawMessage
	if err := a.do(c.Context(), method, path, in, &raw); err != nil {
		return err
	}
	var h hook
	if err := json.Unmarshal(raw, &h); err != nil {
		return err
	}
	return p.print(raw, func() {
		fmt.Fprintf(p.stdout, "%s %s: %s, scope %s, %s (%s)\n", verb, h.Name, h.Type, h.Scope, h.how(), h.ID)
	})
}

func (p *program) hooksEdit() *cobra.Command {
	var d hookFlags
	var mine bool
	var name string
	c := &cobra.Command{Use: "edit HOOK", Short: "Change what is given, leave the rest; gives a disabled hook another chance", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return p.onHook(c, mine, args[0], func(a *api, path string) error {
			in, err := d.body(c, p, a)
			if err != nil {
				return err
			}
			if name != "" {
				in["name"] = name
			}
			if len(in) == 0 {
				return errNothing
			}
			return p.saveHook(c, a, http.MethodPatch, path, in, "changed")
		})
	}}
	d.flags(c)
	mineFlag(c, &mine)
	c.Flags().StringVar(&name, "name", "", "a new name")
	return c
}

func (p *program) hooksRemove() *cobra.Command {
	var mine bool
	c := &cobra.Command{Use: "remove HOOK", Short: "Remove a hook", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return p.onHook(c, mine, args[0], func(a *api, path string) error {
			if err := a.do(c.Context(), http.MethodDelete, path, nil, nil); err != nil {
				return err
			}
			return p.print(map[string]string{"removed": args[0]}, func() { fmt.Fprintf(p.stdout, "removed %s\n", args[0]) })
		})
	}}
	mineFlag(c, &mine)
	return c
}

func (p *program) hooksSwitch(word string, on bool) *cobra.Command {
	var mine bool
	c := &cobra.Command{Use: word + " HOOK", Short: "Switch a hook " + word, Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return p.onHook(c, mine, args[0], func(a *api, path string) error {
			return p.saveHook(c, a, http.MethodPatch, path, map[string]bool{"enabled": on}, "switched "+word)
		})
	}}
	mineFlag(c, &mine)
	return c
}

// hookFlags is a hook's configuration as flags.
type hookFlags struct {
	kind, user, server, level, pattern, mode, onError, timeout *string
	events, servers, agents                                    *[]string
	priority                                                   *int
	config, source                                             *string
}

func (d *hookFlags) flags(c *cobra.Command) {
	f := c.Flags()
	d.kind = f.String("type", "", "what kind of hook (default: the name)")
	d.config = f.String("config", "", "the type's configuration: a JSON object, or the name of a file that holds one (- is standard input)")
	d.source = f.String("source", "", "for a script: the *.star file whose text to store")
	d.user = f.String("user", "", "only for this user, by name or id")
	d.server = f.String("server", "", "only for this server, by name or id")
	d.level = f.String("level", "", "meta, tool or both")
	d.events = f.StringSlice("event", nil, "when it acts, as in tool:after (may be repeated)")
	d.pattern = f.String("pattern", "", "glob on the tool's name")
	d.servers = f.StringSlice("servers", nil, "only for these servers")
	d.agents = f.StringSlice("agents", nil, "only for these agents")
	d.mode = f.String("mode", "", "enforce, observe (a dry run) or background")
	d.onError = f.String("on-error", "", "fail, ignore or disable")
	d.priority = f.Int("priority", 0, "lower runs earlier before the call and later after it")
	d.timeout = f.String("timeout", "", "how long it may take, as in 2s")
}

// body is the part of a configuration that was given.
func (d *hookFlags) body(c *cobra.Command, p *program, a *api) (map[string]any, error) {
	in := map[string]any{}
	given := func(flag, field string, value any) {
		if c.Flags().Changed(flag) {
			in[field] = value
		}
	}
	given("type", "type", *d.kind)
	given("level", "level", *d.level)
	given("event", "events", *d.events)
	given("pattern", "pattern", *d.pattern)
	given("servers", "servers", *d.servers)
	given("agents", "agents", *d.agents)
	given("mode", "mode", *d.mode)
	given("on-error", "onError", *d.onError)
	given("priority", "priority", *d.priority)
	given("timeout", "timeout", *d.timeout)
	for _, scope := range []struct{ flag, name, field, path string }{
		{"user", *d.user, "userId", usersPath}, {"server", *d.server, "serverId", serversOf(c)},
	} {
		if !c.Flags().Changed(scope.flag) {
			continue
		}
		id, err := named(c.Context(), a, scope.path, scope.flag, scope.name)
		if err != nil {
			return nil, err
		}
		in[scope.field] = id
	}
	config, err := d.configuration(c, p)
	if config != nil {
		in["config"] = config
	}
	return in, err
}

// serversOf is the list in which a server's name is looked up: one's own hooks are
// for servers that one can see.
func serversOf(c *cobra.Command) string {
	if mine, _ := c.Flags().GetBool("mine"); mine {
		return "/v1/servers"
	}
	return serversPath
}

// configuration is the type's own part; nil where none was given.
func (d *hookFlags) configuration(c *cobra.Command, p *program) (map[string]json.RawMessage, error) {
	var config map[string]json.RawMessage
	if c.Flags().Changed("config") {
		raw, err := p.jsonOrFile(*d.config)
		if err != nil {
			return nil, fmt.Errorf("--config: %w", err)
		}
		if err := json.Unmarshal(raw, &config); err != nil || config == nil {
			return nil, fmt.Errorf("--config: want a JSON object, as in '{\"max_tokens\": 4000}': %v", err)
		}
	}
	if !c.Flags().Changed("source") {
		return config, nil
	}
	text, err := p.readFile(*d.source)
	if err != nil {
		return nil, fmt.Errorf("--source: %w", err)
	}
	if config == nil {
		config = map[string]json.RawMessage{}
	}
	config["source"], err = json.Marshal(string(text))
	return config, err
}

// hookType is a type as the API answers it.
type hookType struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Scopes      []string `json:"scopes"`
	OpenToMe    bool     `json:"openToMe"`
	Defaults    struct {
		Level    string `json:"level"`
		Mode     string `json:"mode"`
		OnError  string `json:"onError"`
		Priority int    `json:"priority"`
		Timeout  string `json:"timeout"`
	} `json:"defaults"`
	Schema struct {
		Properties map[string]struct {
			Description string          `json:"description"`
			Default     json.RawMessage `json:"default"`
		} `json:"properties"`
		Required []string `json:"required"`
	} `json:"schema"`
}

func (p *program) hooksTypes() *cobra.Command {
	return &cobra.Command{Use: "types [TYPE]", Short: "List the types of hooks, or show one with its configuration", Args: cobra.MaximumNArgs(1), RunE: func(c *cobra.Command, args []string) error {
		a, err := p.api()
		if err != nil {
			return err
		}
		items, err := all[json.RawMessage](c.Context(), a, myHooksPath+"/types", nil, 0)
		if err != nil {
			return err
		}
		types, err := decodeAll[hookType](items)
		if err != nil {
			return err
		}
		if len(args) == 0 {
			return p.print(items, func() {
				var rows [][]string
				for _, t := range types {
					rows = append(rows, []string{t.Name, t.Defaults.Level, t.Defaults.OnError, fmt.Sprint(t.Defaults.Priority), yes(t.OpenToMe), short(t.Description, 80)})
				}
				p.table("no types", []string{"TYPE", "LEVEL", "ON ERROR", "PRIORITY", "OPEN TO ME", "WHAT IT DOES"}, rows)
			})
		}
		i := slices.IndexFunc(types, func(t hookType) bool { return t.Name == args[0] })
		if i < 0 {
			return fmt.Errorf("there is no type %q: see toolscout hooks types", args[0])
		}
		return p.print(items[i], func() { p.typeHelp(types[i]) })
	}}
}

// typeHelp tells a person how to configure a type.
func (p *program) typeHelp(t hookType) {
	d := t.Defaults
	fmt.Fprintf(p.stdout, "%s: %s\n\nscopes %s; by default level %s, mode %s, on_error %s, priority %d, timeout %s\n\n", t.Name, t.Description,
		strings.Join(t.Scopes, ", "), d.Level, d.Mode, d.OnError, d.Priority, d.Timeout)
	var names []string
	for name := range t.Schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	var rows [][]string
	for _, name := range names {
		m := t.Schema.Properties[name]
		fallback := dash(short(string(m.Default), 30))
		if slices.Contains(t.Schema.Required, name) {
			fallback = "(required)"
		}
		rows = append(rows, []string{name, fallback, m.Description})
	}
	p.table("it has no configuration of its own", []string{"KEY", "DEFAULT", "MEANING"}, rows)
}
