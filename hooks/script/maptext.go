package script

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.starlark.net/starlark"

	"github.com/toolscout/toolscout/core/rawjson"
	"github.com/toolscout/toolscout/hooks/result"
)

// mapText makes a result in which f was applied to every text: each text block and,
// in structured content and texts that are JSON, each string that is no key.
func (x *resultValue) mapText(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var f starlark.Callable
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &f); err != nil {
		return nil, err
	}
	m := mapper{run: x.run, thread: t, f: f}
	if x.failed {
		s, err := m.apply(x.message)
		return &resultValue{run: x.run, failed: true, message: s}, err
	}
	if x.plain {
		text, err := m.inJSON(x.raw)
		return &resultValue{run: x.run, raw: text, plain: true}, err
	}
	p, err := x.parsed()
	if err != nil {
		return nil, err
	}
	if err := m.inResult(p); err != nil {
		return nil, err
	}
	return &resultValue{run: x.run, raw: p.Bytes()}, nil
}

type mapper struct {
	run    *run
	thread *starlark.Thread
	f      starlark.Callable
}

func (m mapper) inResult(p *result.Result) error {
	for i, b := range p.Blocks() {
		s, ok := b.Text()
		if !ok {
			continue
		}
		mapped, err := m.inText(s)
		if err != nil {
			return err
		}
		if mapped != s {
			p.SetText(i, mapped)
		}
	}
	old := p.Structured()
	if old == nil {
		return nil
	}
	text, err := m.inJSON(old)
	if err == nil && !bytes.Equal(text, old) {
		p.SetStructured(text)
	}
	return err
}

func (m mapper) inText(s string) (string, error) {
	if !isJSON(s) {
		return m.apply(s)
	}
	text, err := m.inJSON([]byte(s))
	return string(text), err
}

func (m mapper) inJSON(text json.RawMessage) (json.RawMessage, error) {
	v, err := m.run.decode("the result", text)
	if err != nil {
		return nil, err
	}
	mapped, err := m.value(v)
	if err != nil {
		return nil, err
	}
	out, err := m.run.encode("the result", mapped)
	if start := rawjson.Space(text, 0); err == nil && same(out, text[start:rawjson.Skip(text, start)]) {
		return text, nil
	}
	return out, err
}

// value applies f to the strings in v, which is decoded JSON and the mapper's own.
func (m mapper) value(v starlark.Value) (starlark.Value, error) {
	switch v := v.(type) {
	case starlark.String:
		s, err := m.apply(string(v))
		return starlark.String(s), err
	case *starlark.List:
		for i := range v.Len() {
			mapped, err := m.value(v.Index(i))
			if err != nil {
				return nil, err
			}
			if err := v.SetIndex(i, mapped); err != nil {
				return nil, err
			}
		}
	case *starlark.Dict:
		for _, k := range v.Keys() {
			old, _, err := v.Get(k)
			if err != nil {
				return nil, err
			}
			mapped, err := m.value(old)
			if err != nil {
				return nil, err
			}
			if err := v.SetKey(k, mapped); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func (m mapper) apply(s string) (string, error) {
	if err := m.run.allocate(shallow(starlark.String(s))); err != nil {
		return "", err
	}
	v, err := starlark.Call(m.thread, m.f, starlark.Tuple{starlark.String(s)}, nil)
	if err != nil {
		return "", err
	}
	out, ok := starlark.AsString(v)
	if !ok {
		return "", fmt.Errorf("map_text: the function returned a %s for a text, not a text", v.Type())
	}
	return out, m.run.allocate(shallow(v))
}
