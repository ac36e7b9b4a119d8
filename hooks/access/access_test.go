package access_test

import (
	"context"
	"encoding/json"
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

func TestRules(t *testing.T) {
	t.Parallel()
	read := json.RawMessage(`{"title": "x", "readOnlyHint" : true}`)
	call := func(level hooks.Level, annotations json.RawMessage) *hooks.Call {
		c := &hooks.Call{Level: level, Action: "execute_tool", Principal: core.Principal{TenantID: "t", UserID: "u", Roles: []string{"dev"}}}
		if level == hooks.Tool {
			c.Tool, c.Server = &core.Tool{ID: "t1", ServerID: "s1", Name: "gh_list/issues", Annotations: annotations}, &core.Server{ID: "s1", Name: "github"}
		}
		return c
	}
	for _, tc := range []struct {
		name, config string
		call         *hooks.Call
		want         string // the reason; "" lets through
	}{
		{"nothing", `{}`, call(hooks.Tool, nil), ""},
		{"allowed", `{"allow": ["files_*", "gh_*"]}`, call(hooks.Tool, nil), ""},
		{"not_allowed", `{"allow": ["files_*"]}`, call(hooks.Tool, nil), "gh_list/issues is not among the tools that are allowed"},
		{"denied", `{"deny": ["*list*"]}`, call(hooks.Tool, nil), "gh_list/issues is denied by a rule"},
		{"denied_although_allowed", `{"allow": ["*"], "deny": ["gh_*"]}`, call(hooks.Tool, nil), "gh_list/issues is denied by a rule"},
		{"by_server", `{"deny": ["github/gh_*"]}`, call(hooks.Tool, nil), "gh_list/issues is denied by a rule"},
		{"by_another_server", `{"deny": ["gitlab/*"]}`, call(hooks.Tool, nil), ""},
		{"slash_in_the_name", `{"deny": ["gh_list/*"]}`, call(hooks.Tool, nil), "gh_list/issues is denied by a rule"},
		{"role", `{"require_roles": ["dev"]}`, call(hooks.Tool, nil), ""},
		{"no_role", `{"require_roles": ["dev", "ops"]}`, call(hooks.Tool, nil), "this takes the role ops"},
		{"reads", `{"read_only": true}`, call(hooks.Tool, read), ""},
		{"unannotated", `{"read_only": true}`, call(hooks.Tool, nil), "gh_list/issues may change something, and only tools that read are allowed"},
		{"annotated_otherwise", `{"read_only": true}`, call(hooks.Tool, json.RawMessage(`{"READONLYHINT":true,"readOnlyHint":"true"}`)),
			"gh_list/issues may change something, and only tools that read are allowed"},
		{"destroys", `{"read_only": true}`, call(hooks.Tool, json.RawMessage(`{"readOnlyHint":true,"destructiveHint":true}`)),
			"gh_list/issues may change something, and only tools that read are allowed"},
		{"message", `{"deny": ["*"], "message": "ask %s in #ops"}`, call(hooks.Tool, nil), "ask %s in #ops"},
		{"meta_tool", `{"deny": ["execute_tool"]}`, call(hooks.Meta, nil), "execute_tool is denied by a rule"},
		{"read_only_meta_tool", `{"read_only": true}`, call(hooks.Meta, nil), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h, err := access.Type().New(hooks.Instance{Config: json.RawMessage(tc.config)})
			if err != nil {
				t.Fatal(err)
			}
			err = h.Before(t.Context(), tc.call)
			got := ""
			var r *hooks.Rejection
			if errors.As(err, &r) {
				got = r.Err.Message
			}
			if got != tc.want || err != nil && !errors.Is(err, core.Denied) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
