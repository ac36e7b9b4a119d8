package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/search/evaluate"
)

// draw draws questions from the audit: what was searched for, and then run, the latest
// first.
func (a *api) draw(ctx context.Context, since string, say func(string)) ([]evaluate.Query, error) {
	back, err := ago("since", since)
	if err != nil {
		return nil, err
	}
	filter := url.Values{"since": {time.Now().Add(-back).UTC().Format(time.RFC3339)}, "outcome": {"ok"}}
	asked, unknown, err := a.asked(ctx, filter)
	if err != nil {
		return nil, err
	}
	used, err := a.used(ctx, filter)
	if err != nil {
		return nil, err
	}
	drawn := evaluate.FromUsage(asked, used)
	say(fmt.Sprintf("the last %s: %s, of which %d with their words, and %s of tools; %s", since, count(len(asked), "search", "searches"),
		len(asked)-unknown, count(len(used), "call", "calls"), count(len(drawn), "question", "questions")))
	if len(asked) == unknown && unknown > 0 {
		return nil, a.withoutWords(ctx)
	}
	return drawn, nil
}

// questionsOfUsage draws questions from the audit. Those with tools that the caller does
// not have, or nobody has any more, are left out.
func (a *api) questionsOfUsage(ctx context.Context, f *evalFlags) ([]evaluate.Query, error) {
	drawn, err := a.draw(ctx, f.since, f.Progress)
	if errors.Is(err, errNoWords) {
		err = fmt.Errorf("%w\n  Or write questions down yourself, for --live", err)
	}
	if err != nil {
		return nil, err
	}
	questions, names, err := a.present(ctx, drawn)
	if err != nil {
		return nil, err
	}
	if gone := len(drawn) - len(questions); gone > 0 {
		f.Progress(fmt.Sprintf("%d of them are left out: you do not have their tools, or nobody has any more", gone))
	}
	if len(questions) == 0 {
		return nil, errors.New("nothing was searched for and then run: ask for more with --since, or write questions down for --live")
	}
	if f.save == "" {
		return questions, nil
	}
	if err := saveQuestions(f.save, questions, names); err != nil {
		return nil, err
	}
	f.Progress(fmt.Sprintf("%s: %s written, to look over and to use with --live", f.save, count(len(questions), "question", "questions")))
	return questions, nil
}

// errNoWords says how to have the audit keep what was searched for.
var errNoWords = errors.New(`the audit keeps of searches how long they were, not their words.
  To keep the words of searches, and nothing else that people write, put this into the configuration file and restart
  the server, or reload the file by SIGHUP:

    [hooks.keep_queries]
    type = "audit"
    level = "meta"
    pattern = "*_tools"
    values = true

  They may hold what people would not want to be read: tell them. Questions come from what is searched from then on`)

// withoutWords is errNoWords, with the hooks that keep words of other searches.
func (a *api) withoutWords(ctx context.Context) error {
	hooks, err := all[struct {
		Name, Type, Pattern string
		Enabled             bool
		Config              json.RawMessage
	}](ctx, a, adminHooksPath, nil, 0)
	if err != nil {
		return err
	}
	told := errNoWords
	for _, h := range hooks {
		var keep struct{ Values bool }
		if h.Type == "audit" && h.Enabled && json.Unmarshal(h.Config, &keep) == nil && keep.Values {
			told = fmt.Errorf("%w\n  There is the hook %s already, with the pattern %q: searches from before it was on have no words,\n"+
				"  nor have those it does not match; they are discover_tools (of models) and list_tools (of toolscout tools search)", told, h.Name, h.Pattern)
		}
	}
	return told
}

// shapeOnly is a text as the audit keeps it without values.
var shapeOnly = regexp.MustCompile(`^string\(\d+\)$`)

// asked are the searches that succeeded, and of how many the words were not kept, which
// are among them without.
func (a *api) asked(ctx context.Context, since url.Values) (list []evaluate.Asked, unknown int, err error) {
	for _, action := range []string{"discover_tools", "list_tools"} {
		since.Set("action", action)
		rows, err := all[core.AuditEntry](ctx, a, "/v1/admin/audit", since, 0)
		if err != nil {
			return nil, 0, err
		}
		for _, row := range rows {
			var details struct {
				Args struct {
					Query string
					Cut   int
					Trial json.RawMessage // or its shape
				}
			}
			// Arguments that are too long are kept as a text or cut, and so are no question.
			long := json.Unmarshal(row.Details, &details) != nil || details.Args.Cut > 0
			if details.Args.Trial != nil { // of eval --live
				continue
			}
			if !long && details.Args.Query == "" { // a list of all
				continue
			}
			if long || shapeOnly.MatchString(details.Args.Query) {
				unknown++
				details.Args.Query = ""
			}
			list = append(list, evaluate.Asked{Time: row.Time, Who: [2]string{row.ActorID, row.Agent}, Text: details.Args.Query})
		}
	}
	since.Del("action")
	return list, unknown, nil
}

func (a *api) used(ctx context.Context, since url.Values) ([]evaluate.Used, error) {
	rows, err := all[core.UsageEntry](ctx, a, "/v1/admin/usage", since, 0)
	if err != nil {
		return nil, err
	}
	list := make([]evaluate.Used, len(rows))
	for i, row := range rows {
		list[i] = evaluate.Used{Time: row.Time, Who: [2]string{row.ActorID, row.Agent}, ToolID: row.ToolID}
	}
	return list, nil
}

// present are the questions whose every tool the caller has, and the names of the tools.
func (a *api) present(ctx context.Context, questions []evaluate.Query) (kept []evaluate.Query, names map[string]string, err error) {
	names = map[string]string{} // "" for a tool that the caller does not have
	for _, q := range questions {
		whole := true
		for _, id := range q.Relevant {
			if _, asked := names[id]; !asked {
				tool, why, err := a.tool(ctx, id)
				if err != nil {
					return nil, nil, err
				}
				names[id] = ""
				if why == nil {
					names[id] = tool.Name
				}
			}
			whole = whole && names[id] != ""
		}
		if whole {
			kept = append(kept, q)
		}
	}
	return kept, names, nil
}

func saveQuestions(file string, questions []evaluate.Query, names map[string]string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, q := range questions {
		row := evaluate.Question{Query: q}
		for _, id := range q.Relevant {
			row.Tools = append(row.Tools, names[id])
		}
		if err := e.Encode(row); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o600) // they are what people asked
	if err != nil {
		return err
	}
	// One that was there already may be open to others.
	err = errors.Join(f.Chmod(0o600), f.Truncate(0))
	if err == nil {
		_, err = f.Write(b.Bytes())
	}
	return errors.Join(err, f.Close())
}
