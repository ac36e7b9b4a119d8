package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/embedded"
	"github.com/toolscout/toolscout/core/search/evaluate"
)

func (p *program) eval() *cobra.Command {
	var dir, run string
	var least []string
	o := evaluate.Options{}
	c := &cobra.Command{
		Use:   "eval [SET ...]",
		Short: "Measure how well search finds, on labelled questions",
		Long: "Measure how well search finds. A SET is a folder with tools.jsonl ({id, name, description,\n" +
			"input_schema?, server?}) and queries.jsonl ({id, query, relevant[], groups?}). Each is\n" +
			"registered in a throw-away database and asked through the real search. Without any\n" +
			"set, a small one is made up.",
		Example: "  toolscout eval ./my-questions\n  toolscout eval --dir ../eval --min metatool=0.63",
		RunE: func(c *cobra.Command, args []string) error {
			sets, err := setsIn(dir)
			if err != nil {
				return err
			}
			o.Sets, o.JSON, o.RunFile = append(sets, args...), p.json, run
			if len(o.Sets) == 0 {
				fmt.Fprintln(p.stderr, "no sets: measuring one that is made up")
			}
			if o.Minimum, err = minima(least); err != nil {
				return err
			}
			return p.inThrowAway(c.Context(), func(store *postgres.Store) error {
				return evaluate.Main(c.Context(), store, o, p.stdout)
			})
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "measure every set in this folder, if it exists")
	c.Flags().StringVar(&run, "run-file", "", "write the ranked ids of each query to this file")
	c.Flags().IntVar(&o.K, "k", 10, "how many tools to ask for")
	c.Flags().StringArrayVar(&least, "min", nil, "SET=NDCG@10: fail below this (may be repeated)")
	return c
}

// setsIn lists the folders in dir that are sets; none where dir is absent.
func setsIn(dir string) ([]string, error) {
	if dir == "" {
		return nil, nil
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "queries.jsonl"))
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found, nil
}

func minima(flags []string) (map[string]float64, error) {
	in, err := pairs("min", flags)
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for set, v := range in {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || f < 0 || f > 1 {
			return nil, fmt.Errorf("--min %s=%s: want a number from 0 to 1", set, v)
		}
		out[set] = f
	}
	return out, nil
}

// inThrowAway runs f on a migrated database that is gone afterwards.
func (p *program) inThrowAway(ctx context.Context, f func(*postgres.Store) error) error {
	dir, err := os.MkdirTemp("", "toolscout-eval")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // Postgres may run as another user
		return err
	}
	own, err := embedded.Start(ctx, embedded.Config{DataDir: filepath.Join(dir, "postgres"), NoSync: true,
		Progress: func(line string) { fmt.Fprintln(p.stderr, line) }})
	if err != nil {
		return err
	}
	defer own.Close()
	store, err := postgres.Open(ctx, own.URL(), postgres.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	return f(store)
}
