package truncation_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/truncation"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// What differs from run to run.
var (
	ids   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	words = regexp.MustCompile(`about [0-9]+ of [0-9]+ tokens`)
	times = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z`)
)

// hookOf is a hook of this configuration. It keeps nothing, because nobody ends the
// calls.
func hookOf(t testing.TB, config string) hooks.Hook {
	t.Helper()
	h, err := truncation.Type(nil).New(hooks.Instance{Config: json.RawMessage(config)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func newCall(raw string) *hooks.Call {
	result := json.RawMessage(raw)
	return &hooks.Call{Level: hooks.Tool, Action: "execute_tool", Tool: &core.Tool{Name: "t"}, Server: &core.Server{ID: "s"},
		Result: result, Raw: result}
}

// truncated is what a hook makes of a result.
func truncated(t testing.TB, h hooks.Hook, raw string) *hooks.Call {
	t.Helper()
	c := newCall(raw)
	if err := h.After(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(c.Result) {
		t.Fatalf("%s\nbecame\n%s", raw, c.Result)
	}
	return c
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func textResult(texts ...string) string {
	var blocks []string
	for _, s := range texts {
		blocks = append(blocks, `{"type":"text","text":`+quote(s)+`}`)
	}
	return `{"content":[` + strings.Join(blocks, ",") + `]}`
}

// rows is a JSON array of n objects.
func rows(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id":%d,"big":9007199254740993,"f":1.50,"name":"row number %d"}`, i, i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// TestGolden holds what a model sees.
func TestGolden(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("a line of some forty characters or so, ä\n", 100)
	image := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 300)))
	for _, tc := range []struct{ name, config, in string }{
		{"text", `{"max_block_bytes":1024}`, textResult(lines, "short")},
		{"text_head_tail", `{"max_block_bytes":1024,"keep":"head_tail"}`, textResult(lines + "the last line")},
		{"text_not_kept", `{"max_block_bytes":1024,"store":false}`, textResult(lines)},
		{"is_error", `{"max_block_bytes":1024}`, `{"isError":true,"content":[{"type":"text","text":` + quote(lines) + `,"annotations":{"priority":1.0}}],"vendor":1e400}`},
		{"many_blocks", `{"max_bytes":2048}`, textResult(strings.Split(strings.TrimSuffix(lines, "\n"), "\n")...)},
		{"array", `{"max_block_bytes":1024}`, textResult(rows(100))},
		{"array_head_tail", `{"max_block_bytes":1024,"keep":"head_tail"}`, textResult(rows(100))},
		{"object", `{"max_block_bytes":1024}`, textResult(`{"total":100,"rows":` + rows(100) + `,"log":` + quote(lines) + `,"next":"abc","deep":{"a":{"b":{"c":` + rows(20) + `}}}}`)},
		{"mirrored", `{"max_block_bytes":1024}`, `{"content":[{"type":"text","text":` + quote(`{"rows": `+rows(50)+`}`) + `}],"structuredContent":{"rows":` + rows(50) + `}}`},
		{"structured_only", `{"max_block_bytes":1024}`, `{"content":[{"type":"text","text":"done"}],"structuredContent":{"rows":` + rows(50) + `}}`},
		{"wrapped", `{"max_block_bytes":1024}`, `{"content":[{"type":"text","text":` + quote(lines) + `}],"structuredContent":{"result":` + quote(lines) + `}}`},
		{"binary", `{"max_binary_bytes":400}`, `{"content":[{"type":"image","mimeType":"image/png","data":"` + image + `"},{"type":"audio","mimeType":"audio/wav","data":"` + image +
			`"},{"type":"resource","resource":{"uri":"file:///a","mimeType":"application/pdf","blob":"` + image + `"}},{"type":"text","text":"a picture"}]}`},
		{"unknown", `{"max_block_bytes":1024}`, `{"content":[{"type":"video","frames":` + rows(50) + `},{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":` + quote(lines) + `}}]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := truncated(t, hookOf(t, tc.config), tc.in)
			meta, err := json.Marshal(c.Meta)
			if err != nil {
				t.Fatal(err)
			}
			got := times.ReplaceAllString(ids.ReplaceAllString(string(c.Result)+"\n"+string(meta)+"\n", "ID"), "TIME")
			got = words.ReplaceAllString(got, "about N of M tokens")
			path := filepath.Join("testdata", tc.name+".json")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got), rewrite with -update:\n%s", diff)
			}
		})
	}
}
