package script

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"github.com/toolscout/toolscout/core/rawjson"
)

// encode writes a value as JSON. What was decoded by this run and not changed is
// written as it was; a value of which nothing was changed gives its very text. what
// names the value in errors.
func (r *run) encode(what string, v starlark.Value) (json.RawMessage, error) {
	n, err := r.weigh(v)
	if err != nil {
		return nil, err
	}
	if err := r.allocate(2 * n); err != nil {
		return nil, err
	}
	w := writer{run: r, what: what}
	text, _ := r.known(v)
	kept, err := w.value(v, text)
	switch {
	case err != nil:
		return nil, err
	case kept:
		return text, nil
	case int64(len(w.out)) > r.Size:
		return nil, r.errSize(what)
	}
	return w.out, nil
}

// known gives the text that a dict or list was decoded from.
func (r *run) known(v starlark.Value) ([]byte, bool) {
	switch v.(type) {
	case *starlark.Dict, *starlark.List:
		text, ok := r.texts[v]
		return text, ok
	}
	return nil, false
}

type writer struct {
	run   *run
	what  string
	out   []byte
	depth int
}

// value writes v and reports whether it is what old says, which then is what was
// written. old is the text that stood in its place, nil if none did.
func (w *writer) value(v starlark.Value, old []byte) (bool, error) {
	if int64(len(w.out)) > w.run.Size {
		return false, w.run.errSize(w.what)
	}
	if w.depth++; w.depth > deepest {
		return false, fmt.Errorf("%s is nested more than %d deep", w.what, deepest)
	}
	defer func() { w.depth-- }()
	switch v := v.(type) {
	case *starlark.Dict:
		return w.dict(v, old)
	case *starlark.List:
		return w.list(v, old)
	case *starlark.Set:
		return false, w.elements(v)
	case starlark.Tuple:
		return false, w.elements(v)
	case *resultValue:
		w.out = append(w.out, v.raw...)
		return false, nil
	}
	if old != nil && unchanged(v, old) {
		w.out = append(w.out, old...)
		return true, nil
	}
	var err error
	w.out, err = appendScalar(w.out, v, w.what)
	return false, err
}

// unchanged reports whether a scalar is what old says.
func unchanged(v starlark.Value, old []byte) bool {
	if old[0] == '{' || old[0] == '[' {
		return false
	}
	was, err := scalar(old)
	if err != nil || was.Type() != v.Type() {
		return false
	}
	if f, ok := v.(starlark.Float); ok {
		return f == was.(starlark.Float)
	}
	equal, err := starlark.Equal(v, was)
	return equal && err == nil
}

// dict writes a dict. Members that stand under the name they came from keep their
// text.
func (w *writer) dict(d *starlark.Dict, old []byte) (bool, error) {
	start := len(w.out)
	text, members, err := w.members(d)
	if err != nil {
		return false, err
	}
	kept, i := text != nil && len(members.order) == d.Len(), 0
	w.out = append(w.out, '{')
	for k, v := range d.Entries() {
		name, ok := starlark.AsString(k)
		if !ok {
			return false, fmt.Errorf("%s has a key of type %s: JSON objects need strings", w.what, k.Type())
		}
		if i > 0 {
			w.out = append(w.out, ',')
		}
		m, known := members.named[name]
		if known {
			w.out = append(w.out, m.key...)
		} else {
			w.out = appendString(w.out, name)
		}
		w.out = append(w.out, ':')
		same, err := w.value(v, m.value)
		if err != nil {
			return false, err
		}
		kept = kept && same && members.order[i] == name
		i++
	}
	w.out = append(w.out, '}')
	return w.keep(start, kept, text, old), nil
}

// keep replaces what was written since start by the text it came from, if nothing
// of it was changed, and reports whether that is what stood in its place.
func (w *writer) keep(start int, kept bool, text, old []byte) bool {
	if !kept {
		return false
	}
	w.out = append(w.out[:start], text...)
	return same(text, old)
}

// memberTexts are the members of the object that a dict was decoded from. Of equal
// names the last counts.
type memberTexts struct {
	named map[string]memberText
	order []string
}

type memberText struct{ key, value []byte }

func (w *writer) members(d *starlark.Dict) ([]byte, memberTexts, error) {
	text, ok := w.run.texts[d]
	if !ok {
		return nil, memberTexts{}, nil
	}
	if err := w.charge(len(text), d.Len()); err != nil {
		return nil, memberTexts{}, err
	}
	m := memberTexts{named: make(map[string]memberText, d.Len())}
	err := rawjson.Members(text, func(at rawjson.Member) {
		name := valid(at.Name)
		if _, again := m.named[name]; !again {
			m.order = append(m.order, name)
		}
		m.named[name] = memberText{text[at.Key:rawjson.Skip(text, at.Key)], text[at.Start:at.End]}
	})
	return text, m, err
}

// list writes a list. Elements that stand where they came from keep their text.
func (w *writer) list(l *starlark.List, old []byte) (bool, error) {
	text, ok := w.run.texts[l]
	if !ok {
		return false, w.elements(l)
	}
	if err := w.charge(len(text), l.Len()); err != nil {
		return false, err
	}
	var was [][]byte
	if err := rawjson.Elements(text, func(start, end int) { was = append(was, text[start:end]) }); err != nil {
		return false, err
	}
	begin, kept := len(w.out), len(was) == l.Len()
	w.out = append(w.out, '[')
	for i := range l.Len() {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		var before []byte
		if i < len(was) {
			before = was[i]
		}
		same, err := w.value(l.Index(i), before)
		if err != nil {
			return false, err
		}
		kept = kept && same
	}
	w.out = append(w.out, ']')
	return w.keep(begin, kept, text, old), nil
}

// charge is for taking apart a text of n bytes with so many parts.
func (w *writer) charge(n, parts int) error {
	if err := w.run.work(int64(n)); err != nil {
		return err
	}
	return w.run.allocate(int64(parts) * costEntry)
}

func (w *writer) elements(list starlark.Iterable) error {
	w.out = append(w.out, '[')
	it := list.Iterate()
	defer it.Done()
	var v starlark.Value
	for i := 0; it.Next(&v); i++ {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if _, err := w.value(v, nil); err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	return nil
}

func appendScalar(b []byte, v starlark.Value, what string) ([]byte, error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return append(b, "null"...), nil
	case starlark.Bool:
		return strconv.AppendBool(b, bool(v)), nil
	case starlark.Int:
		return append(b, v.String()...), nil
	case starlark.String:
		return appendString(b, string(v)), nil
	case starlark.Float:
		if math.IsInf(float64(v), 0) || math.IsNaN(float64(v)) {
			return b, fmt.Errorf("%s holds %s, which JSON cannot say", what, v)
		}
		return append(b, v.String()...), nil
	default:
		return b, fmt.Errorf("%s holds a value of type %s, which JSON cannot say", what, v.Type())
	}
}

const hexDigits = "0123456789abcdef"

// appendString writes s quoted, with no more escapes than JSON asks for. What is no
// UTF-8 is replaced.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[done:i]...), "\uFFFD"...)
				done = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[done:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		done = i
	}
	return append(append(b, s[done:]...), '"')
}
