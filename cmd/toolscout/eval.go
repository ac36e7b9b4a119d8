package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/search/evaluate"
)

// evalFlags are the flags of eval.
type evalFlags struct {
	evaluate.Options
	dir                   string
	least                 []string
	config, againstConfig string
	live, since, save     string
	usage, tune, apply    bool
}

const aboutEval = `Measure how well search finds, on questions whose answers are known.

On sets: a SET is a folder with tools.jsonl ({id, name, description, input_schema?, server?})
and queries.jsonl ({id, query, relevant[], groups?}; a group is one need that any of its tools
meets). Each is registered in a throw-away database and asked of discover_tools. Without any
set, a small one is made up. No server is needed.

On your own catalog: --live takes a file with a question a line, {"query": "...", "relevant":
["tool name or id", ...]}, and asks the running server as you; --from-usage draws questions
from its audit: what was searched for, and then run (admins only).

--tune looks for the share of meaning against words that does best on the questions, and says
whether it would also on others. --apply stores it for the model that is active.

R@k is the share of the needed tools among the first k, MRR the mean of 1 / the first one's
rank, NDCG@k counts all of them by rank, C@5 is the share of questions with every needed tool
among the first five; tokens are what an answer costs a language model, about. p is how likely
a difference is by chance (paired randomisation test): below 0.05 it is hardly that.`

func (p *program) eval() *cobra.Command {
	f := &evalFlags{}
	c := &cobra.Command{
		Use:   "eval [SET ...]",
		Short: "Measure how well search finds, on labelled questions",
		Long:  aboutEval,
		Example: `  toolscout eval ./my-questions --run-file before.jsonl
  toolscout eval ./my-questions --config openai.toml --against before.jsonl
  toolscout eval --live questions.jsonl
  toolscout eval --from-usage --since 30d --save questions.jsonl
  toolscout eval --live questions.jsonl --tune --apply`,
		RunE: func(c *cobra.Command, args []string) error {
			f.JSON = p.json
			f.Progress = func(line string) { fmt.Fprintln(p.stderr, line) }
			if err := f.check(args); err != nil {
				return err
			}
			if err := errors.Join(canWrite("run-file", f.RunFile), canWrite("save", f.save)); err != nil {
				return err
			}
			err := p.evaluate(c.Context(), f, args)
			if c.Context().Err() != nil {
				return errors.New("interrupted") // whatever failed did so for that
			}
			return err
		},
	}
	f.register(p, c)
	return c
}

func (f *evalFlags) register(p *program, c *cobra.Command) {
	s := c.Flags()
	s.StringVar(&f.dir, "dir", "", "measure every set in this folder")
	s.StringVar(&f.RunFile, "run-file", "", "write the ranked ids of each query to this file")
	s.StringVar(&f.Against, "against", "", "compare with an earlier run, by its run file")
	s.IntVar(&f.K, "k", 10, fmt.Sprintf("how many tools to ask for, %d to %d", evaluate.MinK, evaluate.MaxK))
	s.Float64Var(&f.Search.Weight, "weight", 0, "the share of meaning against words, above 0 and below 1 (default 0, which is the usual one)")
	s.StringVar(&f.config, "config", "", "search with the [embeddings] of this file")
	s.StringVar(&f.againstConfig, "against-config", "", "compare with a search with the [embeddings] of this file")
	s.StringArrayVar(&f.least, "min", nil, "SET=NDCG@10: fail below this (may be repeated)")
	s.StringVar(&f.Figures, "figures", "", "fail where a set is worse than this file says, by more than chance")
	s.BoolVar(&f.Keep, "keep", false, "write what comes out to --figures instead")
	s.StringVar(&f.live, "live", "", "ask the running server the questions of this file")
	s.BoolVar(&f.usage, "from-usage", false, "ask the running server what was asked and then run")
	s.StringVar(&f.since, "since", "", "with --from-usage, how far back, as in 7d or 12h (default 30d)")
	s.StringVar(&f.save, "save", "", "with --from-usage, write the questions to this file")
	s.BoolVar(&f.tune, "tune", false, "find the best share of meaning against words")
	s.BoolVar(&f.apply, "apply", false, "with --tune on a running server, store it if it is better")
	p.variable(s, "url", "TOOLSCOUT_URL")
}

func (p *program) evaluate(ctx context.Context, f *evalFlags, sets []string) error {
	if f.live != "" || f.usage {
		return p.evalLive(ctx, f)
	}
	return p.evalSets(ctx, f, sets)
}

// check refuses flags that do not go together.
func (f *evalFlags) check(sets []string) (err error) {
	f.Minimum, err = minima(f.least)
	running := f.live != "" || f.usage
	switch {
	case err != nil:
		return err
	case f.live != "" && f.usage:
		return errors.New("--live and --from-usage: one at a time")
	case running && (len(sets) > 0 || f.dir != "" || f.config != "" || f.againstConfig != "" || f.Figures != "" ||
		f.Search.Weight != 0 || len(f.least) > 0):
		return errors.New("--live and --from-usage ask the running server: they take no sets, --dir, --config, --against-config, --weight, --min or --figures")
	case f.apply && !(f.tune && running):
		return errors.New("--apply goes with --tune and --live or --from-usage")
	case f.save != "" && !f.usage:
		return errors.New("--save goes with --from-usage")
	case f.since != "" && !f.usage:
		return errors.New("--since goes with --from-usage")
	case f.tune && (f.Against != "" || f.againstConfig != "" || f.RunFile != "" || f.Figures != "" || f.Search.Weight != 0 || len(f.least) > 0):
		return errors.New("--tune tries every weight on the questions: it takes no --against, --against-config, --run-file, --figures, --min or --weight")
	case f.Against != "" && f.againstConfig != "":
		return errors.New("--against and --against-config: one at a time")
	case f.Keep && f.Figures == "":
		return errors.New("--keep goes with --figures")
	case !(f.Search.Weight >= 0 && f.Search.Weight < 1):
		return fmt.Errorf("--weight %g: want a number above 0 and below 1, or 0 for the usual one", f.Search.Weight)
	case f.K < evaluate.MinK || f.K > evaluate.MaxK:
		return fmt.Errorf("--k %d: want %d to %d, for R@10 and NDCG@10 look at the first ten", f.K, evaluate.MinK, evaluate.MaxK)
	}
	f.since = cmp.Or(f.since, "30d")
	return nil
}

// evalSets measures, or tunes on, sets in a database of their own.
func (p *program) evalSets(ctx context.Context, f *evalFlags, args []string) error {
	folders, err := setsIn(f.dir)
	if err != nil {
		return err
	}
	if err := noFiles(args); err != nil {
		return err
	}
	folders = append(folders, args...)
	if len(folders) == 0 {
		f.Progress("no sets: measuring one that is made up")
	}
	if f.Sets, err = evaluate.LoadAll(folders); err != nil {
		return err
	}
	for _, set := range f.Sets {
		if unknown := set.Unknown(); unknown != "" {
			f.Progress(unknown)
		}
	}
	if err := p.variants(f); err != nil {
		return err
	}
	return p.inThrowAway(ctx, func(store *postgres.Store) error {
		if !f.tune {
			return evaluate.Main(ctx, store, f.Options, p.stdout)
		}
		return p.tuneOnSets(ctx, store, f)
	})
}

// variants makes the models of the configuration files that are named.
func (p *program) variants(f *evalFlags) error {
	if err := p.variant(f.config, &f.Search); err != nil {
		return err
	}
	if f.againstConfig == "" {
		return nil
	}
	f.Other = &evaluate.Variant{}
	return p.variant(f.againstConfig, f.Other)
}

func (p *program) variant(file string, v *evaluate.Variant) error {
	if file == "" {
		return nil
	}
	src := p.source
	src.Getenv = func(name string) string { // it would win over the file
		if name == "TOOLSCOUT_EMBEDDINGS" {
			return ""
		}
		return p.source.Getenv(name)
	}
	cfg, err := config.Load(src, map[string]string{"TOOLSCOUT_CONFIG": file})
	if err != nil {
		return err
	}
	v.Name = file
	v.Embedder, err = newEmbedder(cfg.Embeddings, egress.New(egress.Config{AllowPrivate: true}))
	return err
}

// setsIn lists the folders in dir that are sets.
func setsIn(dir string) ([]string, error) {
	if dir == "" {
		return nil, nil
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "queries.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("--dir %s: no folder in it has a queries.jsonl, or it is not there", dir)
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found, nil
}

// noFiles refuses files where sets are wanted.
func noFiles(sets []string) error {
	for _, set := range sets {
		if info, err := os.Stat(set); err == nil && !info.IsDir() {
			return fmt.Errorf("%s is a file, and a set is a folder: to ask the running server the questions of a file use --live", set)
		}
	}
	return nil
}

// canWrite is an error when a file cannot be written, which is better known before the
// work than after it. What is there stays as it is.
func canWrite(flag, file string) error {
	if file == "" {
		return nil
	}
	_, before := os.Lstat(file) // a link is there, too
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	if err := f.Close(); before == nil || err != nil {
		return err
	}
	return os.Remove(file)
}

func minima(flags []string) (map[string]float64, error) {
	in, err := pairs("min", flags)
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for set, v := range in {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || !(f >= 0 && f <= 1) {
			return nil, fmt.Errorf("--min %s=%s: want a number from 0 to 1", set, v)
		}
		out[set] = f
	}
	return out, nil
}

// ago reads how long ago, in days too.
func ago(flag, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if n, ok := strings.CutSuffix(text, "d"); ok {
		var days float64
		days, err = strconv.ParseFloat(n, 64)
		d = time.Duration(days * 24 * float64(time.Hour))
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("--%s %q: want how long ago, as in 30d or 12h", flag, text)
	}
	return d, nil
}
