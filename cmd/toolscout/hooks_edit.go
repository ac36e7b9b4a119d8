package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func (p *program) hooksAdd() *cobra.Command {
	var d hookFlags
	var mine bool
	c := &cobra.Command{Use: "add NAME", Short: "Add a hook; it acts from the next call on",
		Long: "Add a hook; it acts from the next call on. What is not said is the type's default:\n" +
			"toolscout hooks types TYPE shows the keys of --config and the defaults.",
		Example: "  toolscout hooks add small --type response_truncation --config '{\"max_tokens\": 4000}'\n" +
			"  toolscout hooks add slow-down --type rate_limit --server github --config '{\"by\": [\"user\"], \"rate\": 60, \"per\": \"1m\"}'\n" +
			"  toolscout hooks add redact --type script --source examples/hooks/redact-emails.star --mode observe\n" +
			"  toolscout hooks add brief --mine --type response_truncation --server github",
		Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
			a, err := p.api()
			if err != nil {
				return err
			}
			in, err := d.body(c, p, a, mine)
			if err != nil {
				return orMine(mine, err)
			}
			in["name"] = args[0]
			if in["type"] == nil {
				in["type"] = args[0]
			}
			return orMine(mine, orType(c, p.saveHook(c, a, http.MethodPost, hooksPath(mine), in, "added")))
		}}
	d.flags(c)
	mineFlag(c, &mine)
	return c
}

// orType adds to the refusal of a type that was not given how to give one.
func orType(c *cobra.Command, err error) error {
	var p *problem
	if errors.As(err, &p) && !c.Flags().Changed("type") && len(p.Errors) > 0 && p.Errors[0].Pointer == "/type" {
		p.Hint = "say with --type which it is"
	}
	return err
}

func (p *program) hooksEdit() *cobra.Command {
	var d hookFlags
	var mine bool
	var name string
	c := &cobra.Command{Use: "edit HOOK", Short: "Change what is given, leave the rest; gives a disabled hook another chance",
		Long: "Change what is given, leave the rest. --config replaces all of the type's configuration, of\n" +
			"which *** leaves a secret as it is. An empty value puts a setting back to its default:\n" +
			"--user '' makes a hook everybody's. Any edit gives a disabled hook another chance.",
		Example: "  toolscout hooks edit small --config '{\"max_tokens\": 8000}' --mode enforce\n" +
			"  toolscout hooks edit redact --source redact.star",
		Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
			return p.onHook(c, mine, args[0], func(a *api, path string) error {
				in, err := d.body(c, p, a, mine)
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

// body is the part of a configuration that was given. An empty text is null, which
// is the default.
func (d *hookFlags) body(c *cobra.Command, p *program, a *api, mine bool) (map[string]any, error) {
	in := map[string]any{}
	given := func(flag, field string, value any) {
		if !c.Flags().Changed(flag) {
			return
		}
		in[field] = value
		if value == "" {
			in[field] = nil
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
	if mine && c.Flags().Changed("user") {
		return nil, errors.New("--user does not go with --mine: hooks of your own are for you")
	}
	for _, scope := range []struct{ flag, name, field, path string }{
		{"user", *d.user, "userId", usersPath}, {"server", *d.server, "serverId", serversOf(mine)},
	} {
		if !c.Flags().Changed(scope.flag) || scope.name == "" {
			given(scope.flag, scope.field, scope.name)
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
func serversOf(mine bool) string {
	if mine {
		return "/v1/servers"
	}
	return serversPath
}

// configuration is the type's own part; nil where none was given.
func (d *hookFlags) configuration(c *cobra.Command, p *program) (json.RawMessage, error) {
	var config json.RawMessage
	if c.Flags().Changed("config") {
		var err error
		if config, err = p.objectOrFile("--config", *d.config); err != nil {
			return nil, err
		}
	}
	if !c.Flags().Changed("source") {
		return config, nil
	}
	text, err := p.readFile(*d.source)
	if err != nil {
		return nil, fmt.Errorf("--source: %w", err)
	}
	members := map[string]any{}
	if config != nil {
		var known map[string]json.RawMessage
		if err := json.Unmarshal(config, &known); err != nil {
			return nil, err
		}
		for name, value := range known {
			members[name] = value
		}
	}
	members["source"] = string(text)
	return json.Marshal(members)
}
