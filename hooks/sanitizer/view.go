package sanitizer

import (
	"slices"
	"strconv"
)

// search is one way through arguments along a document's schemas, and what it may
// still cost.
type search struct {
	*document
	budget int
}

// maxLooks bounds how many schemas are looked at for one call.
const maxLooks = 1_000_000

// view is all schemas that apply to one value.
type view struct {
	search *search
	sure   []*schema // apply whatever the value is
	maybe  []*schema // apply to some values
}

func (d *search) view(sure, maybe []*schema) view {
	v := view{search: d}
	seen := map[*schema]bool{}
	for _, s := range sure {
		v.add(s, true, seen)
	}
	for _, s := range maybe {
		v.add(s, false, seen)
	}
	return v
}

func (v *view) add(s *schema, sure bool, seen map[*schema]bool) {
	if v.search.budget--; seen[s] || v.search.budget < 0 {
		return
	}
	seen[s] = true
	if sure {
		v.sure = append(v.sure, s)
	} else {
		v.maybe = append(v.maybe, s)
	}
	if s.ref != "" && !s.open {
		v.add(v.search.resolve(s.ref), sure, seen)
	}
	for _, t := range s.all {
		v.add(t, sure, seen)
	}
	for _, t := range s.some {
		v.add(t, false, seen)
	}
}

// closed reports whether members that are named nowhere are unknown: some schema
// names members, and none takes others.
func (v *view) closed() bool {
	closed := false
	for _, s := range v.sure {
		if s.takesOthers() {
			return false
		}
		closed = closed || s.closed
	}
	free := false
	for _, s := range v.maybe {
		if s.takesOthers() {
			return false
		}
		free = free || s.object && !s.closed && s.ref == "" && s.all == nil && s.some == nil
	}
	return closed || !free && slices.ContainsFunc(v.maybe, func(s *schema) bool { return s.closed })
}

func (s *schema) takesOthers() bool { return s.open || s.additional != nil && !s.additional.refuses }

// member gives the schemas of a member, and whether any names it.
func (v *view) member(name string) (view, bool) {
	var sure, maybe []*schema
	known := false
	for _, s := range v.sure {
		found, named := s.member(name)
		sure, known = append(sure, found...), known || named
	}
	for _, s := range v.maybe {
		found, named := s.member(name)
		maybe, known = append(maybe, found...), known || named
	}
	return v.search.view(sure, maybe), known
}

func (s *schema) member(name string) (list []*schema, known bool) {
	for _, m := range s.members {
		if m.name == name {
			list = append(list, m.schema)
		}
	}
	for _, p := range s.patterns {
		if p.match == nil || p.match.MatchString(name) {
			list = append(list, p.schema)
		}
	}
	if len(list) > 0 {
		return list, true
	}
	if s.additional != nil && !s.additional.refuses {
		return []*schema{s.additional}, true
	}
	return nil, false
}

// element gives the schemas of an array's element.
func (v *view) element(name string) view {
	i, err := strconv.Atoi(name)
	of := func(list []*schema) (found []*schema) {
		for _, s := range list {
			switch {
			case err == nil && i < len(s.prefix):
				found = append(found, s.prefix[i])
			case s.elements != nil:
				found = append(found, s.elements)
			}
		}
		return found
	}
	return v.search.view(of(v.sure), of(v.maybe))
}
