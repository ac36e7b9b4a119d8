package core_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
)

// TestReferences: what is found is what is replaced.
func TestReferences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil, "plain $A {B} $": nil, "${A}": {"A"}, "x${_a1}y${B}": {"_a1", "B"}, "${${IN}}": {"IN"},
		"${1A} ${} ${a-b} ${ a}": nil, "$${A}": {"A"}, "${A": nil,
	} {
		if diff := cmp.Diff(core.References(text), want); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		var replaced []string
		left := core.ReplaceReferences(text, func(name string) string {
			replaced = append(replaced, name)
			return "*"
		})
		if diff := cmp.Diff(replaced, want); diff != "" || len(want) == 0 && left != text {
			t.Errorf("%q became %q: %s", text, left, diff)
		}
	}
	if got := core.ReplaceReferences("a ${B} $C ${B}", func(name string) string { return "<" + name + ">" }); got != "a <B> $C <B>" {
		t.Errorf("got %q", got)
	}
}
