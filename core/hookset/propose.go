package hookset

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// proposal is a state of the file and its scripts that was made beside the one in
// use, and takes its place whole or not at all.
type proposal struct {
	file    File
	sources map[string]*source
	own     []ready
	// made are the hooks that the one in use does not have.
	made []*live
	// wrong are the definitions that are not valid.
	wrong []*InvalidError
}

func (p *proposal) errors() []error {
	var errs []error
	for _, e := range p.wrong {
		errs = append(errs, e)
	}
	return errs
}

// drop closes what was made and is not among what is used.
func (p *proposal) drop(used []ready) {
	for _, l := range p.made {
		if !slices.ContainsFunc(used, func(r ready) bool { return r.live == l }) {
			l.discard()
		}
	}
	p.made = nil
}

// propose makes hooks of a file and its scripts. A script whose newest text is not
// valid falls back to the text that was; what is still wrong then is in wrong.
func (s *Set) propose(f File, sources map[string]*source) *proposal {
	p := &proposal{file: f, sources: sources}
	for {
		p.judge(s)
		back := false
		for _, e := range p.wrong {
			if src := sources[e.Origin.Where]; e.Origin.Kind == hooks.FromScript && src != nil {
				back = src.fallBack(sentence(e.Faults)) || back
			}
		}
		if !back {
			return p
		}
	}
}

// judge makes what is not there yet.
func (p *proposal) judge(s *Set) {
	var all []hooks.Definition
	all, p.wrong = s.declared(p.file, p.sources)
	p.own = nil
	for _, d := range all {
		r, faults := p.ready(s, d)
		if len(faults) > 0 {
			p.wrong = append(p.wrong, p.invalid(s, d, faults))
			continue
		}
		p.own = append(p.own, r)
	}
}

// invalid blames a script's new text for what is wrong with a hook of the
// configuration file that is such a script.
func (p *proposal) invalid(s *Set, d hooks.Definition, faults []core.Fault) *InvalidError {
	if src := p.sources[s.scriptPath(d)]; src != nil && src.isNew() {
		return &InvalidError{d.Name, hooks.Origin{Kind: hooks.FromScript, Where: src.path}, faults}
	}
	return &InvalidError{d.Name, d.Origin, faults}
}

func (p *proposal) ready(s *Set, d hooks.Definition) (ready, []core.Fault) {
	d, faults := s.complete(d)
	if s.kinds[d.Type] == nil {
		return ready{}, faults
	}
	text, more := s.text(d, p.read)
	if faults = append(faults, more...); len(more) > 0 {
		return ready{}, faults
	}
	d.Version = fingerprint(d, text)
	if l := p.known(s, d); l != nil && len(faults) == 0 {
		return ready{d, l}, nil
	}
	l, more := s.make(d, text)
	if l != nil {
		p.made = append(p.made, l)
	}
	return ready{d, l}, append(faults, more...)
}

// read gives the text of a script as the proposal has it.
func (p *proposal) read(path string) ([]byte, error) {
	src := p.sources[path]
	switch {
	case src == nil:
		return nil, fs.ErrNotExist
	case src.text == nil:
		return nil, errors.New(src.failure)
	}
	return src.text, nil
}

// known is the hook of a definition that did not change.
func (p *proposal) known(s *Set, d hooks.Definition) *live {
	same := func(l *live) bool { return l.key == d.ID && l.version == d.Version }
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.own {
		if same(r.live) {
			return r.live
		}
	}
	for _, l := range p.made {
		if same(l) {
			return l
		}
	}
	return nil
}

// accept puts a proposal in the place of what was.
func (s *Set) accept(p *proposal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		p.drop(nil)
		return
	}
	for _, r := range p.own {
		r.live.uses.Add(1)
	}
	old := s.own
	s.file, s.sources, s.own = p.file, p.sources, p.own
	s.arrange()
	for _, r := range old {
		r.live.release()
	}
	p.drop(p.own)
}
