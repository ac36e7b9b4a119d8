package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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

// place is a hook's place within its scope; those that are always there come first.
func (h hook) place() string {
	if h.Origin.Kind == "builtin" {
		return "-"
	}
	return fmt.Sprint(h.Priority)
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
	if h.State.Reason != "" {
		return h.Mode + ", but " + short(h.State.Reason, 80)
	}
	return h.Mode
}

func (p *program) hooks() *cobra.Command {
	c := &cobra.Command{Use: "hooks", Short: "What happens before and after every call",
		Long: "What happens before and after every call: limits, redaction, shorter answers, scripts.\n\n" +
			"Start with: toolscout hooks types"}
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
		if isRefused(err) && !mine {
			mine = true
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
			names := a.naming(c.Context(), mine, hooks)
			var rows [][]string
			for _, h := range hooks {
				rows = append(rows, []string{h.Name, h.Type, names.scope(h), h.Pattern, h.place(), h.how(), h.where()})
			}
			p.table("no hooks yet: toolscout hooks types says what there is, toolscout hooks add NAME adds one",
				[]string{"NAME", "TYPE", "SCOPE", "PATTERN", "PRIORITY", "MODE", "FROM"}, rows)
		})
	}}
	mineFlag(c, &mine)
	return c
}

// isRefused reports whether the server refused what is for admins.
func isRefused(err error) bool {
	var p *problem
	return errors.As(err, &p) && p.status == http.StatusForbidden
}

// orMine adds to the refusal of what is for admins how to go about one's own.
func orMine(mine bool, err error) error {
	var p *problem
	if errors.As(err, &p) && isRefused(err) && !mine && p.Hint == "" {
		p.Hint = "for hooks of your own, add --mine"
	}
	return err
}

// naming is the names of users and servers, by their ids.
type naming map[string]string

// naming looks up the names of whom and what hooks are for. One that cannot be found
// stays an id.
func (a *api) naming(ctx context.Context, mine bool, hooks []hook) naming {
	names := naming{}
	look := func(path string, id func(hook) string) {
		if !slices.ContainsFunc(hooks, func(h hook) bool { return id(h) != "" }) {
			return
		}
		items, _ := all[struct{ ID, Name string }](ctx, a, path, nil, 0) // the ids do as well
		for _, item := range items {
			names[item.ID] = item.Name
		}
	}
	look(serversOf(mine), func(h hook) string { return h.ServerID })
	if !mine {
		look(usersPath, func(h hook) string { return h.UserID })
		return names
	}
	for _, h := range hooks {
		if h.UserID != "" {
			names[h.UserID] = "you"
		}
	}
	return names
}

// scope says for whom and for what a hook is.
func (n naming) scope(h hook) string {
	user, server := cmp.Or(n[h.UserID], h.UserID), cmp.Or(n[h.ServerID], h.ServerID)
	switch {
	case h.UserID != "" && h.ServerID != "":
		return user + " on " + server
	case h.UserID != "":
		return user
	case h.ServerID != "":
		return "server " + server
	}
	return h.Scope
}

// in is a sentence with names in place of ids.
func (n naming) in(text string) string {
	for id, name := range n {
		text = strings.ReplaceAll(text, id, name)
	}
	return text
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
		return orMine(mine, err)
	}
	return f(a, hooksPath(mine)+"/"+url.PathEscape(id))
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
