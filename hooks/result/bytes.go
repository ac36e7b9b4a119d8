package result

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/toolscout/toolscout/core/rawjson"
)

// edit puts text in the place of a part of the original.
type edit struct {
	span
	text []byte
}

// Bytes gives the result as it stands: the very bytes it was parsed from when
// nothing was changed.
func (r *Result) Bytes() json.RawMessage {
	if !r.changed {
		return r.raw
	}
	edits, added := r.contentEdits()
	more, structured := r.structuredEdits()
	edits = append(edits, more...)
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	out := make([]byte, 0, len(r.raw)+len(added)+len(structured)+256)
	at := 0
	for _, e := range edits {
		out = append(append(out, r.raw[at:e.start]...), e.text...)
		at = e.end
	}
	out = append(out, r.raw[at:]...)
	for _, member := range [][]byte{added, structured} {
		if len(member) == 0 {
			continue
		}
		if top, err := rawjson.Scan(out); err == nil { // what was an object still is one
			out = top.Insert(out, member)
		}
	}
	return out
}

// contentEdits are the edits of content; without an array to edit, they are a
// member to add.
func (r *Result) contentEdits() (edits []edit, added []byte) {
	n := min(len(r.blocks), len(r.spans))
	for i, at := range r.spans[:n] {
		if r.edited[i] {
			edits = append(edits, edit{at, r.blocks[i].Raw})
		}
	}
	if gone := r.spans[n:]; len(gone) > 0 {
		at := span{gone[0].start, gone[len(gone)-1].end}
		if n > 0 {
			at.start = r.spans[n-1].end
		}
		return append(edits, edit{span: at}), nil
	}
	appended := r.blocks[n:]
	if len(appended) == 0 {
		return edits, nil
	}
	var list []byte
	for i, b := range appended {
		if i > 0 || n > 0 {
			list = append(list, ',')
		}
		list = append(list, b.Raw...)
	}
	if !r.listed {
		list = append(append([]byte{'['}, list...), ']')
		if r.content.End > 0 {
			return []edit{{span{r.content.Start, r.content.End}, list}}, nil // a null
		}
		return nil, append([]byte(`"content":`), list...)
	}
	at := r.content.Start + 1
	if n > 0 {
		at = r.spans[n-1].end
	}
	return append(edits, edit{span{at, at}, list}), nil
}

// structuredEdits are the edits of structuredContent; where there is none yet,
// they are a member to add.
func (r *Result) structuredEdits() (edits []edit, added []byte) {
	const name = "structuredContent"
	switch r.follow {
	case dropped:
		edits = r.without(name)
	case replaced:
		if m, ok := r.top.Last(name); ok {
			return []edit{{span{m.Start, m.End}, r.structured}}, nil
		}
		added = append([]byte(`"`+name+`":`), r.structured...)
	}
	return edits, added
}

// without are the edits that take a member out, as often as it occurs: else an
// earlier one would take its place.
func (r *Result) without(name string) []edit {
	var edits []edit
	behind := -1 // the end of what stays, or goes with its own edit
	members := r.top.Members
	for i, m := range members {
		if string(m.Name) != name {
			behind = m.End
			continue
		}
		at := span{m.Key, m.End}
		switch {
		case behind >= 0: // with the comma before it
			at.start, behind = behind, m.End
		case i+1 < len(members): // with the comma behind it
			at.end = members[i+1].Key
		}
		edits = append(edits, edit{span: at})
	}
	return edits
}
