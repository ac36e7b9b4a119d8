package evaluate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/toolscout/toolscout/core/search"
)

// Race asks questions of a search and of the floor by turns.
type Race struct {
	Engine    *search.Engine
	Servers   []string
	Floor     *Floor
	Questions []string

	searched, floor []time.Duration // of each question, the least of all rounds
}

// Pace is how long searches took, beside the floor in the same moments.
type Pace struct {
	// Search and Floor are the time of one question in ms.
	Search, Floor float64
	// Ratio is how often the floor goes into the search.
	Ratio float64
}

// Run goes more rounds, and gives the pace of all so far. Of each question the best
// round counts, for the search and for the floor: whatever else runs on the machine
// only ever adds to either.
func (r *Race) Run(ctx context.Context, rounds int) (Pace, error) {
	if r.searched == nil {
		r.searched, r.floor = make([]time.Duration, len(r.Questions)), make([]time.Duration, len(r.Questions))
	}
	for range rounds {
		for i, q := range r.Questions {
			start := time.Now()
			if _, _, err := r.Floor.Search(ctx, q); err != nil {
				return Pace{}, err
			}
			least(&r.floor[i], time.Since(start))
			start = time.Now()
			answer, err := r.Engine.Search(ctx, search.Query{Text: q, Servers: r.Servers})
			if err == nil && answer.Degraded != "" {
				err = fmt.Errorf("it was answered without %s", answer.Degraded)
			}
			if err != nil {
				return Pace{}, fmt.Errorf("search for %q: %w", q, err)
			}
			least(&r.searched[i], time.Since(start))
		}
	}
	p := Pace{Search: milliseconds(r.searched), Floor: milliseconds(r.floor)}
	p.Ratio = p.Search / p.Floor
	return p, nil
}

func least(of *time.Duration, took time.Duration) {
	if *of == 0 || took < *of {
		*of = took
	}
}

func milliseconds(all []time.Duration) float64 {
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	return float64(sum.Nanoseconds()) / 1e6 / float64(len(all))
}

// Visible gives some of a catalog's servers, every nth, and the tools that they have.
func (c *Catalog) Visible(tools []Tool, n int) (servers []string, seen []Tool) {
	names := map[string]bool{}
	for i := 0; i < len(c.Servers); i += n {
		servers = append(servers, c.Servers[i])
		names[c.Names[i]] = true
	}
	return servers, slices.DeleteFunc(slices.Clone(tools), func(t Tool) bool { return !names[serverOf(t)] })
}

// Paces are ratios to the floor that were kept, by name.
type Paces map[string]float64

// slower is how much more a ratio may be than the one that was kept.
const slower = 1.15

// ReadPaces reads those of a file.
func ReadPaces(file string) (Paces, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read paces: %w", err)
	}
	paces := Paces{}
	if err := json.Unmarshal(raw, &paces); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return paces, nil
}

// Write keeps them in a file.
func (p Paces) Write(file string) error { return writeFigures(file, p) }

// Check fails when a pace is slower than it was by more than 15 %. One that was not
// kept is not held against anything.
func (p Paces) Check(name string, now Pace) error {
	was, kept := p[name]
	if !kept || now.Ratio <= slower*was {
		return nil
	}
	return fmt.Errorf("%s: a search takes %.1f times the floor (%.3f of %.3f ms), where it took %.1f times: slower by %.0f %%",
		name, now.Ratio, now.Search, now.Floor, was, 100*(now.Ratio/was-1))
}
