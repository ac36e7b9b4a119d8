package truncation_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/truncation"
)

// TestConfig holds what a configuration may say, and what is said of one that is
// wrong: each limit once, with what it can be.
func TestConfig(t *testing.T) {
	t.Parallel()
	set, err := hookset.New(hookset.Config{Types: []hooks.Type{truncation.Type(nil)}})
	if err != nil {
		t.Fatal(err)
	}
	for config, want := range map[string][]core.Fault{
		`{}`: nil,
		`{"max_bytes":0,"max_tokens":0,"max_block_bytes":0,"max_block_tokens":0,"max_binary_bytes":0}`: nil,
		`{"max_bytes":1024,"max_tokens":400,"max_block_bytes":1024,"max_block_tokens":400}`:            nil,
		`{"max_bytes":300}`: {{Pointer: "/config/max_bytes", Message: "is 300, and can be 1024 or more, or 0 for no limit"}},
		`{"max_tokens":1,"max_block_tokens":399,"max_block_bytes":1023}`: {
			{Pointer: "/config/max_tokens", Message: "is 1, and can be 400 or more, or 0 for no limit"},
			{Pointer: "/config/max_block_bytes", Message: "is 1023, and can be 1024 or more, or 0 for no limit"},
			{Pointer: "/config/max_block_tokens", Message: "is 399, and can be 400 or more, or 0 for no limit"},
		},
		`{"max_bytes":-1}`:    {{Pointer: "/config/max_bytes", Message: "minimum: got -1, want 0"}},
		`{"max_bytes":"300"}`: {{Pointer: "/config/max_bytes", Message: "got string, want integer"}},
		`{"ttl":"25h"}`:       {{Pointer: "/config/ttl", Message: `is a duration between 1s and 24h, as in "15m"`}},
		`{"max_byte":300}`:    {{Pointer: "/config/max_byte", Message: "is not a setting of this type"}},
	} {
		d := truncation.Type(nil).Definition()
		d.Config = json.RawMessage(config)
		_, got := set.Prepare(d)
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", config, diff)
		}
	}
}
