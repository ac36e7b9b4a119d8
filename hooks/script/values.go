package script

import (
	"encoding/json"
	"fmt"
	"slices"

	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

const longestReason = 2000

// object is what all values that scripts are given have in common.
type object struct{}

func (object) Freeze()               {}
func (object) Truth() starlark.Bool  { return starlark.True }
func (object) Hash() (uint32, error) { return 0, fmt.Errorf("not hashable") }

// ctxValue is ctx: what is known of the call.
type ctxValue struct {
	object
	run   *run
	after bool
	event *core.Event
}

func (*ctxValue) String() string { return "ctx" }
func (*ctxValue) Type() string   { return "ctx" }

var ctxAttrs = []string{"action", "agent", "annotations", "description", "duration_ms", "error", "is_error", "level",
	"note", "observing", "request_id", "roles", "server", "tool", "user", "values", "warn"}

// AttrNames lists the attributes.
func (*ctxValue) AttrNames() []string { return ctxAttrs }

// Attr gives an attribute. Outside calls most are None.
func (x *ctxValue) Attr(name string) (starlark.Value, error) {
	if !slices.Contains(ctxAttrs, name) {
		return nil, nil
	}
	if x.event != nil {
		if name == "level" {
			return starlark.String("event"), nil
		}
		return starlark.None, nil
	}
	c := x.run.call
	switch name {
	case "action":
		return starlark.String(c.Action), nil
	case "agent":
		return starlark.String(c.Principal.Agent), nil
	case "level":
		return starlark.String(c.Level), nil
	case "observing":
		return starlark.Bool(c.Observing()), nil
	case "request_id":
		return starlark.String(c.RequestID), nil
	case "roles":
		return texts(c.Principal.Roles), nil
	case "user":
		return starlark.String(c.Principal.UserName), nil
	case "values":
		return x.run.values, nil
	case "warn":
		return starlark.NewBuiltin("warn", warn), nil
	case "note":
		return starlark.NewBuiltin("note", note), nil
	case "duration_ms", "error", "is_error":
		return x.outcome(name), nil
	default:
		return x.about(name)
	}
}

// outcome is known after the call.
func (x *ctxValue) outcome(name string) starlark.Value {
	c := x.run.call
	if !x.after {
		return starlark.None
	}
	switch name {
	case "duration_ms":
		return starlark.Float(float64(c.Duration.Microseconds()) / 1000)
	case "is_error":
		return starlark.Bool(c.IsError || c.Err != nil)
	default:
		if c.Err == nil {
			return starlark.None
		}
		return starlark.String(core.Public(c.Err).Kind)
	}
}

// about is what the call is about. On the level meta that may be nothing.
func (x *ctxValue) about(name string) (starlark.Value, error) {
	c := x.run.call
	switch {
	case name == "tool" && c.Level == hooks.Meta && c.Tool == nil:
		return starlark.String(c.Action), nil
	case name == "server":
		if c.Server == nil {
			return starlark.None, nil
		}
		return starlark.String(c.Server.Name), nil
	case c.Tool == nil:
		return starlark.None, nil
	case name == "tool":
		return starlark.String(c.Tool.Name), nil
	case name == "description":
		return starlark.String(c.Tool.Description), nil
	}
	return x.run.frozen("the tool's annotations", c.Tool.Annotations)
}

// frozen decodes what the script may not change; nothing is an empty dict.
func (r *run) frozen(what string, text json.RawMessage) (starlark.Value, error) {
	if len(text) == 0 || string(text) == "null" {
		text = json.RawMessage(`{}`)
	}
	v, err := r.decode(what, text)
	if err != nil {
		return nil, err
	}
	v.Freeze()
	return v, nil
}

func texts(list []string) starlark.Tuple {
	t := make(starlark.Tuple, len(list))
	for i, s := range list {
		t[i] = starlark.String(s)
	}
	return t
}

// requestValue is request: the arguments.
type requestValue struct {
	object
	run  *run
	args *starlark.Dict
	text []byte // what args was decoded from
}

func (*requestValue) String() string { return "request" }
func (*requestValue) Type() string   { return "request" }

// AttrNames lists the attributes.
func (*requestValue) AttrNames() []string { return []string{"arguments", "original"} }

// Attr gives an attribute: the arguments as they stand, the script's own copy, or
// as they came.
func (x *requestValue) Attr(name string) (starlark.Value, error) {
	switch name {
	case "arguments":
		return x.arguments()
	case "original":
		return x.run.frozen("the original arguments", x.run.call.Original)
	default:
		return nil, nil
	}
}

func (x *requestValue) arguments() (starlark.Value, error) {
	if x.args != nil {
		return x.args, nil
	}
	args := x.run.call.Args
	if len(args) == 0 || string(args) == "null" {
		x.args = new(starlark.Dict)
		return x.args, nil
	}
	v, err := x.run.decode("the arguments", args)
	if err != nil {
		return nil, err
	}
	d, ok := v.(*starlark.Dict)
	if !ok {
		return nil, fmt.Errorf("the arguments are a %s, not an object", v.Type())
	}
	x.args, x.text = d, x.run.texts[d]
	return d, nil
}

// changed reports whether the arguments that the script was given are no longer
// what they were.
func (x *requestValue) changed() (bool, error) {
	if x.args == nil {
		return false, nil
	}
	if x.text == nil {
		return x.args.Len() > 0, nil
	}
	text, err := x.run.encode("request.arguments", x.args)
	return err == nil && !same(text, x.text), err
}

// eventValue is event: something that happened outside calls.
type eventValue struct {
	object
	run   *run
	event core.Event
}

func (*eventValue) String() string { return "event" }
func (*eventValue) Type() string   { return "event" }

// AttrNames lists the attributes.
func (*eventValue) AttrNames() []string { return []string{"data", "subject", "time", "type"} }

// Attr gives an attribute.
func (x *eventValue) Attr(name string) (starlark.Value, error) {
	switch name {
	case "data":
		return x.run.frozen("the event's data", x.event.Data)
	case "subject":
		return starlark.String(x.event.Subject), nil
	case "time":
		return startime.Time(x.event.Time), nil
	case "type":
		return starlark.String(x.event.Type), nil
	default:
		return nil, nil
	}
}
