package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/rawjson"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/result"
)

// resultValue is result: an answer, which never changes. Its methods make others.
type resultValue struct {
	object
	run *run
	raw json.RawMessage
	// plain: a meta-tool's own JSON, no CallToolResult.
	plain bool
	// failed: the call ended with an error, of which only the message is there.
	failed  bool
	message string
}

// result is the call's answer as it stands.
func (r *run) result() *resultValue {
	c := r.call
	v := &resultValue{run: r, raw: c.Result, plain: plain(c)}
	if c.Err != nil {
		v.failed, v.message = true, core.Public(c.Err).Message
	}
	return v
}

// plain reports whether the call's answer is JSON of any shape.
func plain(c *hooks.Call) bool { return c.Level == hooks.Meta && c.Action != "execute_tool" }

func (*resultValue) String() string { return "result" }
func (*resultValue) Type() string   { return "result" }

// AttrNames lists the attributes.
func (*resultValue) AttrNames() []string {
	return []string{"content", "is_error", "json", "map_text", "structured", "text", "with_json", "with_text"}
}

var errFailed = errors.New("the call failed, there is no result: ctx.error says how, result.text is the message")

// Attr gives an attribute.
func (x *resultValue) Attr(name string) (starlark.Value, error) {
	switch name {
	case "text":
		return x.text()
	case "is_error":
		return x.isError()
	case "content":
		return x.content()
	case "structured":
		return x.structured()
	case "json":
		return starlark.NewBuiltin(name, x.json), nil
	case "with_text":
		return starlark.NewBuiltin(name, x.withText), nil
	case "with_json":
		return starlark.NewBuiltin(name, x.withJSON), nil
	case "map_text":
		return starlark.NewBuiltin(name, x.mapText), nil
	default:
		return nil, nil
	}
}

// parsed takes the result apart, if it is not too large.
func (x *resultValue) parsed() (*result.Result, error) {
	if x.failed {
		return nil, errFailed
	}
	if int64(len(x.raw)) > x.run.Size {
		return nil, x.run.errSize("the result")
	}
	if err := x.run.allocate(int64(len(x.raw))); err != nil {
		return nil, err
	}
	return result.Parse(x.raw)
}

func (x *resultValue) text() (starlark.Value, error) {
	if x.failed {
		return starlark.String(x.message), nil
	}
	if x.plain {
		if int64(len(x.raw)) > x.run.Size {
			return nil, x.run.errSize("the result")
		}
		return starlark.String(x.raw), x.run.allocate(shallow(starlark.String(x.raw)))
	}
	p, err := x.parsed()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, b := range p.Blocks() {
		if s, ok := b.Text(); ok {
			all = append(all, s)
		}
	}
	return starlark.String(strings.Join(all, "\n")), nil
}

func (x *resultValue) isError() (starlark.Value, error) {
	if x.failed || x.plain {
		return starlark.Bool(x.failed), nil
	}
	p, err := x.parsed()
	if err != nil {
		return nil, err
	}
	return starlark.Bool(p.IsError()), nil
}

func (x *resultValue) content() (starlark.Value, error) {
	if x.failed || x.plain {
		return starlark.NewList(nil), nil
	}
	text := rawjson.Find(x.raw, "content")
	if text == nil || string(text) == "null" {
		text = json.RawMessage(`[]`)
	}
	return x.run.frozen("the content", text)
}

func (x *resultValue) structured() (starlark.Value, error) {
	if x.failed {
		return starlark.None, nil
	}
	text := x.raw
	if !x.plain {
		if text = rawjson.Find(x.raw, "structuredContent"); text == nil {
			return starlark.None, nil
		}
	}
	v, err := x.run.decode("the structured content", text)
	if err == nil {
		v.Freeze()
	}
	return v, err
}

// json gives what the result says as JSON, a copy that may be changed: the
// structured content or else the first text that is an object or an array; the
// default, None, if there is neither.
func (x *resultValue) json(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fallback starlark.Value = starlark.None
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "default?", &fallback); err != nil {
		return nil, err
	}
	if x.failed {
		return fallback, nil
	}
	if x.plain {
		return x.run.decode("the result", x.raw)
	}
	p, err := x.parsed()
	if err != nil {
		return nil, err
	}
	if s := p.Structured(); s != nil && string(s) != "null" {
		return x.run.decode("the structured content", s)
	}
	if i := firstText(p, isJSON); i >= 0 {
		s, _ := p.Blocks()[i].Text()
		return x.run.decode("the text", []byte(s))
	}
	return fallback, nil
}

// isJSON reports whether a text is an object or an array.
func isJSON(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && (s[0] == '{' || s[0] == '[') && json.Valid([]byte(s))
}

func firstText(p *result.Result, fits func(string) bool) int {
	for i, b := range p.Blocks() {
		if s, ok := b.Text(); ok && fits(s) {
			return i
		}
	}
	return -1
}

func anyText(string) bool { return true }

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
	if content := rawjson.Find(text, "content"); len(content) == 0 || content[0] != '[' {
		return fmt.Errorf("%s is no result: it needs \"content\", a list (for JSON, use result.with_json or json.encode)", what)
	}
	if _, err := result.Parse(text); err != nil {
		return fmt.Errorf("%s is no result: %w", what, err)
	}
	return nil
}
