package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/search/evaluate"
)

// tuneOnSets looks for the best weight on each set.
func (p *program) tuneOnSets(ctx context.Context, store *postgres.Store, f *evalFlags) error {
	rig, err := f.Search.Rig(ctx, store, f.Progress)
	if err != nil {
		return err
	}
	for _, set := range f.Sets {
		t, err := rig.TuneOn(ctx, set)
		if err != nil {
			return err
		}
		if err := p.printTuning(t); err != nil {
			return err
		}
	}
	return nil
}

// tuneLive looks for the best weight on questions to the running server, and stores
// it if it is better and that is wanted.
func (p *program) tuneLive(ctx context.Context, a *api, set evaluate.Set, f *evalFlags) error {
	model, err := activeModel(ctx, a)
	if err != nil {
		return err
	}
	t, err := evaluate.Tune(ctx, set, f.Progress, a.tryWeight)
	if err != nil {
		return err
	}
	t.Model = model.Provider + "/" + model.Name
	if f.apply && t.Better() {
		path := fmt.Sprintf("%s/%d", modelsPath, model.ID)
		if err := a.do(ctx, http.MethodPatch, path, map[string]float64{"weight": t.Best}, nil); err != nil {
			return fmt.Errorf("store the weight: %w", err)
		}
		t.Applied = true
	}
	if err := p.printTuning(t); err != nil {
		return err
	}
	if adapted(model) {
		f.Progress(fmt.Sprintf("Note: %s was adapted at %s. It may have learned from questions of before, and then the gain is not what to expect of others: tune on later ones.",
			t.Model, day(&model.CreatedAt)))
	}
	return nil
}

// adapted reports whether a model is the built-in one as train made it.
func adapted(m core.Model) bool { return m.Provider == "builtin" && strings.Contains(m.Name, "+") }

const modelsPath = "/v1/admin/embeddings/models"

func activeModel(ctx context.Context, a *api) (core.Model, error) {
	models, err := all[core.Model](ctx, a, modelsPath, nil, 0)
	if err != nil {
		return core.Model{}, err
	}
	i := slices.IndexFunc(models, func(m core.Model) bool { return m.Active })
	if i < 0 {
		return core.Model{}, errors.New("no embedding model is active yet: see toolscout index status")
	}
	return models[i], nil
}

// tryWeight asks a question among the tools of every active server.
func (a *api) tryWeight(ctx context.Context, q evaluate.Query, weight float64) ([]string, error) {
	var found struct {
		Items    []struct{ ID string }
		Degraded string
	}
	trial := map[string]any{"query": q.Text, "weight": weight}
	if err := a.do(ctx, http.MethodPost, "/v1/admin/embeddings/search", trial, &found); err != nil {
		return nil, err
	}
	if found.Degraded != "" {
		return nil, fmt.Errorf("it was answered without %s: tuning needs both halves of the search", found.Degraded)
	}
	ids := make([]string, len(found.Items))
	for i, item := range found.Items {
		ids[i] = item.ID
	}
	return ids, nil
}

func (p *program) printTuning(t evaluate.Tuning) error {
	if p.json {
		return json.NewEncoder(p.stdout).Encode(t)
	}
	w := p.stdout
	fmt.Fprintf(w, "%s with %s, %d questions\n\n  weight  NDCG@10\n", t.Set, t.Model, t.Questions)
	for _, x := range t.Tried {
		mark := ""
		if x.Weight == t.Best {
			mark = "  best: by the mean with its neighbours, since a peak that stands alone is chance"
		}
		fmt.Fprintf(w, "    %.2f   %.4f%s\n", x.Weight, x.NDCG10, mark)
	}
	fmt.Fprintf(w, "\n  as it is                            %.4f\n", t.Now)
	fmt.Fprintf(w, "  with weights found on the others    %.4f  (%+.4f, p = %.4f)\n\n", t.HeldOut, t.Gain, t.P)
	switch {
	case t.Applied:
		fmt.Fprintf(w, "Stored: from now on meaning counts %.2f and words %.2f.\n", t.Best, 1-t.Best)
	case t.Better():
		fmt.Fprintf(w, "A weight of %.2f is better by more than chance (--apply stores it, on a running server).\n", t.Best)
	default:
		fmt.Fprintln(w, "No other weight is better by more than chance: nothing is changed.")
	}
	return nil
}
