package evaluate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/toolscout/toolscout/core/postgres"
)

// Options say what Main measures.
type Options struct {
	// Sets are folders with tools.jsonl and queries.jsonl. Without any, a set is
	// made up.
	Sets []string
	// K is how many tools are asked for; 10 when it is 0.
	K int
	// RunFile, unless empty, gets a line {"query_id", "ranked"} for each query.
	RunFile string
	// JSON prints one object a set instead of a table.
	JSON bool
	// Minimum is the least NDCG@10 by name of the set.
	Minimum map[string]float64
}

// The made-up set: small enough for a run of a second, and the same every time.
const (
	generatedTools = 600
	generatedSeed  = 1
)

// Main measures sets on a database that is used for nothing else, and prints what
// they came to. It is an error when one stays below its minimum.
func Main(ctx context.Context, store *postgres.Store, o Options, out io.Writer) error {
	sets, err := load(o.Sets)
	if err != nil {
		return err
	}
	rig, err := NewRig(ctx, store)
	if err != nil {
		return err
	}
	if o.K <= 0 {
		o.K = 10
	}
	var results []Result
	var low []error
	for _, set := range sets {
		result, err := rig.Run(ctx, set, o.K)
		if err != nil {
			return err
		}
		results = append(results, result)
		if least := o.Minimum[set.Name]; result.NDCG10 < least {
			low = append(low, fmt.Errorf("%s: NDCG@10 is %.4f, at least %.4f is required", set.Name, result.NDCG10, least))
		}
	}
	if err := report(out, results, o.JSON); err != nil {
		return err
	}
	if o.RunFile != "" {
		if err := writeRun(o.RunFile, sets, results); err != nil {
			return fmt.Errorf("write run: %w", err)
		}
	}
	return errors.Join(low...)
}

func load(folders []string) ([]Set, error) {
	if len(folders) == 0 {
		return []Set{Generate(generatedTools, generatedSeed)}, nil
	}
	var sets []Set
	for _, folder := range folders {
		set, err := Load(folder)
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func report(out io.Writer, results []Result, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(out)
		for _, r := range results {
			if err := e.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "set\ttools\tqueries\tR@1\tR@3\tR@5\tR@10\tMRR\tNDCG@5\tNDCG@10\tC@5\tp50 ms\tp99 ms\t")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\t%.2f\t\n", r.Set, r.Tools, r.Queries,
			r.R1, r.R3, r.R5, r.R10, r.MRR, r.NDCG5, r.NDCG10, r.C5, r.P50, r.P99)
	}
	return w.Flush()
}

func writeRun(file string, sets []Set, results []Result) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	e := json.NewEncoder(w)
	for i, set := range sets {
		for j, q := range set.Queries {
			row := struct {
				QueryID string   `json:"query_id"`
				Ranked  []string `json:"ranked"`
			}{q.ID, results[i].Ranked[j]}
			if err := e.Encode(row); err != nil {
				return err
			}
		}
	}
	return errors.Join(w.Flush(), f.Close())
}
