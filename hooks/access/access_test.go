package access_test

import (
	"context"
	"errors"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/access"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	runner := hooks.NewRunner(hooks.Config{})
	t.Cleanup(func() {
		if err := runner.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	ann := core.Principal{TenantID: "t", UserID: "u"}
	tool, server := &core.Tool{ID: "t1", ServerID: "s1", Name: "echo"}, &core.Server{ID: "s1", Name: "up"}
	for _, tc := range []struct {
		name   string
		call   hooks.Call
		access core.Access
		err    error
		want   error // nil when the call goes through
	}{
		{"on", hooks.Call{Level: hooks.Tool, Principal: ann, Tool: tool, Server: server}, core.On, nil, nil},
		{"off", hooks.Call{Level: hooks.Tool, Principal: ann, Tool: tool, Server: server}, core.Off, nil, core.Denied},
		{"invisible", hooks.Call{Level: hooks.Tool, Principal: ann, Tool: tool, Server: server}, core.Invisible, nil, core.NotFound},
		{"rule_fails", hooks.Call{Level: hooks.Tool, Principal: ann, Tool: tool, Server: server}, core.On, errors.New("no database"), core.Internal},
		{"rule_unavailable", hooks.Call{Level: hooks.Tool, Principal: ann, Tool: tool, Server: server}, core.On, core.Errorf(core.Unavailable, "no database"), core.Unavailable},
		{"tool_of_another_server", hooks.Call{Level: hooks.Tool, Principal: ann, Tool: tool, Server: &core.Server{ID: "s2"}}, core.On, nil, core.Internal},
		{"no_tool", hooks.Call{Level: hooks.Tool, Principal: ann, Server: server}, core.On, nil, core.Internal},
		{"nobody", hooks.Call{Level: hooks.Meta}, core.On, nil, core.Unauthenticated},
		{"nobody_at_a_tool", hooks.Call{Level: hooks.Tool, Tool: tool, Server: server}, core.On, nil, core.Unauthenticated},
		{"somebody", hooks.Call{Level: hooks.Meta, Principal: ann}, core.Invisible, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			entry := access.New(func(context.Context, core.Principal, string) (core.Access, error) { return tc.access, tc.err })
			c, ran := tc.call, false
			err := runner.Run(t.Context(), hooks.Compile([]hooks.Entry{entry}, &c), &c, func(context.Context, *hooks.Call) error {
				ran = true
				return nil
			})
			if !errors.Is(err, tc.want) || ran != (tc.want == nil) {
				t.Errorf("got %v (ran %v), want %v", err, ran, tc.want)
			}
		})
	}
}

// TestUnknownAndInvisibleLookTheSame, to the byte.
func TestUnknownAndInvisibleLookTheSame(t *testing.T) {
	t.Parallel()
	tool := &core.Tool{ID: "01234567-89ab-7def-8123-456789abcdef", ServerID: "s1", Name: "secret"}
	invisible := access.Check(core.Invisible, tool, &core.Server{ID: "s1", Name: "hidden"})
	unknown := access.NoTool(tool.ID)
	if invisible.Error() != unknown.Error() || invisible.Hint != unknown.Hint || invisible.ToolID != unknown.ToolID {
		t.Errorf("%+v and %+v differ", invisible, unknown)
	}
}
