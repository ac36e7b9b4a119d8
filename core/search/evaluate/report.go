package evaluate

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// Report prints results: an object a line, or a table for a person.
func Report(out io.Writer, results []Result, asJSON bool) error {
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
	fmt.Fprintln(w, "set\ttools\tqueries\tR@1\tR@3\tR@5\tR@10\tMRR\tNDCG@5\tNDCG@10\tC@5\tp50 ms\tp99 ms\ttokens\t")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.2f\t%.2f\t%s\t\n", r.Set, orDash("%.0f", float64(r.Tools)), r.Queries,
			r.R1, r.R3, r.R5, r.R10, r.MRR, r.NDCG5, r.NDCG10, r.C5, r.P50, r.P99, orDash("%.0f", r.Tokens))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return reportComparisons(out, results)
}

func reportComparisons(out io.Writer, results []Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := ""
	for _, r := range results {
		if r.Against == nil {
			continue
		}
		if r.Against.Name != head {
			head = r.Against.Name
			fmt.Fprintf(w, "\nagainst %s\t", head)
			for _, m := range compared {
				fmt.Fprintf(w, "%s\tp\t", m.name)
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\t", r.Set)
		for _, d := range r.Against.Metrics {
			fmt.Fprintf(w, "%+.4f\t%.4f\t", d.Gain, d.P)
		}
		if r.Against.Missing > 0 {
			fmt.Fprintf(w, "%d queries are missing there\t", r.Against.Missing)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func orDash(format string, x float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf(format, x)
}
