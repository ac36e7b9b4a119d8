package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// trial is what a hook made of a recorded call.
type trial struct {
	Before, After struct{ Args, Result json.RawMessage }
	Effects       []struct {
		Event, Did, Message string
		Notes               map[string]json.RawMessage
	}
	Warnings []string
	Events   []json.RawMessage
	Rejected *struct{ Kind, Message string }
	Failed   string
}

func (p *program) hooksTest() *cobra.Command {
	var config, call string
	c := &cobra.Command{Use: "test TYPE --call JSON", Short: "Run one hook on a recorded call and show what it makes of it",
		Long: "Run one hook on a recorded call and show what it makes of it; nothing is called but what the\n" +
			"hook itself calls. Both flags take JSON or the name of a file that holds some (- is standard\n" +
			"input). A call is\n" +
			`{"tool": {"name": …}, "args": {…}, "result": {"content": […]}}` + ", and may have level, server, user,\n" +
			"roles, agent, isError and error as well. Ends with status 1 when the hook fails.",
		Example: "  toolscout hooks test response_truncation --call call.json --config '{\"max_tokens\": 1000}'\n" +
			`  toolscout hooks test param_sanitizer --call '{"args": {"limit": 5000}}' --config '{"rules": [{"do": "clamp", "pointer": "/limit", "max": 100}]}'`,
		Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
			in := map[string]any{"type": args[0]}
			if !c.Flags().Changed("call") {
				return errors.New("--call is missing: the call to try the hook on (see toolscout hooks test --help)")
			}
			for name, text := range map[string]string{"config": config, "call": call} {
				if !c.Flags().Changed(name) {
					continue
				}
				raw, err := p.objectOrFile("--"+name, text)
				if err != nil {
					return err
				}
				in[name] = raw
			}
			return p.tryHook(c, in)
		}}
	c.Flags().StringVar(&config, "config", "", "the type's configuration")
	c.Flags().StringVar(&call, "call", "", "the recorded call (required)")
	return c
}

func (p *program) tryHook(c *cobra.Command, in map[string]any) error {
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
}

// objectOrFile is a JSON object that is given as such, or by the name of its file.
// what is what to call it.
func (p *program) objectOrFile(what, text string) (json.RawMessage, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("%s is empty: want a JSON object, or the name of a file that holds one", what)
	}
	where := what
	if !strings.ContainsAny(text[:1], "{[\"' \t\r\n") {
		raw, err := p.readFile(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		text, where = string(raw), what+": "+text
	}
	raw := []byte(text)
	var value any
	err := json.Unmarshal(raw, &value)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		before := raw[:max(syntax.Offset-1, 0)]
		return nil, fmt.Errorf("%s: line %d, column %d: not valid JSON: %v", where, 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'), err)
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, fmt.Errorf("%s: want a JSON object, as in {\"name\": 1}", where)
	}
	return raw, nil
}

// trial shows what changed, and what did not in a word.
func (p *program) trial(t trial) {
	for _, half := range []struct {
		name          string
		before, after json.RawMessage
	}{{"arguments", t.Before.Args, t.After.Args}, {"result", t.Before.Result, t.After.Result}} {
		switch {
		case string(half.before) == string(half.after):
			fmt.Fprintf(p.stdout, "%s: unchanged\n", half.name)
		case len(half.after) == 0:
			fmt.Fprintf(p.stdout, "%s: none, since the hook ended the call\n", half.name)
		default:
			fmt.Fprintf(p.stdout, "%s before: %s\n%s after:  %s\n", half.name, oneLine(half.before), half.name, oneLine(half.after))
		}
	}
	for _, e := range t.Effects {
		var line strings.Builder
		line.WriteString(e.Event + ": " + e.Did)
		for _, k := range slices.Sorted(maps.Keys(e.Notes)) {
			line.WriteString("; " + k + ": " + words(e.Notes[k]))
		}
		fmt.Fprintln(p.stdout, short(line.String(), longest))
	}
	for _, w := range t.Warnings {
		fmt.Fprintf(p.stdout, "warning: %s\n", short(w, longest))
	}
	for _, e := range t.Events {
		fmt.Fprintf(p.stdout, "published: %s\n", oneLine(e))
	}
	if t.Rejected != nil {
		fmt.Fprintf(p.stdout, "rejected (%s): %s\n", t.Rejected.Kind, short(t.Rejected.Message, longest))
	}
	if t.Failed != "" {
		fmt.Fprintf(p.stdout, "failed: %s\n", short(t.Failed, longest))
	}
}

// longest is how much of a hook's own words is shown.
const longest = 4000

// oneLine is JSON without line breaks.
func oneLine(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "(none)"
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		b.Write(raw)
	}
	return visible(b.String())
}

// words is a text in JSON as it reads, and any other value as it is.
func words(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}
