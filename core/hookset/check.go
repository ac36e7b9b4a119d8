package hookset

import "github.com/toolscout/toolscout/core"

// CheckScript gives what is wrong with a script, as if a folder that is searched held
// it: what does not compile, and what it says of itself in its settings. path is only
// the name to call it by.
func (s *Set) CheckScript(path string, text []byte) []core.Fault {
	d, faults := s.discovered(&source{path: path, text: text})
	if len(faults) > 0 {
		return faults
	}
	if d, faults = s.complete(d); len(faults) > 0 {
		return faults
	}
	l, faults := s.make(d, text)
	if l != nil {
		l.discard()
	}
	return faults
}
