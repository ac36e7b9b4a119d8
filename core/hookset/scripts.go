package hookset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// scriptType is the type whose hooks can be files.
const scriptType = "script"

// The bounds of scripts.
const (
	maxScript  = 1 << 20 // bytes of one file
	maxScripts = 1000    // files
)

// source is a script's file. Once a Set has accepted it, it does not change.
type source struct {
	path string
	// discovered: it lies in a folder that is searched, and no hook of the
	// configuration file names it.
	discovered bool
	// text is what is used, nil when nothing is. Before it was accepted, good is
	// what it takes the place of.
	text, good []byte
	// newest is what the file holds.
	newest []byte
	// strict: without a text that was good before, a bad one is an error.
	strict bool
	// missing counts how often in a row the file was not there.
	missing int
	// failure says why the newest text is not used, and since when.
	failure string
	since   time.Time
}

// isNew reports whether the text takes the place of another.
func (src *source) isNew() bool { return src.good != nil && !bytes.Equal(src.text, src.good) }

// fallBack goes back to what was used before, if anything, and reports whether that
// makes a difference.
func (src *source) fallBack(why string) bool {
	if src.text == nil || !src.isNew() && (src.strict || src.good != nil) {
		return false
	}
	src.text = src.good
	src.failure, src.since = why, time.Now()
	return true
}

// found is what a file held when it was read.
type found struct {
	text       []byte
	err        error
	discovered bool
}

// look reads the scripts that a file names and those in its folders. A folder need
// not be there.
func (s *Set) look(f File) (map[string]found, error) {
	all := map[string]found{}
	for _, d := range f.Hooks {
		if path := s.scriptPath(d); path != "" {
			text, err := readFile(path)
			all[path] = found{text: text, err: err}
		}
	}
	for _, folder := range f.DiscoveryPaths {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("look for hooks: %w", err)
		}
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			if _, named := all[path]; named || filepath.Ext(path) != ".star" || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			text, err := readFile(path)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFile) {
				continue
			}
			if all[path] = (found{text, err, true}); len(all) > maxScripts {
				return nil, fmt.Errorf("look for hooks: there are more than %d scripts", maxScripts)
			}
		}
	}
	return all, nil
}

var errNoFile = errors.New("it is not a file")

// readFile reads a script. An empty one is not nil.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would keep us waiting
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	text, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err == nil && len(text) > maxScript {
		return nil, fmt.Errorf("it is larger than %d KB", maxScript>>10)
	}
	return text, err
}

// candidates are the sources as they would be with what was found.
func (s *Set) candidates(all map[string]found) map[string]*source {
	s.mu.Lock()
	before := s.sources
	s.mu.Unlock()
	after := map[string]*source{}
	gone := false // perhaps one that kept another from its name
	for path, old := range before {
		_, there := all[path]
		gone = gone || !there && old.missing > 0
	}
	for path, f := range all {
		src := &source{path: path, discovered: f.discovered, text: f.text, newest: f.text}
		old := before[path]
		if old != nil {
			src.good = old.text
		}
		switch {
		case f.err != nil:
			src.text, src.newest = src.good, nil
			src.failure, src.since = plainError(f.err), time.Now()
			if old != nil && old.failure == src.failure {
				src.since = old.since
			}
		case old != nil && old.failure != "" && bytes.Equal(old.newest, f.text) && !gone:
			src.text, src.failure, src.since = src.good, old.failure, old.since
		}
		after[path] = src
	}
	// An editor may take a file away for a moment while it saves.
	for path, old := range before {
		if after[path] == nil && old.discovered && old.missing == 0 {
			src := *old
			src.good, src.missing = old.text, 1
			after[path] = &src
		}
	}
	return after
}

// plainError is an error of a file without its path, which is told beside it.
func plainError(err error) string {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err.Error()
	}
	return err.Error()
}

// scriptPath is the file that a hook of the configuration file names, or "".
func (s *Set) scriptPath(d hooks.Definition) string {
	if d.Type != scriptType || d.Origin.Kind == hooks.FromDatabase {
		return ""
	}
	var named struct{ File string }
	if json.Unmarshal(d.Config, &named) != nil || named.File == "" {
		return ""
	}
	r := replacer{lookup: s.config.Lookup}
	return filepath.Clean(r.text("", named.File))
}

// text is the content of the file that a script's definition names, nil when it
// names none.
func (s *Set) text(d hooks.Definition, read func(path string) ([]byte, error)) ([]byte, []core.Fault) {
	fault := func(why string) []core.Fault { return []core.Fault{{Pointer: "/config/file", Message: why}} }
	if d.Type != scriptType {
		return nil, nil
	}
	var named struct{ File *string }
	if json.Unmarshal(d.Config, &named) != nil || named.File == nil {
		return nil, nil
	}
	if d.Origin.Kind == hooks.FromDatabase {
		return nil, fault("files are for hooks of the configuration file: give the source instead")
	}
	path := s.scriptPath(d)
	if path == "" {
		return nil, fault("is required")
	}
	text, err := read(path)
	if err != nil {
		return nil, fault("cannot be read: " + plainError(err))
	}
	return text, nil
}

// outline is what there is to say of a script that cannot be read.
func (src *source) outline() hooks.Definition {
	name := strings.TrimSuffix(filepath.Base(src.path), ".star")
	config, _ := core.EncodeJSON(map[string]string{"file": src.path})
	return hooks.Definition{ID: "script:" + name, Name: name, Type: scriptType, Pattern: "*", Enabled: true, Config: config,
		Origin: hooks.Origin{Kind: hooks.FromScript, Where: src.path}}
}
