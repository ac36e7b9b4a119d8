package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolscout/toolscout/core"
)

const usersPath = "/v1/admin/users"

func (p *program) users() *cobra.Command {
	c := &cobra.Command{Use: "users", Short: "Who may use the tools: users and their roles"}
	c.AddCommand(p.usersList(), p.usersAdd(), p.usersEdit(), p.usersRemove())
	return c
}

func (p *program) usersList() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List the users", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		a, err := p.api()
		if err != nil {
			return err
		}
		users, err := all[core.User](c.Context(), a, usersPath, nil, 0)
		if err != nil {
			return err
		}
		return p.print(users, func() {
			var rows [][]string
			for _, u := range users {
				rows = append(rows, []string{u.Name, dash(u.Email), dash(strings.Join(u.Roles, ",")), day(&u.CreatedAt), u.ID})
			}
			p.table("no users", []string{"NAME", "EMAIL", "ROLES", "CREATED", "ID"}, rows)
		})
	}}
}

func (p *program) usersAdd() *cobra.Command {
	var email string
	var roles []string
	c := &cobra.Command{Use: "add NAME", Short: "Add a user", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		a, err := p.api()
		if err != nil {
			return err
		}
		var u core.User
		in := map[string]any{"name": args[0], "email": email, "roles": roles}
		if err := a.do(c.Context(), http.MethodPost, usersPath, in, &u); err != nil {
			return err
		}
		return p.print(u, func() {
			fmt.Fprintf(p.stdout, "added %s (%s)\nnext: %s tokens create %s\n", u.Name, u.ID, os.Args[0], u.Name)
		})
	}}
	c.Flags().StringVar(&email, "email", "", "an address to reach them")
	c.Flags().StringSliceVar(&roles, "role", []string{}, "a role; \"admin\" opens the admin routes (may be repeated)")
	return c
}

func (p *program) usersEdit() *cobra.Command {
	var name, email string
	var roles []string
	c := &cobra.Command{Use: "edit USER", Short: "Change a user's name, address or roles", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		in := map[string]any{}
		for flag, v := range map[string]any{"name": name, "email": email, "roles": roles} {
			if c.Flags().Changed(strings.TrimSuffix(flag, "s")) {
				in[flag] = v
			}
		}
		if len(in) == 0 {
			return errNothing
		}
		return p.onUser(c, args[0], func(a *api, id string) error {
			var u core.User
			if err := a.do(c.Context(), http.MethodPatch, usersPath+"/"+id, in, &u); err != nil {
				return err
			}
			return p.print(u, func() { fmt.Fprintf(p.stdout, "changed %s: roles %s\n", u.Name, dash(strings.Join(u.Roles, ","))) })
		})
	}}
	c.Flags().StringVar(&name, "name", "", "a new name")
	c.Flags().StringVar(&email, "email", "", "a new address")
	c.Flags().StringSliceVar(&roles, "role", nil, "the roles from now on (may be repeated)")
	return c
}

func (p *program) usersRemove() *cobra.Command {
	return &cobra.Command{Use: "remove USER", Short: "Remove a user with their tokens; the audit keeps the name", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return p.onUser(c, args[0], func(a *api, id string) error {
			if err := a.do(c.Context(), http.MethodDelete, usersPath+"/"+id, nil, nil); err != nil {
				return err
			}
			return p.print(map[string]string{"id": id}, func() { fmt.Fprintf(p.stdout, "removed %s\n", args[0]) })
		})
	}}
}

// onUser runs a request about a user who is given by name or id.
func (p *program) onUser(c *cobra.Command, name string, f func(a *api, id string) error) error {
	a, err := p.api()
	if err != nil {
		return err
	}
	id, err := named(c.Context(), a, usersPath, "user", name)
	if err != nil {
		return err
	}
	return f(a, url.PathEscape(id))
}

func (p *program) tokens() *cobra.Command {
	c := &cobra.Command{Use: "tokens", Short: "API tokens: make, list, revoke"}
	c.AddCommand(p.tokensList(), p.tokensCreate(), p.tokensRevoke())
	return c
}

func (p *program) tokensList() *cobra.Command {
	return &cobra.Command{Use: "list USER", Short: "List a user's tokens, without their secrets", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return p.onUser(c, args[0], func(a *api, id string) error {
			tokens, err := all[core.Token](c.Context(), a, usersPath+"/"+id+"/tokens", nil, 0)
			if err != nil {
				return err
			}
			return p.print(tokens, func() {
				var rows [][]string
				for _, t := range tokens {
					rows = append(rows, []string{t.Name, dash(t.Agent), day(&t.CreatedAt), day(t.ExpiresAt), day(t.LastUsedAt), day(t.RevokedAt), t.ID})
				}
				p.table("no tokens", []string{"NAME", "AGENT", "CREATED", "EXPIRES", "LAST USED", "REVOKED", "ID"}, rows)
			})
		})
	}}
}

func (p *program) tokensCreate() *cobra.Command {
	var name, agent string
	var expires time.Duration
	c := &cobra.Command{Use: "create USER", Short: "Make a token; it is shown this once", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		if expires < 0 {
			return errors.New("--expires: want how long it is valid, as in 720h")
		}
		in := map[string]any{"name": name, "agent": agent}
		if expires > 0 {
			in["expiresAt"] = time.Now().Add(expires).UTC()
		}
		return p.onUser(c, args[0], func(a *api, id string) error {
			var t struct {
				core.Token
				Secret string `json:"token"`
			}
			if err := a.do(c.Context(), http.MethodPost, usersPath+"/"+id+"/tokens", in, &t); err != nil {
				return err
			}
			return p.print(t, func() {
				fmt.Fprintln(p.stderr, "keep it: it is not shown again")
				fmt.Fprintln(p.stdout, t.Secret)
			})
		})
	}}
	c.Flags().StringVar(&name, "name", "cli", "what it is for")
	c.Flags().StringVar(&agent, "agent", "", "the one agent that may use it")
	c.Flags().DurationVar(&expires, "expires", 0, "how long it is valid, as in 720h; 0: until it is revoked")
	return c
}

func (p *program) tokensRevoke() *cobra.Command {
	return &cobra.Command{Use: "revoke USER TOKEN", Short: "Revoke a token, by id or name, at once", Args: cobra.ExactArgs(2), RunE: func(c *cobra.Command, args []string) error {
		return p.onUser(c, args[0], func(a *api, id string) error {
			path := usersPath + "/" + id + "/tokens"
			token, err := named(c.Context(), a, path, "token", args[1])
			if err != nil {
				return err
			}
			if err := a.do(c.Context(), http.MethodDelete, path+"/"+token, nil, nil); err != nil {
				return err
			}
			return p.print(map[string]string{"id": token}, func() { fmt.Fprintf(p.stdout, "revoked %s\n", args[1]) })
		})
	}}
}
