// Package evaluate measures how well the search finds: it loads sets of tools and
// labelled queries, runs them through the real search, and scores the answers. For
// scale it also makes up tools, or grows a set by putting rows together anew.
package evaluate

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	if set.Tools, err = lines[Tool](filepath.Join(folder, "tools.jsonl")); err != nil {
		return Set{}, err
	}
	set.Queries, err = lines[Query](filepath.Join(folder, "queries.jsonl"))
	if err != nil {
		return Set{}, err
	}
	return set, set.check()
}

// check refuses what could not be scored.
func (s *Set) check() error {
	known := make(map[string]bool, len(s.Queries))
	for i, q := range s.Queries {
		if known[q.ID] {
			return fmt.Errorf("%s: two queries have the id %q, the second in row %d", s.Name, q.ID, i+1)
		}
		known[q.ID] = true
	}
	return nil
}

// LoadTools reads a file with one tool a line.
func LoadTools(file string) ([]Tool, error) { return lines[Tool](file) }

func lines[T any](file string) ([]T, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("open evaluation set: %w", err)
	}
	defer f.Close()
	var list []T
	d := json.NewDecoder(bufio.NewReader(f))
	for {
		var row T
		err := d.Decode(&row)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s, row %d: %w", file, len(list)+1, err)
		}
		list = append(list, row)
	}
}
