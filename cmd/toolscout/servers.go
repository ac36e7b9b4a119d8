package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolscout/toolscout/core/admin"
	"github.com/toolscout/toolscout/mcpserver/rest"
)

const serversPath = "/v1/admin/servers"

func (p *program) servers() *cobra.Command {
	c := &cobra.Command{Use: "servers", Short: "The MCP servers whose tools are offered"}
	c.AddCommand(p.serversList(), p.serversShow(), p.serversAdd(), p.serversEdit(), p.serversTest(), p.serversImport(),
		p.serversRefresh(), p.serversRemove(), p.serversSwitch("on", true), p.serversSwitch("off", false))
	return c
}

func (p *program) serversList() *cobra.Command {
	var mine bool
	c := &cobra.Command{Use: "list", Short: "List the servers: all of them for an admin, else those you may use", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		a, err := p.api()
		if err != nil {
			return err
		}
		path := serversPath
		if mine {
			path = "/v1/servers"
		}
		servers, err := all[rest.Server](c.Context(), a, path, nil, 0)
		if e, ok := err.(*problem); ok && e.status == http.StatusForbidden {
			servers, err = all[rest.Server](c.Context(), a, "/v1/servers", nil, 0)
		}
		if err != nil {
			return err
		}
		return p.print(servers, func() {
			var rows [][]string
			for _, s := range servers {
				state := string(s.Health.State)
				if s.Status == "inactive" {
					state = "inactive"
				}
				rows = append(rows, []string{s.Name, string(s.Transport), s.Domain, fmt.Sprint(s.ToolCount), yes(s.Enabled), dash(state), short(s.Health.Message, 60)})
			}
			p.table("no servers yet: toolscout servers add NAME -- COMMAND, or toolscout servers import FILE",
				[]string{"NAME", "TRANSPORT", "DOMAIN", "TOOLS", "ON", "STATE", "WHY"}, rows)
		})
	}}
	c.Flags().BoolVar(&mine, "mine", false, "those I may use, also for an admin")
	return c
}

func (p *program) serversShow() *cobra.Command {
	return &cobra.Command{Use: "show SERVER", Short: "Show one server whole, as JSON", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return p.onServer(c, args[0], func(a *api, id string) error {
			var s any
			if err := a.do(c.Context(), http.MethodGet, serversPath+"/"+id, nil, &s); err != nil {
				return err
			}
			p.json = true
			return p.print(s, nil)
		})
	}}
}

// onServer runs a request about a server that is given by name or id.
func (p *program) onServer(c *cobra.Command, name string, f func(a *api, id string) error) error {
	a, err := p.api()
	if err != nil {
		return err
	}
	id, err := named(c.Context(), a, serversPath, "server", name)
	if err != nil {
		return err
	}
	return f(a, url.PathEscape(id))
}

func (p *program) serversAdd() *cobra.Command {
	var d definition
	wait := time.Duration(0)
	c := &cobra.Command{Use: "add NAME (--url URL | -- COMMAND [ARG ...])", Short: "Register a server; it is connected, listed and indexed at once",
		Example: "  toolscout servers add docs --prefix docs_ -- npx -y @modelcontextprotocol/server-filesystem /srv/docs\n" +
			"  toolscout servers add db --url https://db.example.com/mcp --header 'Authorization=Bearer ${DB_TOKEN}'",
		Args: cobra.MinimumNArgs(1), RunE: func(c *cobra.Command, args []string) error {
			in, err := d.body(c, args[1:])
			if err != nil {
				return err
			}
			if in["transport"] == nil {
				return errNoWay
			}
			in["name"] = args[0]
			a, err := p.api()
			if err != nil {
				return err
			}
			return p.register(c, a, in, wait)
		}}
	d.flags(c)
	c.Flags().DurationVar(&wait, "wait", 60*time.Second, "how long to wait for its tools; 0: do not")
	return c
}

// register creates a server and says how it went.
func (p *program) register(c *cobra.Command, a *api, in any, wait time.Duration) error {
	var s rest.Server
	if err := a.do(c.Context(), http.MethodPost, serversPath+waiting(wait), in, &s); err != nil {
		return err
	}
	return p.print(s, func() { p.serverLine("registered", s) })
}

func (p *program) serverLine(verb string, s rest.Server) {
	fmt.Fprintf(p.stdout, "%s %s: %s, %d tools (%s)\n", verb, s.Name, dash(string(s.Health.State)), s.ToolCount, s.ID)
	if s.Health.Message != "" {
		fmt.Fprintf(p.stdout, "  %s: %s\n", dash(s.Health.Stage), short(s.Health.Message, 400))
	}
}

func waiting(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return "?wait=" + d.String()
}

func (p *program) serversEdit() *cobra.Command {
	var d definition
	var name, status string
	wait := time.Duration(0)
	c := &cobra.Command{Use: "edit SERVER [-- COMMAND [ARG ...]]", Short: "Change what is given, leave the rest", Args: cobra.MinimumNArgs(1), RunE: func(c *cobra.Command, args []string) error {
		in, err := d.body(c, args[1:])
		if err != nil {
			return err
		}
		for flag, v := range map[string]string{"name": name, "status": status} {
			if v != "" {
				in[flag] = v
			}
		}
		if len(in) == 0 {
			return errNothing
		}
		return p.onServer(c, args[0], func(a *api, id string) error {
			var s rest.Server
			if err := a.do(c.Context(), http.MethodPatch, serversPath+"/"+id+waiting(wait), in, &s); err != nil {
				return err
			}
			return p.print(s, func() { p.serverLine("changed", s) })
		})
	}}
	d.flags(c)
	c.Flags().StringVar(&name, "name", "", "a new name")
	c.Flags().StringVar(&status, "status", "", "active or inactive")
	c.Flags().DurationVar(&wait, "wait", 60*time.Second, "how long to wait for its tools; 0: do not")
	return c
}

func (p *program) serversTest() *cobra.Command {
	var d definition
	c := &cobra.Command{Use: "test (--url URL | -- COMMAND [ARG ...])", Short: "Try a configuration without saving it", RunE: func(c *cobra.Command, args []string) error {
		in, err := d.body(c, args)
		if err != nil {
			return err
		}
		if in["transport"] == nil {
			return errNoWay
		}
		in["name"] = "test"
		a, err := p.api()
		if err != nil {
			return err
		}
		var r rest.TestResult
		if err := a.do(c.Context(), http.MethodPost, serversPath+"/test", in, &r); err != nil {
			return err
		}
		if err := p.print(r, func() { p.testLine(r) }); err != nil || r.OK {
			return err
		}
		return errReported
	}}
	d.flags(c)
	return c
}

func (p *program) testLine(r rest.TestResult) {
	if r.OK {
		fmt.Fprintf(p.stdout, "works: %s %s, protocol %s, %d tools\n", short(r.Name, 100), short(r.Version, 100), short(r.Protocol, 100), r.ToolCount)
		return
	}
	fmt.Fprintf(p.stdout, "failed to %s: %s\n", dash(r.Stage), short(r.Message, 400))
}

func (p *program) serversImport() *cobra.Command {
	var dry bool
	c := &cobra.Command{Use: "import FILE", Short: "Register the servers of a client's configuration (Claude Desktop, Cursor, VS Code); - reads standard input", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		raw, err := p.readFile(args[0])
		if err != nil {
			return err
		}
		servers, warnings, err := admin.ParseMCPServers(raw)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		for _, w := range warnings {
			fmt.Fprintf(p.stderr, "%s: %s\n", args[0], w)
		}
		if len(servers) == 0 {
			return fmt.Errorf("%s: there is no server in it that can be registered", args[0])
		}
		if dry {
			return p.print(rest.ServersOf(servers), func() {
				for _, s := range servers {
					fmt.Fprintf(p.stdout, "%s: %s %s\n", s.Name, s.Transport, short(s.URL+strings.Join(append([]string{s.Command}, s.Args...), " "), 100))
				}
			})
		}
		a, err := p.api()
		if err != nil {
			return err
		}
		failed := false
		for _, s := range servers {
			if err := p.register(c, a, rest.InputOf(s), time.Minute); err != nil {
				fmt.Fprintf(p.stderr, "%s: %v\n", s.Name, err)
				failed = true
			}
		}
		if failed {
			return errReported
		}
		return nil
	}}
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would be registered, and do nothing")
	return c
}

// readFile reads a file, bounded, or standard input for "-".
func (p *program) readFile(name string) ([]byte, error) {
	const most = 4 << 20
	in := p.stdin
	if name != "-" {
		f, err := os.Open(filepath.Clean(name))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && len(raw) > most {
		err = fmt.Errorf("%s is larger than 4 MiB", name)
	}
	return raw, err
}

func (p *program) serversRefresh() *cobra.Command {
	wait := time.Duration(0)
	c := &cobra.Command{Use: "refresh SERVER", Short: "List a server's tools again now", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return p.onServer(c, args[0], func(a *api, id string) error {
			var s rest.Server
			if err := a.do(c.Context(), http.MethodPost, serversPath+"/"+id+"/refresh"+waiting(wait), nil, &s); err != nil {
				return err
			}
			return p.print(s, func() { p.serverLine("refreshed", s) })
		})
	}}
	c.Flags().DurationVar(&wait, "wait", 60*time.Second, "how long to wait for the end of it; 0: do not")
	return c
}

func (p *program) serversRemove() *cobra.Command {
	return &cobra.Command{Use: "remove SERVER", Short: "Remove a server with its tools", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return p.onServer(c, args[0], func(a *api, id string) error {
			if err := a.do(c.Context(), http.MethodDelete, serversPath+"/"+id, nil, nil); err != nil {
				return err
			}
			return p.print(map[string]string{"id": id}, func() { fmt.Fprintf(p.stdout, "removed %s\n", args[0]) })
		})
	}}
}

func (p *program) serversSwitch(word string, on bool) *cobra.Command {
	var user string
	c := &cobra.Command{Use: word + " SERVER", Short: "Switch a server " + word + " for yourself, or as an admin for a user", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		a, err := p.api()
		if err != nil {
			return err
		}
		list := serversPath
		if user == "" {
			list = "/v1/servers"
		}
		id, err := named(c.Context(), a, list, "server", args[0])
		if err != nil {
			return err
		}
		path := "/v1/servers/" + id + "/preference"
		if user != "" {
			uid, err := named(c.Context(), a, usersPath, "user", user)
			if err != nil {
				return err
			}
			path = usersPath + "/" + uid + "/servers/" + id + "/preference"
		}
		if err := a.do(c.Context(), http.MethodPut, path, map[string]bool{"enabled": on}, nil); err != nil {
			return err
		}
		return p.print(map[string]any{"id": id, "enabled": on}, func() { fmt.Fprintf(p.stdout, "%s is %s\n", args[0], word) })
	}}
	help := "for this user, by name or id (admins only)"
	if on {
		help += "; a hidden server is opened to them"
	}
	c.Flags().StringVar(&user, "user", "", help)
	return c
}

var (
	errNothing = errors.New("nothing to change: say what with flags (--help lists them)")
	errNoWay   = errors.New("give the server's --url, or its command after --")
)

// definition is a server's configuration as flags.
type definition struct {
	text map[string]*string
	list map[string]*[]string
	kv   map[string]*[]string
}

func (d *definition) flags(c *cobra.Command) {
	d.text, d.list, d.kv = map[string]*string{}, map[string]*[]string{}, map[string]*[]string{}
	for field, help := range map[string]string{"url": "of the endpoint", "transport": "stdio, http or sse (default: stdio with a command, http with a URL)",
		"description": "what it is for", "prefix": "put before each tool's name", "domain": "the category of its tools", "visibility": "visible, hidden or user",
		"ownerId": "whose it is, with visibility user", "isolation": "who may share a live session: shared, user or session", "timeout": "of one call, as in 30s"} {
		d.text[field] = c.Flags().String(kebab(field), "", help)
	}
	for field, help := range map[string]string{"allowedTools": "only these tools", "blockedTools": "never these tools", "requiredRoles": "only for these roles",
		"agentAllowlist": "only for these agents", "tags": "for your own order"} {
		d.list[field] = c.Flags().StringSlice(kebab(field), nil, help)
	}
	for field, help := range map[string]string{"env": "NAME=VALUE for the command; ${NAME} reads the server's environment (may be repeated)",
		"header": "NAME=VALUE sent with every request (may be repeated)"} {
		d.kv[field] = c.Flags().StringArray(field, nil, help)
	}
}

// body is the part of a configuration that was given.
func (d *definition) body(c *cobra.Command, command []string) (map[string]any, error) {
	in := map[string]any{}
	for field, v := range d.text {
		if c.Flags().Changed(kebab(field)) {
			in[field] = *v
		}
	}
	for field, v := range d.list {
		if c.Flags().Changed(kebab(field)) {
			in[field] = *v
		}
	}
	for flag, field := range map[string]string{"env": "env", "header": "headers"} {
		if !c.Flags().Changed(flag) {
			continue
		}
		m, err := pairs(flag, *d.kv[flag])
		if err != nil {
			return nil, err
		}
		in[field] = m
	}
	if len(command) > 0 {
		in["command"], in["args"] = command[0], command[1:]
	}
	if in["transport"] == nil && in["url"] != nil {
		in["transport"] = "http"
	}
	if in["transport"] == nil && in["command"] != nil {
		in["transport"] = "stdio"
	}
	return in, nil
}
