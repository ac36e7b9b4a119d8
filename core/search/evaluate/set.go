// Package evaluate measures how well the search finds: it loads sets of tools and
// labelled queries, runs them through the real search, and scores the answers. For
// scale it also makes up tools, or grows a set by putting rows together anew.
package evaluate

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/embeddings/train"
)

// Set is a catalog with labelled queries.
type Set struct {
	Name    string
	Tools   []Tool
	Queries []Query
}

// Tool is a line of tools.jsonl. Server is "" where the set knows no servers.
type Tool struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	Server      string          `json:"server,omitempty"`
}

// Query is a line of queries.jsonl. Each group is one need that any of its tools
// meets; without groups each relevant tool is a need.
type Query struct {
	ID       string     `json:"id"`
	Text     string     `json:"query"`
	Relevant []string   `json:"relevant"`
	Groups   [][]string `json:"groups,omitempty"`
}

// Load reads the set in a folder: tools.jsonl and queries.jsonl.
func Load(folder string) (Set, error) {
	set := Set{Name: filepath.Base(folder)}
	var err error
	if set.Tools, err = train.ReadRows[Tool](filepath.Join(folder, "tools.jsonl")); err != nil {
		return Set{}, err
	}
	set.Queries, err = train.ReadRows[Query](filepath.Join(folder, "queries.jsonl"))
	if err != nil {
		return Set{}, err
	}
	return set, set.check()
}

// check refuses what could not be scored.
func (s *Set) check() error {
	if len(s.Tools) == 0 || len(s.Queries) == 0 {
		return fmt.Errorf("%s: %d tools and %d queries: it takes some of each", s.Name, len(s.Tools), len(s.Queries))
	}
	tools := make(map[string]bool, len(s.Tools))
	for i, t := range s.Tools {
		if tools[t.ID] {
			return fmt.Errorf("%s: two tools have the id %q, the second in row %d", s.Name, t.ID, i+1)
		}
		tools[t.ID] = true
	}
	queries := make(map[string]bool, len(s.Queries))
	for i, q := range s.Queries {
		if queries[q.ID] {
			return fmt.Errorf("%s: two queries have the id %q, the second in row %d", s.Name, q.ID, i+1)
		}
		if strings.TrimSpace(q.Text) == "" || len(q.Names()) == 0 {
			return fmt.Errorf(`%s: the query in row %d has no "query" or no "relevant" tools`, s.Name, i+1)
		}
		queries[q.ID] = true
	}
	return nil
}

// Unknown says which of the tools that queries want the set does not have, so that
// they cannot be found; "" when it has all.
func (s *Set) Unknown() string {
	tools := make(map[string]bool, len(s.Tools))
	for _, t := range s.Tools {
		tools[t.ID] = true
	}
	queries, first := 0, ""
	for i, q := range s.Queries {
		names := q.Names()
		if at := slices.IndexFunc(names, func(id string) bool { return !tools[id] }); at >= 0 {
			if queries++; first == "" {
				first = fmt.Sprintf("%q of row %d", names[at], i+1)
			}
		}
	}
	if queries == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %d of %d queries want tools that it does not have, the first %s: nothing can find them", s.Name, queries, len(s.Queries), first)
}

// Names are the tools that a query names, each once.
func (q *Query) Names() []string {
	names := slices.Concat(append([][]string{q.Relevant}, q.Groups...)...)
	slices.Sort(names)
	return slices.Compact(names)
}

// LoadTools reads a file with one tool a line.
func LoadTools(file string) ([]Tool, error) { return train.ReadRows[Tool](file) }
