package hooks_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

func TestAtEnd(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		mode hooks.Mode
		fail error
		want string
		meta map[string]any
	}{
		{"enforce", hooks.Enforce, nil, `in work out end {"done":true}`, map[string]any{"left": 1, "ended": true}},
		{"observe", hooks.Observe, nil, `in work out`, nil},
		{"failed", hooks.Enforce, errors.New("no"), `in work out`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var d diary
			leaver := hooks.Entry{Name: "leaver", Mode: tc.mode, OnError: hooks.Ignore, Hook: hook{after: func(_ context.Context, c *hooks.Call) error {
				c.SetMeta("left", 1)
				c.AtEnd(func(_ context.Context, c *hooks.Call) {
					d.note("end %s", c.Result)
					c.SetMeta("ended", true)
					c.Warn("ended")
				})
				return tc.fail
			}}}
			outer, inner := newCall(), newCall()
			r := hooks.NewRunner(hooks.Config{})
			around := hooks.Entry{Name: "around", Hook: hook{
				before: func(context.Context, *hooks.Call) error { d.note("in"); return nil },
				after:  func(context.Context, *hooks.Call) error { d.note("out"); return nil }}}
			err := r.Run(t.Context(), hooks.Compile([]hooks.Entry{around}, outer), outer, func(ctx context.Context, outer *hooks.Call) error {
				err := r.Run(ctx, hooks.Compile([]hooks.Entry{leaver}, inner), inner, d.work)
				outer.Result = inner.Result
				outer.Adopt(inner)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			outer.End(t.Context())
			outer.End(t.Context()) // once only
			if d.String() != tc.want {
				t.Errorf("got %s, want %s", d.String(), tc.want)
			}
			if diff := cmp.Diff(tc.meta, outer.Meta); diff != "" {
				t.Errorf("meta (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAtEnd_knows_a_rejection: what is left behind can depend on whether the caller
// got anything.
func TestAtEnd_knows_a_rejection(t *testing.T) {
	t.Parallel()
	var d diary
	var got error
	leaver := hooks.Entry{Name: "leaver", Priority: 1, Hook: hook{after: func(_ context.Context, c *hooks.Call) error {
		c.AtEnd(func(_ context.Context, c *hooks.Call) { got = c.Err })
		return nil
	}}}
	guard := hooks.Entry{Name: "guard", Hook: hook{after: func(context.Context, *hooks.Call) error {
		return hooks.Reject(core.Denied, "no")
	}}}
	c := newCall()
	_ = hooks.NewRunner(hooks.Config{}).Run(t.Context(), hooks.Compile([]hooks.Entry{guard, leaver}, c), c, d.work)
	c.End(t.Context())
	if !errors.Is(got, core.Denied) || c.Result != nil {
		t.Errorf("got %v and result %s", got, c.Result)
	}
}
