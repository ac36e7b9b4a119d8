package hookset

import "github.com/toolscout/toolscout/hooks"

func (s *Set) disabled(e *hooks.Entry, cause error) {}
