package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func (p *program) tools() *cobra.Command {
	c := &cobra.Command{Use: "tools", Short: "Find tools, read their schemas, run them"}
	c.AddCommand(p.toolsSearch(), p.toolsList(), p.toolsShow(), p.toolsCall())
	return c
}

// foundTools is a list of tools as the API answers it.
type foundTools struct {
	Items []struct {
		ID, Name, Description, Domain, ServerID, Signature string
		Score                                              *float64
	} `json:"items"`
	Servers map[string]struct {
		Name string `json:"name"`
	} `json:"servers"`
	Suggestion string `json:"suggestion"`
	Degraded   string `json:"degraded"`
	NextCursor string `json:"nextCursor"`
}

func (p *program) toolsSearch() *cobra.Command {
	var domain, server string
	var limit int
	c := &cobra.Command{Use: "search QUERY", Short: "Find tools by what they do", Example: "  toolscout tools search \"read a file\"", Args: cobra.MinimumNArgs(1), RunE: func(c *cobra.Command, args []string) error {
		q := url.Values{"query": {strings.Join(args, " ")}}
		return p.findTools(c, q, domain, server, limit)
	}}
	findFlags(c, &domain, &server, &limit, 10)
	return c
}

func (p *program) toolsList() *cobra.Command {
	var domain, server string
	var limit int
	c := &cobra.Command{Use: "list", Short: "List the tools you may use", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		return p.findTools(c, url.Values{}, domain, server, limit)
	}}
	findFlags(c, &domain, &server, &limit, 50)
	return c
}

func findFlags(c *cobra.Command, domain, server *string, limit *int, most int) {
	c.Flags().StringVar(domain, "domain", "", "only in this domain")
	c.Flags().StringVar(server, "server", "", "only of this server, by name or id")
	c.Flags().IntVar(limit, "limit", most, "how many at most")
}

func (p *program) findTools(c *cobra.Command, q url.Values, domain, server string, limit int) error {
	a, err := p.api()
	if err != nil {
		return err
	}
	if server != "" {
		if server, err = named(c.Context(), a, "/v1/servers", "server", server); err != nil {
			return err
		}
		q.Set("server", server)
	}
	if domain != "" {
		q.Set("domain", domain)
	}
	q.Set("limit", fmt.Sprint(limit))
	var raw json.RawMessage
	if err := a.do(c.Context(), http.MethodGet, "/v1/tools?"+q.Encode(), nil, &raw); err != nil {
		return err
	}
	var found foundTools
	if err := json.Unmarshal(raw, &found); err != nil {
		return err
	}
	return p.print(raw, func() { p.toolTable(found) })
}

func (p *program) toolTable(found foundTools) {
	head := []string{"NAME", "SERVER", "DOMAIN", "WHAT IT DOES"}
	var rows [][]string
	for _, t := range found.Items {
		row := []string{t.Name, found.Servers[t.ServerID].Name, t.Domain, short(t.Description, 70)}
		if t.Score != nil {
			row = append([]string{fmt.Sprintf("%.2f", *t.Score)}, row...)
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 && len(rows[0]) > len(head) {
		head = append([]string{"SCORE"}, head...)
	}
	p.table("no tools", head, rows)
	for _, line := range []string{asCommands.Replace(found.Suggestion), found.Degraded} {
		if line != "" {
			fmt.Fprintln(p.stderr, line)
		}
	}
	if found.NextCursor != "" {
		fmt.Fprintln(p.stderr, "there are more: raise --limit")
	}
	if len(found.Items) > 0 {
		fmt.Fprintf(p.stderr, "next: %s tools show %s\n", os.Args[0], found.Items[0].Name)
	}
}

func (p *program) toolsShow() *cobra.Command {
	return &cobra.Command{Use: "show TOOL", Short: "Show a tool and its schema, by name or id", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		a, err := p.api()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := a.do(c.Context(), http.MethodGet, "/v1/tools/"+url.PathEscape(args[0]), nil, &raw); err != nil {
			return err
		}
		p.json = true
		return p.print(raw, nil)
	}}
}

func (p *program) toolsCall() *cobra.Command {
	var file string
	c := &cobra.Command{Use: "call TOOL [JSON | NAME=VALUE ...]", Short: "Run a tool and print what it answers",
		Long:    "Run a tool and print what it answers. The arguments are one JSON object, or NAME=VALUE\npairs, where a VALUE that is valid JSON is taken as such and any other as a string.\nEnds with status 1 when the tool reports an error.",
		Example: "  toolscout tools call echo message=hello\n  toolscout tools call get-sum '{\"a\": 1, \"b\": 2}'", Args: cobra.MinimumNArgs(1), RunE: func(c *cobra.Command, args []string) error {
			in, err := p.arguments(args[1:], file)
			if err != nil {
				return err
			}
			a, err := p.api()
			if err != nil {
				return err
			}
			var raw json.RawMessage
			body := map[string]json.RawMessage{"args": in}
			if err := a.do(c.Context(), http.MethodPost, "/v1/tools/"+url.PathEscape(args[0]), body, &raw); err != nil {
				return err
			}
			return p.result(raw)
		}}
	c.Flags().StringVar(&file, "args-file", "", "read the JSON object from this file; - is standard input")
	return c
}

func (p *program) arguments(args []string, file string) (json.RawMessage, error) {
	if file != "" {
		raw, err := p.readFile(file)
		if err == nil && !json.Valid(raw) {
			err = fmt.Errorf("%s is not valid JSON", file)
		}
		return raw, err
	}
	if len(args) == 1 && strings.HasPrefix(strings.TrimSpace(args[0]), "{") {
		if !json.Valid([]byte(args[0])) {
			return nil, fmt.Errorf("the arguments are not valid JSON: %s", args[0])
		}
		return json.RawMessage(args[0]), nil
	}
	in, err := pairs("argument", args)
	if err != nil {
		return nil, fmt.Errorf("%w, or one JSON object", err)
	}
	out := map[string]json.RawMessage{}
	for k, v := range in {
		out[k] = json.RawMessage(v)
		if !json.Valid(out[k]) {
			out[k], _ = json.Marshal(v)
		}
	}
	return json.Marshal(out)
}

// result prints a CallToolResult: its texts for a person, all of it as JSON.
func (p *program) result(raw json.RawMessage) error {
	var r struct {
		Content []struct{ Type, Text, MimeType, Data, URI string }
		IsError bool
		Meta    map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("the tool's answer is not a result: %w", err)
	}
	err := p.print(raw, func() {
		for _, b := range r.Content {
			if b.Type == "text" {
				fmt.Fprintln(p.stdout, b.Text)
				continue
			}
			fmt.Fprintf(p.stdout, "[%s %s %d bytes; --json prints it]\n", b.Type, b.MimeType+b.URI, len(b.Data))
		}
		if w := r.Meta["toolscout/warnings"]; len(w) > 0 && !bytes.Equal(w, []byte("[]")) {
			fmt.Fprintf(p.stderr, "warnings: %s\n", w)
		}
	})
	if err == nil && r.IsError {
		return errReported
	}
	return err
}
