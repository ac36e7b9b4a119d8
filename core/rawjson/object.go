package rawjson

import "bytes"

// Object is where the members of an object lie in its text.
type Object struct {
	open    int // of its brace
	Members []Member
}

// Scan finds the members of an object without reading what they hold.
func Scan(b []byte) (Object, error) {
	o := Object{open: Space(b, 0)}
	err := Members(b, func(m Member) { o.Members = append(o.Members, m) })
	return o, err
}

// Last gives the last member of a name.
func (o Object) Last(name string) (Member, bool) {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if string(o.Members[i].Name) == name {
			return o.Members[i], true
		}
	}
	return Member{}, false
}

// Insert gives b, which o was scanned from, with members behind the last one.
// members is the inside of an object, without braces.
func (o Object) Insert(b, members []byte) []byte {
	at := o.open + 1
	out := make([]byte, 0, len(b)+len(members)+1)
	if n := len(o.Members); n > 0 {
		at = o.Members[n-1].End
	}
	out = append(out, b[:at]...)
	if len(o.Members) > 0 {
		out = append(out, ',')
	}
	out = append(out, members...)
	return append(out, b[at:]...)
}

// Without gives b, which o was scanned from, without the members whose names begin
// with a prefix: b itself when there are none.
func (o Object) Without(b []byte, prefix string) []byte {
	var kept []Member
	for _, m := range o.Members {
		if !bytes.HasPrefix(m.Name, []byte(prefix)) {
			kept = append(kept, m)
		}
	}
	if len(kept) == len(o.Members) {
		return b
	}
	out := []byte{'{'}
	for i, m := range kept {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, b[m.Key:m.End]...)
	}
	return append(out, '}')
}

// Replace gives b with text in the place of what lies from start to end.
func Replace(b []byte, start, end int, text []byte) []byte {
	out := make([]byte, 0, len(b)-(end-start)+len(text))
	out = append(out, b[:start]...)
	out = append(out, text...)
	return append(out, b[end:]...)
}
