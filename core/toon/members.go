package toon

// member is a field of an object that is being read: where it lies in the output.
type member struct {
	name       string
	start, end int
}

// openObject is an object that is being read.
type openObject struct {
	first int // of its members in decoder.members
	last  int // the member that is being read
	// body is where its members begin in the output.
	body int
	// index finds members by name where there are many.
	index map[string]int
	// repeated: a member was overwritten, and the output holds both.
	repeated bool
}

func (d *decoder) open() openObject {
	return openObject{first: len(d.members), body: len(d.out)}
}

// begin writes a key. Of two equal ones the last wins, at the place of the first,
// or they are an error (§14.3).
func (d *decoder) begin(o *openObject, name string) {
	if len(d.out) > o.body {
		d.out = append(d.out, ',')
	}
	o.last = d.find(o, name)
	if o.last >= 0 {
		if !d.options.Lenient {
			d.fail(faultf("the key %q occurs twice", name))
		}
		o.repeated = true
	} else {
		o.last = len(d.members)
		d.members = append(d.members, member{name: name})
		if o.index != nil {
			o.index[name] = o.last
		}
	}
	d.members[o.last].start = len(d.out)
	d.out = append(appendQuoted(d.out, name), ':')
}

// end ends the value behind a key.
func (d *decoder) end(o *openObject) { d.members[o.last].end = len(d.out) }

func (d *decoder) find(o *openObject, name string) int {
	own := d.members[o.first:]
	if len(own) < many {
		for i := range own {
			if own[i].name == name {
				return o.first + i
			}
		}
		return -1
	}
	if o.index == nil {
		o.index = make(map[string]int, 2*many)
		for i := range own {
			o.index[own[i].name] = o.first + i
		}
	}
	if i, ok := o.index[name]; ok {
		return i
	}
	return -1
}

// close drops what was overwritten.
func (d *decoder) close(o *openObject) {
	own := d.members[o.first:]
	if o.repeated {
		body := make([]byte, 0, len(d.out)-o.body)
		for i, m := range own {
			if i > 0 {
				body = append(body, ',')
			}
			body = append(body, d.out[m.start:m.end]...)
		}
		d.out = append(d.out[:o.body], body...)
	}
	clear(own)
	d.members = d.members[:o.first]
}
