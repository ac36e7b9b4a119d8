package script

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// What one run may leave behind beside its result.
const (
	mostEvents   = 16
	largestEvent = 16 << 10
	mostNotes    = 20
	mostWarnings = 10
	longestNote  = 200
)

func module(name string, members map[string]builtin) *starlarkstruct.Module {
	m := &starlarkstruct.Module{Name: name, Members: starlark.StringDict{}}
	for _, member := range slices.Sorted(maps.Keys(members)) {
		m.Members[member] = starlark.NewBuiltin(name+"."+member, members[member])
	}
	return m
}

// reject ends the run, and with it the call.
func reject(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var reason, hint string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "reason", &reason, "hint?", &hint); err != nil {
		return nil, err
	}
	if reason == "" {
		return nil, errors.New("reject: say why")
	}
	e := core.Errorf(core.HookRejected, "%s", cut(reason, longestReason))
	e.Hint = cut(hint, longestReason)
	return nil, &stopped{rejection: &hooks.Rejection{Err: e}}
}

// answer ends the run with a result in place of the tool's.
func answer(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "result", &v); err != nil {
		return nil, err
	}
	return nil, &stopped{answer: v}
}

// warn is ctx.warn(text).
func warn(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var s string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "text", &s); err != nil {
		return nil, err
	}
	r := current(t)
	if r.warned++; r.warned > mostWarnings {
		return nil, fmt.Errorf("warn: more than %d warnings", mostWarnings)
	}
	r.call.Warn(cut(s, longestReason))
	return starlark.None, nil
}

// note is ctx.note(key, value).
func note(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var key string
	var v starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "key", &key, "value", &v); err != nil {
		return nil, err
	}
	r := current(t)
	if r.notes++; r.notes > mostNotes {
		return nil, fmt.Errorf("note: more than %d notes", mostNotes)
	}
	switch v := v.(type) {
	case starlark.Bool:
		r.call.Note(cut(key, longestNote), bool(v))
	case starlark.Int:
		n, ok := v.Int64()
		if !ok {
			return nil, errors.New("note: the number is too large")
		}
		r.call.Note(cut(key, longestNote), n)
	case starlark.Float:
		r.call.Note(cut(key, longestNote), float64(v))
	case starlark.String:
		r.call.Note(cut(key, longestNote), cut(string(v), longestNote))
	default:
		return nil, fmt.Errorf("note: a value of type %s, want a text, a number or a truth value", v.Type())
	}
	return starlark.None, nil
}

// emit publishes an event of the team's own once the run has ended well.
func emit(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	var data starlark.Value = new(starlark.Dict)
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "event", &name, "data?", &data); err != nil {
		return nil, err
	}
	if err := core.CheckEventType(name); err != nil {
		return nil, fmt.Errorf("emit: %s", core.Public(err).Message)
	}
	if _, ok := data.(*starlark.Dict); !ok {
		return nil, fmt.Errorf("emit: the data is a %s, want a dict", data.Type())
	}
	r := current(t)
	if r.call == nil && r.hook.program == nil {
		return nil, errors.New("emit: only while a call or an event is handled")
	}
	if len(r.events) == mostEvents {
		return nil, fmt.Errorf("emit: more than %d events", mostEvents)
	}
	text, err := r.encode("the event's data", data)
	if err != nil {
		return nil, err
	}
	if len(text) > largestEvent {
		return nil, fmt.Errorf("emit: the data is larger than %d bytes", largestEvent)
	}
	r.events = append(r.events, core.Event{Time: r.hook.now(), Type: name, TenantID: r.hook.tenant, UserID: r.hook.owner, Data: text})
	return starlark.None, nil
}

// send publishes what was emitted. In observe mode it only says how much it was.
func (r *run) send(ctx context.Context) error {
	if len(r.events) == 0 {
		return nil
	}
	if r.call != nil {
		r.call.Note("events", len(r.events))
		if r.call.Observing() {
			return nil
		}
	}
	if r.hook.publish == nil {
		return core.Errorf(core.Unavailable, "%s: events are not published here", r.hook.name)
	}
	for _, e := range r.events {
		if c := r.call; c != nil {
			e.TenantID, e.UserID, e.Subject = c.Principal.TenantID, c.Principal.UserID, c.Name()
			if c.Server != nil {
				e.ServerID = c.Server.ID
			}
		}
		if err := r.hook.publish(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func jsonModule() *starlarkstruct.Module {
	return module("json", map[string]builtin{"encode": jsonEncode, "decode": jsonDecode})
}

func jsonEncode(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &v); err != nil {
		return nil, err
	}
	text, err := current(t).encode("the value", v)
	if err != nil {
		return nil, fmt.Errorf("json.encode: %w", err)
	}
	return starlark.String(text), current(t).allocate(shallow(starlark.String(text)))
}

// jsonDecode gives the default, if there is one, for what is no JSON; too large or
// too deep is an error nevertheless.
func jsonDecode(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var s string
	var fallback starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "text", &s, "default?", &fallback); err != nil {
		return nil, err
	}
	v, err := current(t).decode("the text", []byte(s))
	if err == nil {
		return v, nil
	}
	var limit *limitError
	if fallback != nil && !errors.As(err, &limit) {
		return fallback, nil
	}
	return nil, fmt.Errorf("json.decode: %w", err)
}
