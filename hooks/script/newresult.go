package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"go.starlark.net/starlark"

	"github.com/toolscout/toolscout/core/rawjson"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/result"
)

// withText makes a result that says s in place of all its texts.
func (x *resultValue) withText(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var s string
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &s); err != nil {
		return nil, err
	}
	if x.failed {
		return &resultValue{run: x.run, failed: true, message: s}, nil
	}
	if x.plain {
		return nil, errPlain
	}
	p, err := x.parsed()
	if err != nil {
		return nil, err
	}
	if err := x.run.allocate(2 * shallow(starlark.String(s))); err != nil {
		return nil, err
	}
	raw, err := replaceText(x.raw, p, s)
	return &resultValue{run: x.run, raw: raw}, err
}

var errPlain = errors.New("the result of a meta-tool is JSON: return result.with_json(value)")

// withText is call's result with other text.
func withText(c *hooks.Call, s string) (json.RawMessage, error) {
	if plain(c) {
		return nil, errPlain
	}
	p, err := result.Parse(c.Result)
	if err != nil {
		return nil, err
	}
	return replaceText(c.Result, p, s)
}

// replaceText puts s in the place of the first text block and leaves the other text
// blocks out. Structured content that does not say the same as the only text would
// still say what was replaced, and is dropped.
func replaceText(raw json.RawMessage, p *result.Result, s string) (json.RawMessage, error) {
	at := firstText(p, anyText)
	if at < 0 {
		p.Append(result.TextBlock(s, nil))
		p.DropStructured()
		return p.Bytes(), nil
	}
	only := true
	kept := make([][]byte, 0, len(p.Blocks()))
	for i, b := range p.Blocks() {
		if _, text := b.Text(); text && i != at {
			only = false
			continue
		}
		kept = append(kept, b.Raw)
	}
	follows := only && (p.Mirrors(at) || p.Wraps(at))
	if !only {
		var err error
		if p, err = withContent(raw, kept); err != nil {
			return nil, err
		}
		at = firstText(p, anyText)
	}
	if !follows {
		p.DropStructured()
	}
	p.Rewrite(at, s)
	return p.Bytes(), nil
}

// withContent is raw with other blocks as its content.
func withContent(raw json.RawMessage, blocks [][]byte) (*result.Result, error) {
	object, err := rawjson.Scan(raw)
	if err != nil {
		return nil, err
	}
	m, _ := object.Last("content")
	content := append([]byte{'['}, bytes.Join(blocks, []byte{','})...)
	return result.Parse(rawjson.Replace(raw, m.Start, m.End, append(content, ']')))
}

// withJSON makes a result that says v, as structured content if there was any, and
// as text in the place of the text that said the same.
func (x *resultValue) withJSON(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &v); err != nil {
		return nil, err
	}
	if x.failed {
		return nil, errFailed
	}
	text, err := x.run.encode("with_json(value)", v)
	if err != nil || x.plain {
		return &resultValue{run: x.run, raw: text, plain: true}, err
	}
	p, err := x.parsed()
	if err != nil {
		return nil, err
	}
	at := x.spoken(p)
	said, err := x.saidBy(p, at, v, text)
	if err != nil {
		return nil, err
	}
	if p.Structured() != nil {
		if _, ok := v.(*starlark.Dict); ok {
			p.SetStructured(text)
		} else {
			p.DropStructured()
		}
	}
	if at >= 0 {
		p.SetText(at, said)
	} else {
		p.Append(result.TextBlock(said, nil))
	}
	return &resultValue{run: x.run, raw: p.Bytes()}, nil
}

// saidBy is how text block at says v: where structured content is that text under
// one name, without the name.
func (x *resultValue) saidBy(p *result.Result, at int, v starlark.Value, text json.RawMessage) (string, error) {
	d, ok := v.(*starlark.Dict)
	if at < 0 || !ok || d.Len() != 1 || p.Mirrors(at) || !p.Wraps(at) {
		return string(text), nil
	}
	inner := d.Items()[0][1]
	if s, ok := starlark.AsString(inner); ok {
		return s, nil
	}
	said, err := x.run.encode("with_json(value)", inner)
	return string(said), err
}

// spoken is the text block that says what json() gives; -1 if none does.
func (x *resultValue) spoken(p *result.Result) int {
	if p.Structured() != nil {
		for i := range p.Blocks() {
			if p.Mirrors(i) || p.Wraps(i) {
				return i
			}
		}
	}
	if i := firstText(p, isJSON); i >= 0 {
		return i
	}
	return firstText(p, anyText)
}

// newText is a result of one text.
func newText(s string) json.RawMessage {
	return append(append([]byte(`{"content":[`), result.TextBlock(s, nil)...), `]}`...)
}

// asResult turns what a script gave as a result into one: a result, a dict of the
// same shape, or a text, which ofText places.
func (r *run) asResult(what string, v starlark.Value, ofText func(string) (json.RawMessage, error)) (json.RawMessage, error) {
	switch v := v.(type) {
	case *resultValue:
		return v.raw, nil
	case starlark.String:
		if int64(len(v)) > r.Size {
			return nil, r.errSize(what)
		}
		if plain(r.call) {
			return nil, errPlain
		}
		return ofText(string(v))
	case *starlark.Dict:
		text, err := r.encode(what, v)
		if err != nil {
			return nil, err
		}
		return text, checkResult(r.call, what, text)
	default:
		return nil, fmt.Errorf("%s is a %s: it must be a text, a result, or a dict like {\"content\": [{\"type\": \"text\", \"text\": \"…\"}]}", what, v.Type())
	}
}

func checkResult(c *hooks.Call, what string, text json.RawMessage) error {
	if plain(c) {
		return nil
	}
	if err := result.Check(text); err != nil {
		return fmt.Errorf("%s is no result: %w (for JSON, use result.with_json or json.encode)", what, err)
	}
	return nil
}
