package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks/script"
)

// effective is the hooks of one call, as the API answers them.
type effective struct {
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
		Example: "  toolscout hooks explain --user ann --tool gh_create_issue", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
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
			return p.print(raw, func() { p.explain(e, tool) })
		}}
	c.Flags().StringVar(&user, "user", "", "whose call, by name or id (default: yours)")
	c.Flags().StringVar(&tool, "tool", "", "of which tool, by name or id")
	c.Flags().StringVar(&agent, "agent", "", "through which agent")
	return c
}

func (p *program) explain(e effective, tool string) {
	fmt.Fprintln(p.stdout, "around the meta-tool (before: from the top; after: from the bottom)")
	p.chain(e.Outer)
	if tool != "" {
		fmt.Fprintf(p.stdout, "\naround the call of %s\n", tool)
		p.chain(e.Inner)
	}
	if len(e.Skipped) == 0 {
		return
	}
	fmt.Fprintln(p.stdout, "\nleft out")
	var rows [][]string
	for _, h := range e.Skipped {
		rows = append(rows, []string{h.Name, h.Type, h.Scope, h.where(), h.Why})
	}
	p.table("", []string{"NAME", "TYPE", "SCOPE", "FROM", "WHY"}, rows)
}

func (p *program) chain(hooks []hook) {
	var rows [][]string
	for _, h := range hooks {
		rows = append(rows, []string{h.Name, h.Type, h.Scope, fmt.Sprint(h.Priority), h.how(), h.OnError, h.where()})
	}
	p.table("no hooks", []string{"NAME", "TYPE", "SCOPE", "PRIORITY", "MODE", "ON ERROR", "FROM"}, rows)
}

// trial is what a hook made of a recorded call.
type trial struct {
	Before, After struct{ Args, Result json.RawMessage }
	Effects       []struct {
		Event, Did, Message string
		Notes               map[string]any
	}
	Warnings []string
	Events   []json.RawMessage
	Rejected *struct{ Kind, Message string }
	Failed   string
}

func (p *program) hooksTest() *cobra.Command {
	var config, call string
	c := &cobra.Command{Use: "test TYPE --config JSON --call JSON", Short: "Run one hook on a recorded call and show what it makes of it",
		Long: "Run one hook on a recorded call and show what it makes of it; nothing is called but what the\n" +
			"hook itself calls. Both flags take JSON or the name of a file that holds some. A call is\n" +
			`{"tool": {"name": …}, "args": {…}, "result": {"content": […]}}` + ", and may have level, server, user,\nroles, agent and isError as well. Ends with status 1 when the hook fails.",
		Example: "  toolscout hooks test toon_transform --call '{\"tool\": {\"name\": \"list\"}, \"args\": {}, \"result\": {\"content\": [{\"type\": \"text\", \"text\": \"[{\\\"a\\\":1},{\\\"a\\\":2}]\"}]}}' --config '{\"min_bytes\": 1}'",
		Args:    cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
			in := map[string]any{"type": args[0]}
			for name, text := range map[string]string{"config": config, "call": call} {
				if text == "" {
					continue
				}
				raw, err := p.jsonOrFile(text)
				if err != nil {
					return fmt.Errorf("--%s: %w", name, err)
				}
				in[name] = raw
			}
			a, err := p.api()
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := a.do(c.Context(), http.MethodPost, adminHooksPath+"/test", in, &raw); err != nil {
				return err
			}
			var t trial
			if err := json.Unmarshal(raw, &t); err != nil {
				return err
			}
			if err := p.print(raw, func() { p.trial(t) }); err != nil {
				return err
			}
			if t.Failed != "" {
				return errReported
			}
			return nil
		}}
	c.Flags().StringVar(&config, "config", "", "the type's configuration")
	c.Flags().StringVar(&call, "call", "", "the recorded call")
	_ = c.MarkFlagRequired("call") // fails only for a flag that does not exist
	return c
}

// jsonOrFile is JSON that is given as such, or by the name of its file.
func (p *program) jsonOrFile(text string) (json.RawMessage, error) {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		raw, err := p.readFile(text)
		if err != nil {
			return nil, err
		}
		text = string(raw)
	}
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("it is not valid JSON: %s", short(text, 80))
	}
	return json.RawMessage(text), nil
}

// trial shows what changed, and what did not in a word.
func (p *program) trial(t trial) {
	for _, half := range []struct {
		name          string
		before, after json.RawMessage
	}{{"arguments", t.Before.Args, t.After.Args}, {"result", t.Before.Result, t.After.Result}} {
		if string(half.before) == string(half.after) {
			fmt.Fprintf(p.stdout, "%s: unchanged\n", half.name)
			continue
		}
		fmt.Fprintf(p.stdout, "%s before: %s\n%s after:  %s\n", half.name, orNone(half.before), half.name, orNone(half.after))
	}
	for _, e := range t.Effects {
		var line strings.Builder
		line.WriteString(e.Event + ": " + e.Did)
		if e.Message != "" {
			line.WriteString(": " + e.Message)
		}
		for k, v := range e.Notes {
			fmt.Fprintf(&line, " %s=%v", k, v)
		}
		fmt.Fprintln(p.stdout, line.String())
	}
	for _, w := range t.Warnings {
		fmt.Fprintf(p.stdout, "warning: %s\n", w)
	}
	for _, e := range t.Events {
		fmt.Fprintf(p.stdout, "published: %s\n", e)
	}
	if t.Rejected != nil {
		fmt.Fprintf(p.stdout, "rejected (%s): %s\n", t.Rejected.Kind, t.Rejected.Message)
	}
	if t.Failed != "" {
		fmt.Fprintf(p.stdout, "failed: %s\n", t.Failed)
	}
}

func orNone(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "(none)"
	}
	return string(raw)
}

func (p *program) hooksCheck() *cobra.Command {
	return &cobra.Command{Use: "check FILE ...", Short: "Check that scripts compile; needs no server", Args: cobra.MinimumNArgs(1), RunE: func(c *cobra.Command, args []string) error {
		type finding struct {
			File  string `json:"file"`
			OK    bool   `json:"ok"`
			Error string `json:"error,omitempty"`
		}
		var found []finding
		failed := false
		for _, name := range args {
			f := finding{File: name, OK: true}
			source, err := p.readFile(name)
			if err == nil {
				err = script.Check(name, source)
			}
			if err != nil {
				f.OK, f.Error, failed = false, plain(err), true
			}
			found = append(found, f)
		}
		err := p.print(found, func() {
			for _, f := range found {
				if !f.OK {
					fmt.Fprintf(p.stderr, "%s\n", f.Error)
					continue
				}
				fmt.Fprintf(p.stdout, "%s: ok\n", f.File)
			}
		})
		if err == nil && failed {
			return errReported
		}
		return err
	}}
}

// plain is an error's message without its kind.
func plain(err error) string {
	var known *core.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return err.Error()
}
