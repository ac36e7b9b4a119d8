package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/embeddings"
)

// Options say what Main measures.
type Options struct {
	// Sets are what is measured.
	Sets []Set
	// K is how many tools are asked for, MinK to MaxK; 10 when it is 0.
	K int
	// Search is what is measured, and Other, unless nil, what it is compared with.
	Search Variant
	Other  *Variant
	// Against, unless empty, is a run file that the results are compared with.
	Against string
	// RunFile, unless empty, gets a line {"query_id", "set", "ranked"} for each query.
	RunFile string
	// JSON prints one object a set instead of a table.
	JSON bool
	// Minimum is the least NDCG@10 by name of the set.
	Minimum map[string]float64
	// Figures, unless empty, is a file of figures that no set may fall below by more
	// than chance; Keep writes it anew instead.
	Figures string
	Keep    bool
	// Progress, if set, hears how long work comes along.
	Progress func(string)
}

// Variant is one way to search.
type Variant struct {
	// Name is what it is called in print.
	Name string
	// Embedder is the model; nil stands for the built-in one.
	Embedder embeddings.Embedder
	// Weight is the share of meaning against words; 0 stands for the usual one.
	Weight float64
}

// MinK is the furthest that scores look: of fewer tools R@10 would not be what it is
// called. MaxK is how many discover_tools gives at most.
const (
	MinK = 10
	MaxK = 50
)

// The made-up set: small enough for a run of a second, and the same every time.
const (
	generatedTools = 600
	generatedSeed  = 1
)

// Main measures sets on a database that is used for nothing else, and prints what
// they came to. It is an error when one stays below its minimum, or falls below its
// figures.
func Main(ctx context.Context, store *postgres.Store, o Options, out io.Writer) error {
	o.K = cmp.Or(o.K, 10)
	earlier, figures, err := o.read()
	if err != nil {
		return err
	}
	results, err := measure(ctx, store, o, earlier)
	if err != nil {
		return err
	}
	if err := Report(out, results, o.JSON); err != nil {
		return err
	}
	if o.RunFile != "" {
		if err := WriteRun(o.RunFile, o.Sets, results); err != nil {
			return fmt.Errorf("write run: %w", err)
		}
	}
	return errors.Join(tooLow(results, o.Minimum), figures.against(results, o))
}

// read reads what results are to be held against. It is an error when there is nothing
// of it to hold them against: that would pass for success.
func (o *Options) read() (earlier *RunFile, figures Figures, err error) {
	for name := range o.Minimum {
		if !slices.ContainsFunc(o.Sets, func(s Set) bool { return s.Name == name }) {
			return nil, Figures{}, fmt.Errorf("a least NDCG@10 is asked of %s, which is not measured", name)
		}
	}
	if o.Against != "" {
		if earlier, err = ReadRun(o.Against); err == nil {
			err = earlier.Covers(o.Sets...)
		}
	}
	if err == nil && o.Figures != "" {
		figures, err = readFigures(o.Figures, o.Keep)
	}
	return earlier, figures, err
}

// LoadAll reads the sets in folders, each with tools.jsonl and queries.jsonl, or makes
// one up when there are none.
func LoadAll(folders []string) ([]Set, error) {
	if len(folders) == 0 {
		return []Set{Generate(generatedTools, generatedSeed)}, nil
	}
	var sets []Set
	named := make(map[string]string, len(folders))
	for _, folder := range folders {
		set, err := Load(folder)
		if err != nil {
			return nil, err
		}
		if first := named[set.Name]; first != "" {
			return nil, fmt.Errorf("%s and %s are both called %s: results go by the name, so measure them apart", first, folder, set.Name)
		}
		named[set.Name] = folder
		sets = append(sets, set)
	}
	return sets, nil
}

// measure runs each set with one variant, and with the other where there is one.
func measure(ctx context.Context, store *postgres.Store, o Options, earlier *RunFile) ([]Result, error) {
	rig, err := o.Search.Rig(ctx, store, o.Progress)
	if err != nil {
		return nil, err
	}
	var other *Rig
	if o.Other != nil {
		if other, err = o.Other.Rig(ctx, store, o.Progress); err != nil {
			return nil, err
		}
	}
	var results []Result
	for _, set := range o.Sets {
		result, err := rig.Run(ctx, set, o.K)
		if err != nil {
			return nil, err
		}
		switch {
		case earlier != nil:
			result.Against, err = earlier.Compare(set, result)
		case other != nil:
			result.Against, err = other.compare(ctx, set, o, result)
		}
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

// compare runs a set with another variant and tests a result against that.
func (r *Rig) compare(ctx context.Context, set Set, o Options, result Result) (*Comparison, error) {
	other, err := r.Run(ctx, set, o.K)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Name: o.Other.Name}
	c.Metrics, err = Compare(result.Each, other.Each)
	return c, err
}

// Rig makes the search.
func (v Variant) Rig(ctx context.Context, store *postgres.Store, progress func(string)) (rig *Rig, err error) {
	if v.Embedder == nil {
		rig, err = NewRig(ctx, store)
	} else {
		rig, err = NewRigWith(ctx, store, v.Embedder)
	}
	if err != nil {
		return nil, err
	}
	rig.Model.Weight, rig.Progress = v.Weight, progress
	return rig, nil
}

func tooLow(results []Result, minimum map[string]float64) error {
	var low []error
	for _, r := range results {
		if least := minimum[r.Set]; r.NDCG10 < least {
			low = append(low, fmt.Errorf("%s: NDCG@10 is %.4f, at least %.4f is required", r.Set, r.NDCG10, least))
		}
	}
	return errors.Join(low...)
}
