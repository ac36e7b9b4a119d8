package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
)

// welcome shows how the servers come up and their tools are indexed, and then
// what to try next.
func welcome(ctx context.Context, w io.Writer, s started) {
	s.server.watchStart(ctx, w, s.began)
	if ctx.Err() == nil {
		fmt.Fprint(w, bannerText(os.Args[0], s))
	}
}

// watchStart prints each change of a server's state and of the index until all
// servers have been tried and nothing waits for a vector. What was observed before
// began is of an earlier run, and not news.
func (s *server) watchStart(ctx context.Context, w io.Writer, began time.Time) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	said := map[string]string{}
	say := func(key, line string) {
		if said[key] != line {
			fmt.Fprintln(w, line)
			said[key] = line
		}
	}
	for {
		servers, _, err := s.db.AllServers(ctx)
		if err != nil {
			return
		}
		pending := 0
		for _, sv := range servers {
			if sv.Status != core.Active {
				continue
			}
			if sv.Health.Since.Before(began) && time.Since(began) < untriedFor {
				pending++
				continue
			}
			done := settled(sv)
			if done || sv.Health.State != core.Healthy { // its tools are not written yet, so their number would be wrong
				say(sv.ID, serverState(sv))
			}
			if !done {
				pending++
			}
		}
		index, err := s.indexer.Status(ctx)
		if err != nil {
			return
		}
		if index.Total > 0 {
			say("index", "index "+indexLine(index))
		}
		if pending == 0 && (index.State != "running" || index.Error != "") {
			return // an embedding service that is away can stay so for long
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// emptyAfter is how long a server is healthy before having no tools is believed:
// they are written a moment after it answered.
const emptyAfter = 3 * time.Second

// untriedFor is how long the banner waits for a server that has not been tried yet.
const untriedFor = 10 * time.Second

// settled reports whether a server has been tried: what it offers is known, or why not.
func settled(s core.Server) bool {
	switch s.Health.State {
	case core.Down, core.Misconfigured, core.Unstable, core.Stopped:
		return true
	case core.Healthy:
		return s.ToolCount > 0 || time.Since(s.Health.Since) > emptyAfter
	}
	return false
}

func serverState(s core.Server) string {
	line := fmt.Sprintf("server %s: %s", s.Name, dash(string(s.Health.State)))
	if s.Health.State == core.Healthy {
		line += fmt.Sprintf(", %d tools", s.ToolCount)
	}
	if s.Health.Message != "" {
		line += ": " + short(s.Health.Message, 200)
	}
	return line
}

func bannerText(program string, s started) string {
	var b strings.Builder
	base, token := s.server.publicURL, s.token
	secret := "ts_…"
	fmt.Fprintf(&b, "\nToolscout is ready.\n\n  MCP      %s/mcp\n  API      %s/docs\n", base, base)
	switch {
	case token.fresh:
		fmt.Fprintf(&b, "  token    %s\n           (the first admin's; shown this once, kept in %s)\n", token.value, token.file)
		secret = token.value
	case token.file != "":
		fmt.Fprintf(&b, "  token    in %s\n", token.file)
	default:
		b.WriteString("  token    the one in TOOLSCOUT_ADMIN_TOKEN\n")
	}
	try := []string{`tools search "read a text file"`, `tools call read_text_file path=welcome.txt`, `audit`}
	if len(s.config.Gateway.Servers) == 0 {
		try = []string{`servers add files -- npx -y @modelcontextprotocol/server-filesystem .`, `tools search "read a text file"`, `audit`}
	}
	b.WriteString("\nTry next, in another terminal:\n\n")
	for _, t := range try {
		fmt.Fprintf(&b, "  %s %s\n", program, t)
	}
	client, _ := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"toolscout": map[string]any{
		"type": "http", "url": base + "/mcp", "headers": map[string]string{"Authorization": "Bearer " + secret}}}}, "  ", "  ")
	with := ""
	if !token.fresh {
		with = ", with the token in it"
	}
	fmt.Fprintf(&b, "\nPaste into an MCP client%s:\n\n  %s\n\n", with, client)
	return b.String()
}
