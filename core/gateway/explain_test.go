package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
)

// TestEffective: audit and access control are outside of whatever is configured, and
// a tool that a user cannot see is explained as well.
func TestEffective(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nothing := funcs{before: func(context.Context, *hooks.Call) error { return nil }}
	w.hooks = []hooks.Entry{{Name: "both", Priority: -1 << 20, Hook: nothing}, {Name: "inner", Level: hooks.Tool, Hook: nothing},
		{Name: "other", Level: hooks.Tool, Pattern: "gh_*", Hook: nothing}}
	ann, root := w.person("ann"), w.person("root", core.RoleAdmin)
	_, ids := w.server(core.Server{Name: "up"})
	_, hidden := w.server(core.Server{Name: "hidden", Prefix: "h_", Visibility: core.Hidden})
	names := func(list []hookset.Explained) string {
		var all []string
		for _, e := range list {
			all = append(all, strings.TrimSpace(e.Name+" "+e.Why))
		}
		return strings.Join(all, ", ")
	}
	for ref, want := range map[string][]string{
		"":             {"", "audit, access_control, both", "", "inner it acts on calls of tools, and no tool was named, other it acts on calls of tools, and no tool was named"},
		ids["echo"]:    {"echo on", "audit, access_control, both", "audit, access_control, both, inner", `other pattern "gh_*" does not match "echo"`},
		"echo":         {"echo on", "audit, access_control, both", "audit, access_control, both, inner", `other pattern "gh_*" does not match "echo"`},
		hidden["echo"]: {"h_echo invisible", "audit, access_control, both", "audit, access_control, both, inner", `other pattern "gh_*" does not match "h_echo"`},
	} {
		x, err := w.gateway.Effective(t.Context(), w.request(root), w.request(ann).Principal, ref)
		if err != nil {
			t.Fatal(err)
		}
		tool := ""
		if x.Tool != nil {
			tool = x.Tool.Name + " " + x.Tool.Access
		}
		if diff := cmp.Diff([]string{tool, names(x.Outer), names(x.Inner), names(x.Skipped)}, want); diff != "" || x.User.Name != "ann" {
			t.Errorf("%q: %s", ref, diff)
		}
	}
	if _, err := w.gateway.Effective(t.Context(), w.request(root), w.request(ann).Principal, "nothing"); !errors.Is(err, core.NotFound) {
		t.Errorf("got %v, want not_found", err)
	}
}
