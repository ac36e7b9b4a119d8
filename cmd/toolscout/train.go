package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/search/evaluate"
	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/embeddings/builtin"
)

// trainFlags are the flags of train.
type trainFlags struct {
	catalog, usage, dryRun, revert bool
	since                          string
	holdOut                        float64
	seed                           uint64
}

const aboutTrain = `Adapt the built-in embedding model to the catalog of the running server, and search with it
if that finds better (admins only).

It learns from what the tools of every active server say about themselves and, with --usage,
from what was searched for and then run. A part is held out: with --usage the latest questions,
else servers (tools, where there are few servers), of which each tool is asked for by the first
sentence of its description and found by the rest. The model that is in use and the adapted one
search for that in a throw-away database on this machine. Only if the adapted one finds more by
NDCG@10, and that is no chance (p < 0.05), it learns from all and is sent to the server, whose
instances search as before until they have made its vectors. The one before is kept: --revert
goes back.

--usage reads the audit: what people typed into searches. It keeps their words only where it was
told to (see toolscout eval --from-usage). The model then holds words that occurred twice, which
may be names, and a vector for each; not in which question they stood, nor whose it was.`

func (p *program) train() *cobra.Command {
	f := &trainFlags{}
	c := &cobra.Command{
		Use:   "train (--from-catalog | --revert)",
		Short: "Adapt the built-in model to your catalog, if that finds better",
		Long:  aboutTrain,
		Example: `  toolscout train --from-catalog --dry-run
  toolscout train --from-catalog --usage --since 90d
  toolscout train --revert`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			a, err := p.api()
			if err != nil {
				return err
			}
			if f.revert {
				return p.revertTable(c.Context(), a)
			}
			return p.trainOnCatalog(c.Context(), a, f)
		},
	}
	s := c.Flags()
	s.BoolVar(&f.catalog, "from-catalog", false, "learn from the tools of every active server")
	s.BoolVar(&f.usage, "usage", false, "learn from what was searched for and then run, too")
	s.StringVar(&f.since, "since", "", "with --usage, how far back, as in 30d or 12h (default 90d)")
	s.Float64Var(&f.holdOut, "holdout", .2, "the share that is held out to measure on")
	s.Uint64Var(&f.seed, "seed", 1, "what all chance is drawn from: the same seed makes the same model")
	s.BoolVar(&f.dryRun, "dry-run", false, "measure, and leave the server as it is")
	s.BoolVar(&f.revert, "revert", false, "go back to the model before")
	p.variable(s, "url", "TOOLSCOUT_URL")
	return c
}

func (f *trainFlags) check() error {
	switch {
	case !f.catalog && !f.revert && f.usage:
		return errors.New("--usage goes with --from-catalog")
	case f.catalog == f.revert:
		return errors.New("say --from-catalog or --revert")
	case f.revert && (f.usage || f.dryRun):
		return errors.New("--revert goes alone")
	case f.since != "" && !f.usage:
		return errors.New("--since goes with --usage")
	case !(f.holdOut > 0 && f.holdOut < 1):
		return fmt.Errorf("--holdout %g: want a share above 0 and below 1", f.holdOut)
	}
	f.since = cmp.Or(f.since, "90d")
	_, err := ago("since", f.since)
	return err
}

func (p *program) trainOnCatalog(ctx context.Context, a *api, f *trainFlags) error {
	found, table, err := p.adapt(ctx, a, f)
	if ctx.Err() != nil { // whatever failed did so for that
		return errors.New("stopped: nothing is changed")
	}
	if err != nil {
		return err
	}
	if table != nil {
		to, err := p.switchTo(ctx, a, found, table)
		if err != nil {
			return err
		}
		found.Switched, found.To = true, to.Provider+"/"+to.Name
	}
	return p.print(found, func() { p.printAdaptation(found) })
}

// adapt makes a table on this machine, and leaves the server as it is. There is none
// where it is not to be used.
func (p *program) adapt(ctx context.Context, a *api, f *trainFlags) (found evaluate.Adaptation, table []byte, err error) {
	model, err := activeModel(ctx, a)
	if err != nil {
		return found, nil, err
	}
	start := time.Now()
	say := func(line string) { fmt.Fprintf(p.stderr, "%6.1f s  %s\n", time.Since(start).Seconds(), line) }
	if adapted(model) {
		say(fmt.Sprintf("%s/%s was adapted at %s and may have learned from what is held out now: the comparison leans towards it", model.Provider, model.Name, day(&model.CreatedAt)))
	}
	m := evaluate.Material{HoldOut: f.holdOut, Seed: f.seed, Weight: model.Weight, MeasureOnly: f.dryRun, Progress: say}
	if m.Now, err = a.tableInUse(ctx, model); err != nil {
		return found, nil, err
	}
	if m.Tools, m.About, err = a.catalogTools(ctx); err != nil {
		return found, nil, err
	}
	say(count(len(m.Tools), "tool", "tools") + " of " + count(len(m.About), "server", "servers"))
	if f.usage {
		if m.Usage, err = a.usageOf(ctx, m.Tools, f.since, say); err != nil {
			return found, nil, err
		}
	}
	if err := m.Check(); err != nil { // before a database is made
		return found, nil, errors.New(explain(err))
	}
	err = p.inThrowAway(ctx, func(store *postgres.Store) error {
		found, table, err = evaluate.Adapt(ctx, store, m)
		return err
	})
	return found, table, err
}

// tableInUse is the model that the server searches with, which has to be the built-in
// one, as it is in this program or adapted from that or an earlier one.
func (a *api) tableInUse(ctx context.Context, m core.Model) (embeddings.Embedder, error) {
	name := m.Provider + "/" + m.Name
	switch {
	case m.Provider != "builtin":
		return nil, fmt.Errorf("search uses %s: only the built-in model can be adapted", name)
	case name == builtin.Name:
		return builtin.New()
	case !adapted(m):
		return nil, fmt.Errorf("the server's model is %s, that of this program %s: use the program of the server's version", name, builtin.Name)
	}
	var stored struct{ Table []byte }
	if err := a.do(ctx, http.MethodGet, tablePath, nil, &stored); err != nil {
		return nil, fmt.Errorf("read the model that is in use: %w", err)
	}
	table, err := builtin.Parse(string(stored.Table))
	if err != nil {
		return nil, fmt.Errorf("read the model that is in use: %w", err)
	}
	return table.Named(name), nil
}

const tablePath = "/v1/admin/embeddings/table"

// catalogTools reads the tools of every active server, and what the servers are for.
func (a *api) catalogTools(ctx context.Context) ([]evaluate.Tool, map[string]string, error) {
	type row struct {
		ID, Name, Title, Description  string
		InputSchema                   json.RawMessage
		ServerName, ServerDescription string
	}
	rows, err := all[row](ctx, a, "/v1/admin/embeddings/tools", nil, 0)
	if err != nil {
		return nil, nil, err
	}
	tools, about := make([]evaluate.Tool, len(rows)), map[string]string{}
	for i, t := range rows {
		tools[i] = evaluate.Tool{ID: t.ID, Name: t.Name, Description: t.Description, InputSchema: t.InputSchema, Server: t.ServerName}
		about[t.ServerName] = t.ServerDescription
	}
	return tools, about, nil
}

// usageOf draws questions from the audit. Those whose tools are gone are left out.
func (a *api) usageOf(ctx context.Context, tools []evaluate.Tool, since string, say func(string)) ([]evaluate.Query, error) {
	drawn, err := a.draw(ctx, since, say)
	if err != nil {
		return nil, err
	}
	here := make(map[string]bool, len(tools))
	for _, t := range tools {
		here[t.ID] = true
	}
	kept := slices.DeleteFunc(drawn, func(q evaluate.Query) bool {
		return slices.ContainsFunc(q.Relevant, func(id string) bool { return !here[id] })
	})
	if len(kept) == 0 {
		return nil, errors.New("nothing was searched for and then run: go further back with --since, or leave out --usage")
	}
	return kept, nil
}

// switchTo sends the table, and waits until it is searched with.
func (p *program) switchTo(ctx context.Context, a *api, found evaluate.Adaptation, table []byte) (core.Model, error) {
	var model core.Model
	err := a.do(ctx, http.MethodPost, tablePath, map[string]any{"base": builtin.Name, "table": table,
		"questions": found.Questions, "gain": found.Main().Gain, "p": found.Main().P}, &model)
	if err != nil {
		return model, fmt.Errorf("send the adapted model: %w", err)
	}
	return p.untilActive(ctx, a, model.Provider+"/"+model.Name)
}

// revertTable goes back to the model before, and waits until it is searched with.
func (p *program) revertTable(ctx context.Context, a *api) error {
	if err := a.do(ctx, http.MethodDelete, tablePath, nil, nil); err != nil {
		return err
	}
	var s core.IndexStatus
	if err := a.do(ctx, http.MethodGet, indexPath, nil, &s); err != nil {
		return err
	}
	model, err := p.untilActive(ctx, a, s.Chosen)
	if err != nil {
		return err
	}
	return p.print(model, func() { fmt.Fprintf(p.stdout, "Search uses %s/%s again.\n", model.Provider, model.Name) })
}

// untilActive shows how indexing comes along until the model of this name is active.
// Conflict when another one was chosen meanwhile: then it never might be.
func (p *program) untilActive(ctx context.Context, a *api, name string) (core.Model, error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		model, err := activeModel(ctx, a)
		if err != nil || model.Provider+"/"+model.Name == name {
			return model, err
		}
		var s core.IndexStatus
		if err := a.do(ctx, http.MethodGet, indexPath, nil, &s); err != nil {
			return model, err
		}
		if s.Chosen != name {
			return model, core.Errorf(core.Conflict, "search was to use %s, and meanwhile somebody else had it use %s", name, s.Chosen).
				WithHint("toolscout audit says who")
		}
		if line := indexLine(s); line != last {
			fmt.Fprintln(p.stderr, line)
			last = line
		}
		select {
		case <-ctx.Done():
			return model, fmt.Errorf("the switch goes on in the server (toolscout train --revert takes it back): %w", ctx.Err())
		case <-tick.C:
		}
	}
}

func (p *program) printAdaptation(a evaluate.Adaptation) {
	w := p.stdout
	fmt.Fprintf(w, "%s, %d tools", a.From, a.Tools)
	if a.HeldOut == "usage" {
		fmt.Fprintf(w, ", %d questions of usage learned from", a.Learned)
	}
	fmt.Fprintf(w, "\nmeasured on %d questions of %s held out\n\n           before   adapted\n", a.Questions, a.HeldOut)
	for i, values := range [][2]float64{{a.Before.R5, a.After.R5}, {a.Before.NDCG5, a.After.NDCG5}, {a.Before.NDCG10, a.After.NDCG10}} {
		d := a.Metrics[i]
		fmt.Fprintf(w, "  %-7s  %.4f   %.4f   %+.4f  p = %.4f\n", d.Metric, values[0], values[1], d.Gain, d.P)
	}
	switch {
	case a.Switched:
		fmt.Fprintf(w, "\nBetter by more than chance: search uses %s now (toolscout train --revert goes back).\n", a.To)
	case a.Better():
		fmt.Fprintln(w, "\nBetter by more than chance. It was a dry run: nothing is changed.")
	default:
		fmt.Fprintln(w, "\nNot better by more than chance: nothing is changed.")
	}
}
