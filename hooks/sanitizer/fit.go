package sanitizer

import "errors"

var errLooks = errors.New("too much to look at")

// unknown drops or refuses every member that the schema does not know.
func (p *pass) unknown(d *document, refuse bool) error {
	return p.along(d, fitter{refuse: refuse}, (*fitter).strip)
}

// defaults adds every member that is absent and has a default in a schema that
// applies for certain. Objects that are absent are not made for the sake of defaults
// within.
func (p *pass) defaults(d *document) error { return p.along(d, fitter{}, (*fitter).fill) }

// along makes the edits that walk finds. When there is too much to look at it makes
// none.
func (p *pass) along(d *document, f fitter, walk func(*fitter, span, view)) error {
	s := &search{d, maxLooks}
	f.pass, f.b, p.size = p, p.args, len(p.args)
	walk(&f, whole(p.args), s.view([]*schema{d.root}, nil))
	if s.budget < 0 {
		return errLooks
	}
	if p.err != nil {
		return p.err
	}
	p.args = f.edits.of(p.args)
	return nil
}

// fitter goes through arguments and their schemas side by side.
type fitter struct {
	pass   *pass
	b      []byte
	refuse bool
	edits  edits
}

func (f *fitter) strip(at span, v view) {
	list, isObject := children(f.b, at)
	if !isObject {
		for _, c := range list {
			f.strip(c.span, v.element(c.name))
		}
		return
	}
	closed := v.closed()
	drop := map[int]bool{}
	below := fitter{pass: f.pass, b: f.b, refuse: f.refuse}
	for _, c := range list {
		inner, known := v.member(c.name)
		switch {
		case known || !closed:
			below.strip(c.span, inner)
		case f.refuse:
			f.pass.fault(c.path, "is not a known parameter")
		default:
			f.pass.did("unknown", c.path, "is not a known parameter and was left out")
			drop[c.key] = true
		}
	}
	f.edits = append(f.edits, merge(without(list, func(c child) bool { return drop[c.key] }), below.edits)...)
}

func (f *fitter) fill(at span, v view) {
	list, isObject := children(f.b, at)
	present := map[string]bool{}
	for _, c := range list {
		inner := v.element(c.name)
		if isObject {
			present[c.name] = true
			inner, _ = v.member(c.name)
		}
		f.fill(c.span, inner)
	}
	if !isObject {
		return
	}
	var members []byte
	for _, s := range v.sure {
		for _, m := range s.members {
			value := m.schema.fallback
			if value == nil || present[m.name] || !f.pass.grow(len(m.name)+len(value)) {
				continue
			}
			present[m.name] = true
			f.pass.did("filled", append(at.path[:len(at.path):len(at.path)], m.name), "")
			if members != nil {
				members = append(members, ',')
			}
			members = append(members, member(m.name, value)...)
		}
	}
	if members != nil {
		f.edits = append(f.edits, insertion(at, list, members))
	}
}

// merge puts two lists of edits, none of which overlap, in the order of their places.
func merge(a, b edits) edits {
	out := make(edits, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].start < b[0].start {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}
