package catalog_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/catalog"
)

func TestManifestFilters(t *testing.T) {
	t.Parallel()
	all := definitions("read_file", "read_dir", "write_file", "drop")
	for _, tc := range []struct {
		name             string
		allowed, blocked []string
		want             []string
		warnings         []string
	}{
		{"nothing", nil, nil, []string{"read_file", "read_dir", "write_file", "drop"}, nil},
		{"allowed", []string{"drop"}, nil, []string{"drop"}, nil},
		{"a pattern", []string{"read_*"}, nil, []string{"read_file", "read_dir"}, nil},
		{"blocked", nil, []string{"*_file"}, []string{"read_dir", "drop"}, nil},
		{"blocked wins", []string{"drop", "read_dir"}, []string{"drop"}, []string{"read_dir"}, nil},
		{"a slip", nil, []string{"dorp"}, []string{"read_file", "read_dir", "write_file", "drop"}, []string{`blockedTools names "dorp", and the server has no such tool`}},
	} {
		tools, warnings := catalog.Manifest(&core.Server{AllowedTools: tc.allowed, BlockedTools: tc.blocked}, all)
		if diff := cmp.Diff(tc.want, names(tools)); diff != "" {
			t.Errorf("%s: tools (-want +got):\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(tc.warnings, warnings); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestPatternsKnowNoFolders(t *testing.T) {
	t.Parallel()
	tools, _ := catalog.Manifest(&core.Server{BlockedTools: []string{"*drop*", "a/?"}}, definitions("admin/drop/table", "a/b", "b"))
	if diff := cmp.Diff([]string{"b"}, names(tools)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

func TestManifestPrefixes(t *testing.T) {
	t.Parallel()
	tools, _ := catalog.Manifest(&core.Server{ID: "s", Prefix: "gh_", AllowedTools: []string{"search"}},
		[]json.RawMessage{json.RawMessage(`{"name":"search","inputSchema":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}`)})
	if len(tools) != 1 || tools[0].Name != "gh_search" || tools[0].OriginName != "search" || tools[0].ServerID != "s" ||
		tools[0].Signature != "(q: string)" {
		t.Errorf("tools %+v", tools)
	}
}

func TestManifestSeparatesCollisions(t *testing.T) {
	t.Parallel()
	var first []string
	all := definitions("\u200ba", "a\u200b", "a")
	for range 3 {
		all = append(all[1:], all[0]) // the order of the list does not matter
		tools, _ := catalog.Manifest(&core.Server{Prefix: "x_"}, all)
		got := map[string]string{}
		for _, tool := range tools {
			got[tool.OriginName] = tool.Name
			if strings.Contains(tool.Name, "-") != slices.ContainsFunc(tool.Warnings, func(w string) bool { return strings.Contains(w, "another tool") }) {
				t.Errorf("tool %q has warnings %q", tool.Name, tool.Warnings)
			}
		}
		if len(got) != 3 || got["a"] != "x_a" || got["a\u200b"] == got["\u200ba"] {
			t.Fatalf("names %q", got)
		}
		list := fmt.Sprint(got)
		if first = append(first, list); list != first[0] {
			t.Errorf("names change with the order: %s and %s", first[0], list)
		}
	}
}

func TestManifestLeavesOut(t *testing.T) {
	t.Parallel()
	tools, warnings := catalog.Manifest(&core.Server{}, append(definitions("a", "a"),
		json.RawMessage(`{"description":"nameless"}`), json.RawMessage(`7`), nil))
	if diff := cmp.Diff([]string{"a"}, names(tools)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	want := []string{"left out: a tool that is not an object", "left out: a tool that is not an object",
		"left out: a tool without a name", `the tool "a" is listed twice: the first counts`}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestManifestBoundsAFlood(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 6000 {
		many = append(many, fmt.Sprint("t", i))
	}
	tools, warnings := catalog.Manifest(&core.Server{}, definitions(many...))
	if len(tools) != 5000 || len(warnings) != 1 || !strings.Contains(warnings[0], "first 5000") {
		t.Errorf("%d tools, warnings %q", len(tools), warnings)
	}
	_, warnings = catalog.Manifest(&core.Server{}, make([]json.RawMessage, 1000))
	if len(warnings) > 50 {
		t.Errorf("%d warnings", len(warnings))
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	stored, _ := catalog.Manifest(&core.Server{}, definitions("kept", "changed", "gone"))
	for i := range stored {
		stored[i].ID, stored[i].Domain = "id-"+stored[i].OriginName, "own"
	}
	offered, _ := catalog.Manifest(&core.Server{}, append(definitions("new", "kept"),
		json.RawMessage(`{"name":"changed","description":"now other","inputSchema":{"type":"object"}}`)))
	diff, result := catalog.Diff(stored, offered)
	if want := (catalog.SyncResult{Added: 1, Changed: 1, Removed: 1, Unchanged: 1}); !cmp.Equal(want, result) {
		t.Errorf("result %+v, want %+v", result, want)
	}
	if diff := cmp.Diff([]string{"id-gone"}, diff.Remove); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"new", "changed"}, names(diff.Upsert)); diff != "" {
		t.Errorf("upserted (-want +got):\n%s", diff)
	}
	if changed := diff.Upsert[1]; changed.ID != "id-changed" || changed.Domain != "own" {
		t.Errorf("changed tool has id %q, domain %q", changed.ID, changed.Domain)
	}
	prefixed, _ := catalog.Manifest(&core.Server{Prefix: "p_"}, definitions("kept", "changed", "gone"))
	if _, result := catalog.Diff(stored, prefixed); result.Changed != 3 {
		t.Errorf("another prefix: %+v, want 3 changed", result)
	}
}

func definitions(names ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, n := range names {
		raw, err := json.Marshal(map[string]any{"name": n, "description": "does " + n, "inputSchema": map[string]any{"type": "object"}})
		if err != nil {
			panic(err) // strings
		}
		out = append(out, raw)
	}
	return out
}

func names(tools []core.Tool) []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}
