package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
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
	err := a.do(ctx, http.MethodGet, "/v1/tools?"+url.Values{"query": {query}, "limit": {fmt.Sprint(k)}, "trial": {"true"}}.Encode(), nil, &raw)
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
				var tool liveTool
				if tool, why[name], err = a.tool(ctx, name); err != nil {
					return nil, err
				}
				ids[name] = tool.ID
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

// liveTool is a tool of the caller.
type liveTool struct{ ID, Name string }

// tool finds a tool of the caller by name or id, or says why there is not one.
func (a *api) tool(ctx context.Context, name string) (tool liveTool, why, err error) {
	err = a.do(ctx, http.MethodGet, "/v1/tools/"+url.PathEscape(name), nil, &tool)
	var refused *problem
	switch {
	case err == nil:
		return tool, nil, nil
	case errors.As(err, &refused) && (refused.Kind == core.NotFound || refused.Kind == core.Conflict || refused.Kind == core.Denied):
		return tool, fmt.Errorf("tool %q: %w", name, refused), nil
	}
	return tool, nil, err
}
