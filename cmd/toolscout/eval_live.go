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
	"slices"
	"strconv"
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
	ids, why := map[string]string{}, map[string]*problem{}
	told := time.Now()
	var list []evaluate.Query
	var bad []error
	var hints []string // each once, however many lines have it
	for i, q := range questions {
		for _, ref := range q.Names() {
			name := q.NameOf(ref)
			if ids[ref] == "" && why[ref] == nil {
				var tool liveTool
				if tool, why[ref], err = a.toolOr(ctx, ref, name); err != nil {
					return nil, err
				}
				ids[ref] = tool.ID
			}
			if why[ref] != nil {
				refused := *why[ref]
				if refused.Hint != "" && !slices.Contains(hints, refused.Hint) {
					hints = append(hints, refused.Hint)
				}
				refused.Hint = ""
				bad = append(bad, fmt.Errorf("%s:%d: tool %s: %w", file, q.Line, called(ref, name), &refused))
			}
		}
		list = append(list, q.Renamed(ids))
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			say(fmt.Sprintf("tools of %d of %d questions looked up", i+1, len(questions)))
		}
	}
	for _, hint := range hints {
		bad = append(bad, errors.New("  "+asCommands.Replace(hint)))
	}
	return list, errors.Join(bad...)
}

// called is a tool as people know it.
func called(ref, name string) string {
	if name == "" {
		return strconv.Quote(ref)
	}
	return fmt.Sprintf("%q (%s)", name, ref)
}

// liveTool is a tool of the caller.
type liveTool struct{ ID, Name string }

// toolOr finds a tool by ref and, where there is none, by the name that it had, if that
// is known: the tools of a server that was registered again have other ids.
func (a *api) toolOr(ctx context.Context, ref, name string) (tool liveTool, why *problem, err error) {
	tool, why, err = a.tool(ctx, ref)
	if why != nil && why.Kind == core.NotFound && name != "" {
		return a.tool(ctx, name)
	}
	return tool, why, err
}

// tool finds a tool of the caller by name or id, or says why there is not one.
func (a *api) tool(ctx context.Context, name string) (tool liveTool, why *problem, err error) {
	err = a.do(ctx, http.MethodGet, "/v1/tools/"+url.PathEscape(name), nil, &tool)
	if errors.As(err, &why) && (why.Kind == core.NotFound || why.Kind == core.Conflict || why.Kind == core.Denied) {
		return tool, why, nil
	}
	return tool, nil, err
}
