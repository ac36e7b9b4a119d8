package integration_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/toolscout/toolscout"

// layers is the house: imports go strictly down, never sideways.
var layers = map[string]int{
	"core":                             0,
	"embeddings/words":                 0,
	"core/pace":                        1,
	"core/pattern":                     1,
	"core/rawjson":                     1,
	"core/schema":                      1,
	"core/secret":                      1,
	"core/tokens":                      1,
	"core/toon":                        1,
	"core/egress":                      1,
	"core/postgres/embedded":           1,
	"embeddings/builtin":               1,
	"hooks":                            1,
	"migrations":                       1,
	"embeddings":                       2,
	"embeddings/train":                 3,
	"core/postgres":                    3,
	"core/upstream":                    3,
	"core/access":                      4,
	"core/events":                      4,
	"core/catalog":                     4,
	"core/search":                      4,
	"core/hookset":                     4,
	"core/hookbook":                    5,
	"core/search/evaluate":             7,
	"hooks/access":                     5,
	"hooks/result":                     2,
	"hooks/ratelimit":                  5,
	"hooks/sanitizer":                  5,
	"hooks/truncation":                 5,
	"hooks/toon":                       5,
	"hooks/audit":                      4,
	"hooks/enrich":                     5,
	"hooks/testfilter":                 5,
	"hooks/webhook":                    5,
	"hooks/script":                     5,
	"hooks/emit":                       5,
	"core/gateway":                     6,
	"core/admin":                       6,
	"mcpserver/door":                   7,
	"mcpserver":                        8,
	"mcpserver/rest":                   8,
	"cmd/toolscout/config":             9,
	"cmd/toolscout":                    10,
	"core/postgres/embedded/cmd/pgrun": 10,
	"embeddings/train/cmd/train":       10,
}

// sdkUsers are the only packages that know the MCP SDK.
var sdkUsers = []string{"mcpserver", "core/upstream"}

type pkg struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", module+"/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// TestImports holds the table: whoever imports stands above what is imported.
// Packages that only tests use may import anything.
func TestImports(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, p := range packages(t) {
		from := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		layer, ok := layers[from]
		if !ok {
			if !testOnly(from) {
				t.Errorf("%s has no layer: give it one in this table", from)
			}
			continue
		}
		seen++
		for _, i := range p.Imports {
			to, ours := strings.CutPrefix(i, module+"/")
			if !ours {
				continue
			}
			if below, ok := layers[to]; !ok || below >= layer {
				t.Errorf("%s (layer %d) imports %s (layer %d)", from, layer, to, below)
			}
		}
		for _, i := range p.Imports {
			if strings.HasPrefix(i, "github.com/modelcontextprotocol/go-sdk") && !slices.Contains(sdkUsers, from) {
				t.Errorf("%s imports the MCP SDK: only %v may", from, sdkUsers)
			}
			if from == "core" && strings.Contains(i, ".") {
				t.Errorf("core imports %s: it may import the standard library alone", i)
			}
		}
	}
	if seen != len(layers) {
		t.Errorf("%d packages of the table were found, want all %d", seen, len(layers))
	}
}

// testOnly names the packages that tests alone import.
func testOnly(name string) bool {
	return strings.HasSuffix(name, "test") || strings.HasPrefix(name, "integration")
}
