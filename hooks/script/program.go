package script

import (
	"errors"
	"fmt"
	"maps"

	starmath "go.starlark.net/lib/math"
	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/toolscout/toolscout/core"
)

const (
	largestSource = 64 << 10
	mostBrackets  = 100
)

// The functions that a script may define.
const (
	beforeCall = "before_call"
	afterCall  = "after_call"
	onEvent    = "on_event"
)

// program is a script that was compiled and whose module-level code has run.
type program struct {
	globals              starlark.StringDict
	before, after, event *starlark.Function
}

// environment is what a script finds beside the interpreter's own constants.
func environment(config starlark.Value) starlark.StringDict {
	env := universe()
	maps.Copy(env, operators())
	env["config"] = config
	env["json"] = jsonModule()
	env["re"] = reModule()
	env["math"] = starmath.Module
	env["time"] = timeModule()
	env["cache"] = cacheModule()
	env["emit"] = starlark.NewBuiltin("emit", emit)
	env["reject"] = starlark.NewBuiltin("reject", reject)
	env["answer"] = starlark.NewBuiltin("answer", answer)
	return env
}

// compile turns source into a program that has not run yet.
func compile(name string, source []byte, env starlark.StringDict) (*starlark.Program, error) {
	if len(source) > largestSource {
		return nil, core.Errorf(core.InvalidParams, "%s: a script has at most %d bytes", name, largestSource)
	}
	if line := tooNested(source); line > 0 {
		return nil, core.Errorf(core.InvalidParams, "%s:%d: more than %d brackets within each other", name, line, mostBrackets)
	}
	options := &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true}
	f, err := options.Parse(name, source, 0)
	if err != nil {
		return nil, invalid(err)
	}
	if err := refuseLoad(f); err != nil {
		return nil, err
	}
	rewrite(f)
	program, err := starlark.FileProgram(f, env.Has)
	if err != nil {
		return nil, invalid(err)
	}
	return program, nil
}

// invalid is the error of a source that does not compile: all that is wrong, each
// with its position.
func invalid(err error) error {
	var list resolve.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		e := core.Errorf(core.InvalidParams, "%s", located(list[0].Pos, list[0].Msg))
		for _, fault := range list {
			e.Faults = append(e.Faults, core.Fault{Pointer: sourcePointer, Message: located(fault.Pos, fault.Msg)})
		}
		return e
	}
	var wrong syntax.Error
	if errors.As(err, &wrong) {
		return core.Errorf(core.InvalidParams, "%s", located(wrong.Pos, wrong.Msg))
	}
	return core.Errorf(core.InvalidParams, "%s", cut(err.Error(), longestLine))
}

func located(pos syntax.Position, message string) string {
	return fmt.Sprintf("%s:%d:%d: %s", pos.Filename(), pos.Line, pos.Col, cut(message, longestLine))
}

func refuseLoad(f *syntax.File) error {
	var err error
	syntax.Walk(f, func(n syntax.Node) bool {
		if l, ok := n.(*syntax.LoadStmt); ok && err == nil {
			err = core.Errorf(core.InvalidParams, "%s", located(l.Load, "a script is one file: there is no load()"))
		}
		return err == nil
	})
	return err
}

// tooNested gives the line where brackets stand too deep within each other, 0 if
// they do not: the parser recurses into each.
func tooNested(source []byte) int {
	depth, line := 0, 1
	for i := 0; i < len(source); i++ {
		switch c := source[i]; c {
		case '\n':
			line++
		case '(', '[', '{':
			if depth++; depth > mostBrackets {
				return line
			}
		case ')', ']', '}':
			depth = max(0, depth-1)
		case '#':
			for i+1 < len(source) && source[i+1] != '\n' {
				i++
			}
		case '"', '\'':
			end := endOfString(source, i)
			for ; i < end; i++ {
				if source[i] == '\n' {
					line++
				}
			}
			i--
		}
	}
	return 0
}

// endOfString gives the position behind the string literal that begins at i.
func endOfString(source []byte, i int) int {
	quote, long := source[i], false
	if i+2 < len(source) && source[i+1] == quote && source[i+2] == quote {
		long = true
		i += 2
	}
	for i++; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\\':
			i++
		case c == '\n' && !long:
			return i
		case c == quote && !long:
			return i + 1
		case c == quote && i+2 < len(source) && source[i+1] == quote && source[i+2] == quote:
			return i + 3
		}
	}
	return len(source)
}

// load runs the module-level code and finds the functions.
func (r *run) load(p *starlark.Program, env starlark.StringDict) (*program, error) {
	globals, err := p.Init(r.thread, env)
	if err != nil {
		return nil, r.broken(err)
	}
	out := &program{globals: globals}
	for name, f := range map[string]**starlark.Function{beforeCall: &out.before, afterCall: &out.after, onEvent: &out.event} {
		if err := r.function(globals, name, f); err != nil {
			return nil, err
		}
	}
	if out.before == nil && out.after == nil && out.event == nil {
		return nil, core.Errorf(core.InvalidParams, "%s: defines none of %s(ctx, request), %s(ctx, result), %s(ctx, event)",
			r.hook.name, beforeCall, afterCall, onEvent)
	}
	for _, v := range globals {
		// Freezing goes through tuples as often as they occur.
		if _, err := r.weigh(v); err != nil {
			return nil, r.broken(err)
		}
	}
	globals.Freeze()
	return out, nil
}

func (r *run) function(globals starlark.StringDict, name string, to **starlark.Function) error {
	v, ok := globals[name]
	if !ok {
		return nil
	}
	f, ok := v.(*starlark.Function)
	if !ok || f.NumParams() != 2 || f.NumKwonlyParams() > 0 || f.HasVarargs() || f.HasKwargs() {
		place := r.hook.name
		if ok {
			pos := f.Position()
			place = fmt.Sprintf("%s:%d:%d", place, pos.Line, pos.Col)
		}
		return core.Errorf(core.InvalidParams, "%s: %s must be a function of two parameters", place, name)
	}
	*to = f
	return nil
}

// broken is the error of module-level code.
func (r *run) broken(err error) error {
	place, message := r.hook.place(err)
	return core.Errorf(core.InvalidParams, "%s: %s", place, message)
}
