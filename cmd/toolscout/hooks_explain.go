package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/spf13/cobra"
)

// effective is the hooks of one call, as the API answers them.
type effective struct {
	User  struct{ Name string } `json:"user"`
	Agent string                `json:"agent"`
	Tool  *struct {
		Name, Access string
	} `json:"tool"`
	Outer   []hook `json:"outer"`
	Inner   []hook `json:"inner"`
	Skipped []struct {
		hook
		Why string `json:"why"`
	} `json:"skipped"`
}

func (p *program) hooksExplain() *cobra.Command {
	var user, tool, agent string
	c := &cobra.Command{Use: "explain", Short: "Show which hooks a call would go through, in order, and where each comes from",
		Long: "Show which hooks a call would go through, in order, where each comes from, and why the\n" +
			"others are left out. Nothing is called.",
		Example: "  toolscout hooks explain --tool gh_create_issue\n" +
			"  toolscout hooks explain --user ann --agent ci --tool gh_create_issue", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
			a, err := p.api()
			if err != nil {
				return err
			}
			q := url.Values{}
			for name, v := range map[string]string{"user": user, "tool": tool, "agent": agent} {
				if v != "" {
					q.Set(name, v)
				}
			}
			var raw json.RawMessage
			if err := a.do(c.Context(), http.MethodGet, adminHooksPath+"/effective?"+q.Encode(), nil, &raw); err != nil {
				return err
			}
			var e effective
			if err := json.Unmarshal(raw, &e); err != nil {
				return err
			}
			return p.print(raw, func() { p.explain(e, a.naming(c.Context(), false, e.all())) })
		}}
	c.Flags().StringVar(&user, "user", "", "whose call, by name or id (default: yours)")
	c.Flags().StringVar(&tool, "tool", "", "of which tool, by name or id")
	c.Flags().StringVar(&agent, "agent", "", "through which agent")
	return c
}

// all is every hook that is told of.
func (e effective) all() []hook {
	hooks := slices.Concat(e.Outer, e.Inner)
	for _, h := range e.Skipped {
		hooks = append(hooks, h.hook)
	}
	return hooks
}

func (p *program) explain(e effective, names naming) {
	who := e.User.Name
	if e.Agent != "" {
		who += " through " + e.Agent
	}
	fmt.Fprintf(p.stdout, "calls by %s\n\naround the meta-tool (before: from the top; after: from the bottom)\n", who)
	p.chain(e.Outer, names)
	if e.Tool != nil {
		fmt.Fprintf(p.stdout, "\naround the call of %s\n", e.Tool.Name)
		p.chain(e.Inner, names)
		if e.Tool.Access != "on" {
			fmt.Fprintf(p.stdout, "\n%s is %s for %s: access_control refuses the call\n", e.Tool.Name, e.Tool.Access, e.User.Name)
		}
	}
	if len(e.Skipped) == 0 {
		return
	}
	fmt.Fprintln(p.stdout, "\nleft out")
	var rows [][]string
	for _, h := range e.Skipped {
		rows = append(rows, []string{h.Name, h.Type, names.scope(h.hook), h.where(), names.in(h.Why)})
	}
	p.table("", []string{"NAME", "TYPE", "SCOPE", "FROM", "WHY"}, rows)
}

func (p *program) chain(hooks []hook, names naming) {
	var rows [][]string
	for _, h := range hooks {
		rows = append(rows, []string{h.Name, h.Type, names.scope(h), h.place(), h.how(), h.OnError, h.where()})
	}
	p.table("no hooks", []string{"NAME", "TYPE", "SCOPE", "PRIORITY", "MODE", "ON ERROR", "FROM"}, rows)
}
