package evaluate

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/toolscout/toolscout/embeddings/train"
)

// ranking is a line of a run file. Set tells queries of one id in two sets apart;
// files of other programs need not have it.
type ranking struct {
	QueryID string   `json:"query_id"`
	Set     string   `json:"set,omitempty"`
	Ranked  []string `json:"ranked"`
}

// RunFile is an earlier run, as WriteRun wrote it.
type RunFile struct {
	name   string
	ranked map[[2]string][]string // by set and query
}

// ReadRun reads a run file.
func ReadRun(file string) (*RunFile, error) {
	rows, err := train.ReadRows[ranking](file)
	if err != nil {
		return nil, err
	}
	run := &RunFile{name: file, ranked: make(map[[2]string][]string, len(rows))}
	for i, row := range rows {
		if row.QueryID == "" {
			return nil, fmt.Errorf("%s, row %d: no query_id", file, i+1)
		}
		run.ranked[[2]string{row.Set, row.QueryID}] = row.Ranked
	}
	return run, nil
}

// Covers is an error when the run has none of the queries of some sets, so that nothing
// could be compared.
func (f *RunFile) Covers(sets ...Set) error {
	for _, set := range sets {
		for _, q := range set.Queries {
			if _, found := f.find(set, q); found {
				return nil
			}
		}
	}
	return fmt.Errorf("%s: it has none of the queries that are to be compared; they go by the name of their set and their id", f.name)
}

// find gives what the run has for a query.
func (f *RunFile) find(set Set, q Query) (ranked []string, found bool) {
	if ranked, found = f.ranked[[2]string{set.Name, q.ID}]; !found {
		ranked, found = f.ranked[[2]string{"", q.ID}]
	}
	return ranked, found
}

// Compare scores the run on a set and tests a result against it; nil when the run
// has none of its queries.
func (f *RunFile) Compare(set Set, r Result) (*Comparison, error) {
	c := &Comparison{Name: f.name}
	other := make([]Scores, len(set.Queries))
	for i, q := range set.Queries {
		ranked, found := f.find(set, q)
		if !found {
			c.Missing++
		}
		other[i] = Score(q, ranked)
	}
	if c.Missing == len(set.Queries) {
		return nil, nil
	}
	var err error
	c.Metrics, err = Compare(r.Each, other)
	return c, err
}

// WriteRun writes what was found for each query.
func WriteRun(file string, sets []Set, results []Result) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	e := json.NewEncoder(w)
	for i, set := range sets {
		for j, q := range set.Queries {
			if err := e.Encode(ranking{q.ID, set.Name, results[i].Ranked[j]}); err != nil {
				return err
			}
		}
	}
	return errors.Join(w.Flush(), f.Close())
}
