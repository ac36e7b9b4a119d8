package script

import (
	"encoding/json"
	"errors"
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
