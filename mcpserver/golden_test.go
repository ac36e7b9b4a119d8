package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// ids are what differs from run to run.
var ids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|"toolscout/durationMs": [0-9.e-]+`)

// TestGolden holds what a client sees, word for word: the handshake, the tools and
// a call of each kind, in both generations.
func TestGolden(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	eras(t, func(t *testing.T, version string) {
		var transcript bytes.Buffer
		headers := []string{"Mcp-Protocol-Version", version}
		ask := func(method, params string) {
			name := ""
			for _, key := range []string{`"name":"`, `"uri":"`} {
				if _, rest, ok := strings.Cut(params, key); ok {
					name, _, _ = strings.Cut(rest, `"`)
				}
			}
			more := headers
			if version == modern {
				params = strings.Replace(strings.Replace(params, "{", "{"+modernMeta+",", 1), ",}", "}", 1)
				more = append(more, "Mcp-Method", method, "Mcp-Name", name)
			}
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
			r := s.send("POST", "/mcp", "ann", body, more...)
			if id := r.header.Get("Mcp-Session-Id"); id != "" {
				headers = append(headers, "Mcp-Session-Id", id)
			}
			fmt.Fprintf(&transcript, "> %s %s\n< %d %s\n%s\n\n", method, params, r.status, r.header.Get("Content-Type"), pretty(t, r))
		}
		if version == legacy {
			ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}`)
		} else {
			ask("server/discover", `{}`)
		}
		ask("tools/list", `{}`)
		ask("tools/call", `{"name":"list_tool_domains","arguments":{}}`)
		ask("tools/call", `{"name":"execute_tool","arguments":{"tool_id":"echo","params":{"big":12345678901234567890,"html":"<b>&</b>"}}}`)
		ask("tools/call", `{"name":"execute_tool","arguments":{"tool_id":"no such tool","params":{}}}`)
		ask("tools/call", `{"name":"execute_tool","arguments":{"params":[]}}`)
		ask("tools/call", `{"name":"drop_table","arguments":{}}`)
		ask("prompts/list", `{}`)
		ask("resources/list", `{}`)
		ask("resources/templates/list", `{}`)
		ask("resources/read", `{"uri":"toolscout://results/00000000-0000-4000-8000-000000000000"}`)
		golden(t, version+".txt", ids.ReplaceAll(transcript.Bytes(), []byte("…")))
	})
}

// pretty is the message of an answer, indented; the numbers as they are written.
func pretty(t *testing.T, r reply) string {
	t.Helper()
	text := r.body
	if _, data, ok := strings.Cut(text, "data: "); ok {
		text = strings.TrimSpace(data)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(text), "", "  "); err != nil {
		t.Fatalf("status %d, body %q: %v", r.status, r.body, err)
	}
	return out.String()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got), rewrite with -update:\n%s", path, diff)
	}
}

// TestToolsList_is_small: the list costs every conversation its size.
func TestToolsList_is_small(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	r := s.send("POST", "/mcp", "ann", listTools, "Mcp-Session-Id", s.open("ann"))
	_, data, _ := strings.Cut(r.body, "data: ")
	if len(data) > 6<<10 {
		t.Errorf("tools/list has %d bytes, want at most %d", len(data), 6<<10)
	}
}
