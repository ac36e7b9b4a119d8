package hookset

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// File is what the configuration file says of hooks.
type File struct {
	// Hooks are the definitions. Their ids and versions are given here.
	Hooks []hooks.Definition
	// DiscoveryPaths are folders, of which every *.star file is a hook.
	DiscoveryPaths []string
	// OpenToUsers are the types of which users may have hooks of their own.
	OpenToUsers []string
}

// InvalidError says what is wrong with one definition of the file or of a script.
type InvalidError struct {
	Hook   string
	Origin hooks.Origin
	Faults []core.Fault
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s: hook %q: %s", cmp.Or(e.Origin.Where, string(e.Origin.Kind)), e.Hook, sentence(e.Faults))
}

// SetFile makes the hooks of the file and those found in its folders the ones that
// act from the next call on: all of them, or none and an error, which joins an
// InvalidError for each that is not valid. A script that was good before and is not
// now goes on as it was; State says so.
func (s *Set) SetFile(f File) error {
	f.Hooks = slices.Clone(f.Hooks)
	for _, typ := range f.OpenToUsers {
		if s.kinds[typ] == nil {
			return core.Errorf(core.InvalidParams, "open_to_users: there is no hook type %q; there are %v", typ, slices.Sorted(maps.Keys(s.kinds)))
		}
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	found, err := s.look(f)
	if err != nil {
		return err
	}
	sources := s.candidates(found)
	for path, src := range sources {
		src.strict = true
		if src.missing > 0 {
			delete(sources, path)
		}
	}
	p := s.propose(f, sources)
	if len(p.wrong) > 0 {
		p.drop(nil)
		return errors.Join(p.errors()...)
	}
	s.accept(p)
	s.wake()
	return nil
}

// declared are the definitions of the file and of the scripts in its folders.
func (s *Set) declared(f File, sources map[string]*source) ([]hooks.Definition, []*InvalidError) {
	var all []hooks.Definition
	var wrong []*InvalidError
	taken := map[string]bool{}
	for _, d := range f.Hooks {
		d.ID = "file:" + d.Name
		d.Origin.Kind = cmp.Or(d.Origin.Kind, hooks.FromFile)
		all = append(all, d)
	}
	// One that is in use keeps its name, whatever appears beside it.
	for _, src := range slices.SortedFunc(maps.Values(sources), func(a, b *source) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.path, b.path))
	}) {
		if !src.discovered || src.text == nil {
			continue
		}
		d, faults := s.discovered(src)
		if taken[d.ID] {
			faults = append(faults, core.Fault{Pointer: "/name", Message: "there is another script of this name"})
		}
		taken[d.ID] = true
		if len(faults) > 0 {
			wrong = append(wrong, &InvalidError{d.Name, d.Origin, faults})
			continue
		}
		all = append(all, d)
	}
	return all, wrong
}

// rank is lower for a script that is in use.
func rank(src *source) int {
	if src.good != nil {
		return 0
	}
	return 1
}

// discovered is the definition of a script that was found: what it says of itself,
// over what its type says.
func (s *Set) discovered(src *source) (hooks.Definition, []core.Fault) {
	d := src.outline()
	k := s.kinds[scriptType]
	if k == nil || k.Settings == nil {
		return d, []core.Fault{{Message: "there are no scripts in this program"}}
	}
	settings, err := k.Settings(filepath.Base(src.path), src.text)
	if err != nil {
		return d, constructionFaults(err)
	}
	full := k.Definition()
	full.ID, full.Name, full.Origin, full.Config = d.ID, d.Name, d.Origin, d.Config
	if err := settings.Apply(&full); err != nil {
		return d, []core.Fault{{Pointer: "/timeout", Message: "is not a duration, as 500ms and 2s are"}}
	}
	if full.Type != scriptType {
		return d, []core.Fault{{Pointer: "/type", Message: "a script is of type script"}}
	}
	return full, nil
}

// fingerprint is a version for a definition that nobody counts the edits of.
func fingerprint(d hooks.Definition, text []byte) int64 {
	d.Version, d.Origin.Where = 0, ""
	raw, err := json.Marshal(d)
	if err != nil {
		raw = d.Config // a definition always encodes, unless its configuration is no JSON
	}
	h := sha256.New()
	h.Write(raw)
	h.Write(text)
	// 53 bits, which every reader of JSON takes for the same number.
	return int64(binary.BigEndian.Uint64(h.Sum(nil)) >> 11)
}
