package result_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks/result"
)

func parse(t *testing.T, raw string) *result.Result {
	t.Helper()
	r, err := result.Parse(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPage_reads_everything goes through a result page by page, whatever the size
// of a page, and finds all of it.
func TestPage_reads_everything(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("Grüße, 世界 😀\n", 20)
	blob := []byte(strings.Repeat("\x00\xff\x10", 50))
	raw := fmt.Sprintf(`{"content":[{"type":"text","text":%q},{"type":"text","text":""},{"type":"image","mimeType":"image/png","data":%q},`+
		`{"type":"resource","resource":{"uri":"u","mimeType":"a/b","blob":%q}},{"type":"resource","resource":{"text":"plain"}},`+
		`{"type":"video","n":1.0},{"type":"image","data":"no base64!"}],"structuredContent":{"a":1}}`,
		text, base64.StdEncoding.EncodeToString(blob), base64.RawStdEncoding.EncodeToString(blob))
	want := []string{text, "", string(blob), string(blob), "plain", `{"type":"video","n":1.0}`, `{"type":"image","data":"no base64!"}`, `{"a":1}`}
	types := []string{"text", "text", "image", "resource", "resource", "video", "image", "structuredContent"}
	for _, size := range []int{0, 1, 3, 7, 64, 1000} {
		r := parse(t, raw)
		got := make([]string, len(want))
		for cursor, more := "", true; more; {
			p, err := r.Page(cursor, size)
			if err != nil {
				t.Fatal(err)
			}
			if !utf8.ValidString(p.Text) || len(p.Text) > max(size, 4) || len(p.Blob) > max(size, 1) || p.Offset != len(got[p.Block]) ||
				p.Total != len(want[p.Block]) || p.Type != types[p.Block] || p.Binary() != (p.Block == 2 || p.Block == 3) {
				t.Fatalf("size %d: %+v", size, p)
			}
			got[p.Block] += p.Text + string(p.Blob)
			cursor, more = p.Next, p.Next != ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("size %d (-want +got):\n%s", size, diff)
		}
	}
}

func TestPage_leaves_out_what_is_said_twice(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"content":[{"type":"text","text":"{\"a\": 1}"}],"structuredContent":{"a":1}}`,
		`{"content":[{"type":"text","text":"hi"}],"structuredContent":{"result":"hi"}}`,
	} {
		if p, err := parse(t, raw).Page("", 100); err != nil || p.Next != "" {
			t.Errorf("%s: %+v, %v", raw, p, err)
		}
	}
}

func TestPage_cursor_faults(t *testing.T) {
	t.Parallel()
	r := parse(t, `{"content":[{"type":"text","text":"aé"}]}`)
	for _, cursor := range []string{"x", "0", "0-", "-0", "1-0", "0-4", "0--1", "+0-0", "00-0", "0-0 ", "0-99999999999999999999", "0-0-0"} {
		if _, err := r.Page(cursor, 10); core.Public(err).Kind != core.InvalidParams {
			t.Errorf("%q: %v", cursor, err)
		}
	}
	// In the middle of a character it is as good as at its beginning.
	if p, err := r.Page("0-2", 10); err != nil || p.Text != "é" || p.Offset != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := r.Page("0-3", 10); err != nil || p.Text != "" || p.Next != "" {
		t.Errorf("the end: %+v, %v", p, err)
	}
	if _, err := parse(t, `{}`).Page("", 10); core.Public(err).Kind != core.InvalidParams {
		t.Errorf("an empty result: %v", err)
	}
}
