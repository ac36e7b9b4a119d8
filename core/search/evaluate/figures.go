package evaluate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
)

// Figures are what sets came to once, for later runs to be held against.
type Figures struct {
	Sets map[string]Figure `json:"sets"`
}

// Figure is what one set came to. Each is the NDCG@10 of every query in the order of
// the set, in 255ths, so that a later run can be paired with it.
type Figure struct {
	NDCG10  float64 `json:"ndcg10"`
	Queries string  `json:"queries"` // a hash: another set of the same name is refused
	Each    []byte  `json:"each"`
}

// lossAt is the p value from which on a loss is no chance.
const lossAt = .05

// against holds results against the figures, or keeps them.
func (f Figures) against(results []Result, o Options) error {
	if o.Keep {
		for i, set := range o.Sets {
			f.Sets[set.Name] = figureOf(set, results[i])
		}
		return writeFigures(o.Figures, f)
	}
	var lost []error
	for i, set := range o.Sets {
		lost = append(lost, f.check(set, results[i]))
	}
	return errors.Join(lost...)
}

// readFigures reads those of a file, which only has to be there where they are not to
// be kept.
func readFigures(file string, keep bool) (figures Figures, err error) {
	raw, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist) && keep:
		return Figures{Sets: map[string]Figure{}}, nil
	case errors.Is(err, os.ErrNotExist):
		return Figures{}, fmt.Errorf("there are no figures in %s: --keep writes them", file)
	case err != nil:
		return Figures{}, fmt.Errorf("read figures: %w", err)
	}
	if err := json.Unmarshal(raw, &figures); err != nil {
		return Figures{}, fmt.Errorf("%s: %w", file, err)
	}
	if figures.Sets == nil {
		figures.Sets = map[string]Figure{}
	}
	return figures, nil
}

func writeFigures(file string, figures any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(figures); err != nil {
		return err
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("keep figures: %w", err)
	}
	return nil
}

func figureOf(set Set, r Result) Figure {
	return Figure{NDCG10: math.Round(r.NDCG10*1e4) / 1e4, Queries: hashOf(set), Each: quantised(r.Each)}
}

// quantised are scores in 255ths.
func quantised(each []Scores) []byte {
	list := make([]byte, len(each))
	for i, s := range each {
		list[i] = byte(math.Round(255 * s.NDCG10))
	}
	return list
}

func hashOf(set Set) string {
	h := fnv.New64a()
	for _, q := range set.Queries {
		fmt.Fprintf(h, "%q%q%q%q\n", q.ID, q.Text, q.Relevant, q.Groups)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// check fails when a set is worse than it was by more than chance. One without
// figures is not held against anything.
func (f Figures) check(set Set, r Result) error {
	was, kept := f.Sets[set.Name]
	if !kept {
		return nil
	}
	if was.Queries != hashOf(set) || len(was.Each) != len(r.Each) {
		return fmt.Errorf("%s: the figures are of other queries: keep new ones", set.Name)
	}
	gains := make([]float64, len(was.Each))
	for i, now := range quantised(r.Each) {
		gains[i] = (float64(now) - float64(was.Each[i])) / 255
	}
	gain, p := mean(gains), Paired(gains)
	if gain < 0 && p < lossAt {
		return fmt.Errorf("%s: NDCG@10 was %.4f and is %.4f: a loss of %.4f that is no chance (p = %.4f)",
			set.Name, was.NDCG10, r.NDCG10, -gain, p)
	}
	return nil
}
