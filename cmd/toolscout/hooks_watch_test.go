package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/toolscout/toolscout/hooks"
)

// attempt is one half of one hook at work, or the work itself, which has no hook.
type attempt struct {
	call string // id of the request
	hook string
	half half
	in   view // the call as the hook got it
	out  view // as it left it
	err  error
}

type half string

const (
	before half = "before"
	after  half = "after"
)

// view is what a hook may change of a call.
type view struct {
	args, result []byte
	err          error
	warnings     []string
}

func look(c *hooks.Call) view {
	return view{bytes.Clone(c.Args), bytes.Clone(c.Result), c.Err, slices.Clone(c.Warnings)}
}

func (v view) equal(o view) bool {
	return bytes.Equal(v.args, o.args) && bytes.Equal(v.result, o.result) && (v.result == nil) == (o.result == nil) &&
		errors.Is(v.err, o.err) && errors.Is(o.err, v.err) && slices.Equal(v.warnings, o.warnings)
}

func (v view) String() string {
	return fmt.Sprintf("arguments %.3000q result %.3000q error %v warnings %q", v.args, v.result, v.err, v.warnings)
}

// watched is a type whose hooks are watched.
func (w *world) watched(typ hooks.Type) hooks.Type {
	create := typ.New
	typ.New = func(i hooks.Instance) (hooks.Hook, error) {
		h, err := create(i)
		return &watcher{w, w.plans[i.Name], h}, err
	}
	return typ
}

// watcher is a real hook that is watched. Where it is planned, it spoils what the
// hook did by failing in its place, when all is done.
type watcher struct {
	world *world
	plan  *plan
	hook  hooks.Hook
}

func (o *watcher) Before(ctx context.Context, c *hooks.Call) error {
	return o.watch(ctx, c, before, o.hook.Before)
}

func (o *watcher) After(ctx context.Context, c *hooks.Call) error {
	return o.watch(ctx, c, after, o.hook.After)
}

func (o *watcher) Close() error {
	if c, ok := o.hook.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

var errSpoilt = errors.New("spoilt")

func (o *watcher) watch(ctx context.Context, c *hooks.Call, h half, work func(context.Context, *hooks.Call) error) error {
	a := attempt{call: c.RequestID, hook: o.plan.Name, half: h, in: look(c)}
	args, result := c.Args, c.Result
	func() {
		defer func() {
			if v := recover(); v != nil {
				o.world.t.Errorf("%s of %v panics: %v", h, o.plan, v)
			}
		}()
		a.err = work(ctx, c)
	}()
	if !bytes.Equal(args, a.in.args) || !bytes.Equal(result, a.in.result) {
		o.world.t.Errorf("%s of %v modified bytes in place", h, o.plan)
	}
	o.world.acted(o.plan, c.RequestID, h, a.err)
	spoil := o.plan.spoils == h && !isRejection(a.err)
	if spoil {
		a.err = errSpoilt
	}
	a.out = look(c)
	o.world.note(a)
	if spoil && o.plan.panics {
		panic(errSpoilt)
	}
	return a.err
}
