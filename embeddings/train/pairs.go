package train

import (
	"archive/tar"
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ulikunitz/xz"
)

// Pair are two texts that belong together: A is what somebody might ask, B what
// answers it.
type Pair struct{ A, B string }

// Group are pairs of one source and one kind, in the order of the source: there
// neighbours are about similar things. Weight is how often the group is drawn from,
// beside what its size makes of it; 0 counts as 1.
type Group struct {
	Name   string
	Weight float64
	Pairs  []Pair
}

// kindWeight is how much more or less than others pairs of a kind are drawn.
// Operations are what tools are; there are far more properties than that, and the
// glosses of a dictionary speak of other things.
func kindWeight(kind string) float64 {
	switch kind {
	case "full":
		return 2
	case "op":
		return 1.5
	case "gloss", "gloss1":
		return 0.5
	case "schema", "prop":
		return 0.4
	}
	return 1
}

// ReadPairs reads pairs from a folder of .tsv files, from one such file, or from a
// .tar or .tar.xz of them. Each line is a kind, text A and text B, separated by
// tabs.
func ReadPairs(path string) ([]Group, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read pairs: %w", err)
	}
	r := reader{groups: make(map[string]*Group)}
	switch {
	case info.IsDir():
		err = r.folder(path)
	case strings.HasSuffix(path, ".tsv"):
		err = r.file(path)
	default:
		err = r.archive(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read pairs from %s: %w", path, err)
	}
	if len(r.groups) == 0 {
		return nil, fmt.Errorf("read pairs from %s: no .tsv file with pairs in it", path)
	}
	groups := make([]Group, 0, len(r.groups))
	for _, g := range r.groups {
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	return groups, nil
}

// reader collects pairs by group.
type reader struct{ groups map[string]*Group }

func (r *reader) folder(path string) error {
	files, err := filepath.Glob(filepath.Join(path, "*.tsv"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := r.file(file); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) file(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.lines(path, f)
}

func (r *reader) archive(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var plain io.Reader = bufio.NewReaderSize(f, 1<<20)
	if strings.HasSuffix(path, ".xz") {
		if plain, err = xz.NewReader(plain); err != nil {
			return err
		}
	}
	for files := tar.NewReader(plain); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("neither a folder, a .tsv file, nor a .tar or .tar.xz: %w", err)
		}
		if strings.HasSuffix(header.Name, ".tsv") {
			if err := r.lines(header.Name, files); err != nil {
				return err
			}
		}
	}
}

// maxLine is the longest line of pairs that is read, in bytes.
const maxLine = 1 << 20

func (r *reader) lines(name string, from io.Reader) error {
	source := strings.TrimSuffix(filepath.Base(name), ".tsv")
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		kind, rest, _ := strings.Cut(lines.Text(), "\t")
		a, b, ok := strings.Cut(rest, "\t")
		if !ok || kind == "" || strings.Contains(b, "\t") {
			return fmt.Errorf("%s, line %d: want a kind and two texts, separated by tabs", name, n)
		}
		r.add(source, kind, Pair{a, b})
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (r *reader) add(source, kind string, p Pair) {
	name := source + "/" + kind
	g := r.groups[name]
	if g == nil {
		g = &Group{Name: name, Weight: kindWeight(kind)}
		r.groups[name] = g
	}
	g.Pairs = append(g.Pairs, p)
}
