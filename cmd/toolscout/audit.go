package main

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolscout/toolscout/core"
)

func (p *program) audit() *cobra.Command {
	var usage bool
	var since string
	var limit int
	filter := map[string]*string{}
	c := &cobra.Command{Use: "audit", Short: "What happened: every call and every change", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		a, err := p.api()
		if err != nil {
			return err
		}
		q := url.Values{}
		for name, v := range filter {
			if *v != "" {
				q.Set(name, *v)
			}
		}
		if since != "" {
			back, err := ago("since", since)
			if err != nil {
				return err
			}
			q.Set("since", time.Now().Add(-back).UTC().Format(time.RFC3339))
		}
		path := "/v1/admin/audit"
		if usage {
			path = "/v1/admin/usage"
		}
		rows, err := all[core.UsageEntry](c.Context(), a, path, q, limit)
		if err != nil {
			return err
		}
		return p.print(rows, func() { p.auditTable(rows) })
	}}
	f := c.Flags()
	f.BoolVar(&usage, "usage", false, "only real calls of real tools")
	f.StringVar(&since, "since", "", "not older than this, as in 30d or 1h")
	f.IntVar(&limit, "limit", core.DefaultLimit, "how many rows at most; 0: all")
	for flag, help := range map[string]string{"action": "only this action, as in execute_tool or server.create", "actorId": "only this user, by id",
		"outcome": "only ok, denied, invalid, failed, timeout or rejected", "toolId": "only this tool, by id", "serverId": "only this server, by id", "requestId": "only this request"} {
		filter[flag] = f.String(kebab(flag), "", help)
	}
	return c
}

func (p *program) auditTable(entries []core.UsageEntry) {
	var rows [][]string
	for _, e := range slices.Backward(entries) {
		rows = append(rows, []string{e.Time.Local().Format("01-02 15:04:05"), e.Actor, dash(short(e.Agent, 40)), e.Action, dash(short(e.ToolName, 40)), dash(e.ServerName),
			string(e.Outcome), dash(string(e.ErrorKind)), fmt.Sprintf("%.1f ms", e.DurationMs)})
	}
	p.table("nothing yet", []string{"TIME", "WHO", "AGENT", "ACTION", "TOOL", "SERVER", "OUTCOME", "WHY", "TOOK"}, rows)
}

// kebab turns actorId into actor-id.
func kebab(s string) string {
	var out []byte
	for _, c := range []byte(s) {
		if c >= 'A' && c <= 'Z' {
			out = append(out, '-', c+'a'-'A')
			continue
		}
		out = append(out, c)
	}
	return string(out)
}
