package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/search/evaluate"
)

// evalLive measures, or tunes on, questions to the running server.
func (p *program) evalLive(ctx context.Context, f *evalFlags) error {
	a, err := p.api()
	if err != nil {
		return err
	}
	var earlier *evaluate.RunFile
	if f.Against != "" {
		if earlier, err = evaluate.ReadRun(f.Against); err != nil {
			return err
		}
	}
	set := evaluate.Set{Name: filepath.Base(f.live)}
	if f.usage {
		set.Name = "usage"
		set.Queries, err = a.questionsOfUsage(ctx, f)
	} else {
		set.Queries, err = a.questionsOfFile(ctx, f.live, f.Progress)
	}
	if err != nil {
		return err
	}
	if f.tune {
		return p.tuneLive(ctx, a, set, f)
	}
	if earlier != nil {
		if err := earlier.Covers(set); err != nil {
			return err
		}
	}
	results, err := a.measure(ctx, set, f, earlier)
	if err != nil {
		return err
	}
	if err := evaluate.Report(p.stdout, results, p.json); err != nil {
		return err
	}
	if f.RunFile == "" {
		return nil
	}
	return evaluate.WriteRun(f.RunFile, []evaluate.Set{set}, results)
}

func (a *api) measure(ctx context.Context, set evaluate.Set, f *evalFlags, earlier *evaluate.RunFile) ([]evaluate.Result, error) {
	degraded := 0
	result, err := evaluate.Ask(ctx, set, f.Progress, func(ctx context.Context, q evaluate.Query) (evaluate.Finding, error) {
		found, without, err := a.find(ctx, q.Text, f.K)
		if without != "" {
			degraded++
		}
		return found, err
	})
	if err != nil {
		return nil, err
	}
	if degraded > 0 {
		f.Progress(fmt.Sprintf("%d of %d questions were answered with one half of the search missing", degraded, len(set.Queries)))
	}
	if earlier != nil {
		if result.Against, err = earlier.Compare(set, result); err != nil {
			return nil, err
		}
	}
	return []evaluate.Result{result}, nil
}

// find asks as the caller, and says which half of the search was missing.
func (a *api) find(ctx context.Context, query string, k int) (evaluate.Finding, string, error) {
	var raw json.RawMessage
	start := time.Now()
	err := a.do(ctx, http.MethodGet, "/v1/tools?"+url.Values{"query": {query}, "limit": {fmt.Sprint(k)}}.Encode(), nil, &raw)
	took := time.Since(start)
	if err != nil {
		return evaluate.Finding{}, "", err
	}
	var found foundTools
	var answer bytes.Buffer
	if err := errors.Join(json.Unmarshal(raw, &found), json.Compact(&answer, raw)); err != nil {
		return evaluate.Finding{}, "", fmt.Errorf("%s does not answer as Toolscout does: is TOOLSCOUT_URL right? (%w)", a.base, err)
	}
	f := evaluate.NewFinding(answer.Bytes(), took)
	for _, t := range found.Items {
		f.IDs = append(f.IDs, t.ID)
	}
	return f, found.Degraded, nil
}

// questionsOfFile reads questions and looks up the tools that they name. An error
// names each line with one that the caller does not have.
func (a *api) questionsOfFile(ctx context.Context, file string, say func(string)) ([]evaluate.Query, error) {
	questions, err := evaluate.LoadQuestions(file)
	if err != nil {
		return nil, err
	}
	ids, why := map[string]string{}, map[string]error{}
	told := time.Now()
	var list []evaluate.Query
	var bad []error
	for i, q := range questions {
		for _, name := range q.Names() {
			if ids[name] == "" && why[name] == nil {
				if ids[name], why[name], err = a.toolID(ctx, name); err != nil {
					return nil, err
				}
			}
			if why[name] != nil {
				bad = append(bad, fmt.Errorf("%s:%d: %w", file, q.Line, why[name]))
			}
		}
		list = append(list, q.Renamed(ids))
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			say(fmt.Sprintf("tools of %d of %d questions looked up", i+1, len(questions)))
		}
	}
	return list, errors.Join(bad...)
}

// toolID finds a tool of the caller by name or id, or says why there is not one.
func (a *api) toolID(ctx context.Context, name string) (id string, why, err error) {
	var tool struct{ ID string }
	err = a.do(ctx, http.MethodGet, "/v1/tools/"+url.PathEscape(name), nil, &tool)
	var refused *problem
	switch {
	case err == nil:
		return tool.ID, nil, nil
	case errors.As(err, &refused) && (refused.Kind == core.NotFound || refused.Kind == core.Conflict || refused.Kind == core.Denied):
		return "", fmt.Errorf("tool %q: %w", name, refused), nil
	}
	return "", nil, err
}

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
	say(fmt.Sprintf("the last %s: %d searches, of which %d with their words, and %d calls of tools; %d questions",
		since, len(asked), len(asked)-unknown, len(used), len(drawn)))
	if len(asked) == unknown && unknown > 0 {
		return nil, errors.New(howToKeepQueries)
	}
	return drawn, nil
}

// questionsOfUsage draws questions from the audit. Those with tools that the caller does
// not have, or nobody has any more, are left out.
func (a *api) questionsOfUsage(ctx context.Context, f *evalFlags) ([]evaluate.Query, error) {
	drawn, err := a.draw(ctx, f.since, f.Progress)
	if err != nil {
		return nil, err
	}
	questions, gone, err := a.present(ctx, drawn)
	if err != nil {
		return nil, err
	}
	if gone > 0 {
		f.Progress(fmt.Sprintf("%d of them are left out: you do not have their tools, or nobody has any more", gone))
	}
	if len(questions) == 0 {
		return nil, errors.New("nothing was searched for and then run: ask for more with --since, or write questions down for --live")
	}
	if f.save != "" {
		return questions, saveQuestions(f.save, questions)
	}
	return questions, nil
}

const howToKeepQueries = `the audit keeps of searches how long they were, not their words.
  To keep the words of searches, and of nothing else, put this into the configuration file:

    [hooks.keep_queries]
    type = "audit"
    level = "meta"
    pattern = "discover_tools"
    values = true

  They may hold what people would not want to be read: tell them. Questions come from what is searched from then on.
  Or write questions down yourself, for --live`

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
			var details struct{ Args struct{ Query string } }
			// Arguments that are too long are kept as a text, and so are no question.
			long := json.Unmarshal(row.Details, &details) != nil
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

// present are the questions whose every tool the caller has, and how many are not.
func (a *api) present(ctx context.Context, questions []evaluate.Query) (kept []evaluate.Query, gone int, err error) {
	here := map[string]bool{}
	for _, q := range questions {
		whole := true
		for _, id := range q.Relevant {
			known, asked := here[id]
			if !asked {
				_, why, err := a.toolID(ctx, id)
				if err != nil {
					return nil, 0, err
				}
				known = why == nil
				here[id] = known
			}
			whole = whole && known
		}
		if whole {
			kept = append(kept, q)
		}
	}
	return kept, len(questions) - len(kept), nil
}

func saveQuestions(file string, questions []evaluate.Query) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, q := range questions {
		if err := e.Encode(q); err != nil {
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
