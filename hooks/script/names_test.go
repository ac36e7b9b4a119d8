package script_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
)

// TestEveryBuiltinWasJudged fails when the interpreter gains a function or a method:
// somebody must say what it may cost (methods.go) before it is let in.
func TestEveryBuiltinWasJudged(t *testing.T) {
	t.Parallel()
	values := map[string]starlark.HasAttrs{"bytes": starlark.Bytes(""), "dict": new(starlark.Dict),
		"list": starlark.NewList(nil), "set": new(starlark.Set), "string": starlark.String("")}
	got := map[string]string{"": strings.Join(starlark.Universe.Keys(), " ")}
	for name, v := range values {
		names := v.AttrNames()
		slices.Sort(names)
		got[name] = strings.Join(names, " ")
	}
	want := map[string]string{
		"":      "False None True abs all any bool bytes chr dict dir enumerate fail float getattr hasattr hash int len list max min ord print range repr reversed set sorted str tuple type zip",
		"bytes": "elems",
		"dict":  "clear get items keys pop popitem setdefault update values",
		"list":  "append clear extend index insert pop remove",
		"set":   "add clear difference discard intersection issubset issuperset pop remove symmetric_difference union update",
		"string": "capitalize codepoint_ords codepoints count elem_ords elems endswith find format index isalnum isalpha isdigit islower isspace istitle isupper join lower " +
			"lstrip partition removeprefix removesuffix replace rfind rindex rpartition rsplit rstrip split splitlines startswith strip title upper",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
}
