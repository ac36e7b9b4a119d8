package core_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core"
)

func TestCheckEventType(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "deploy", "billing:used.v1-b_2", "a" + strings.Repeat("b", 99)} {
		if err := core.CheckEventType(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	bad := append(core.EventTypes(), "", "A", "1a", "a b", "a/b", "ü", "a\n", "a"+strings.Repeat("b", 100))
	for _, name := range bad {
		if err := core.CheckEventType(name); !errors.Is(err, core.InvalidParams) {
			t.Errorf("%q: got %v, want invalid_params", name, err)
		}
	}
}
