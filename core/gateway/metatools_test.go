package gateway_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/gateway"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file in testdata.
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
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Errorf("%s (-got +want, -update rewrites it):\n%s", name, diff)
	}
}

func indent(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMetaTools(t *testing.T) {
	t.Parallel()
	golden(t, "metatools.json", indent(t, gateway.MetaToolsFor(gateway.SentenceOf([]string{"code", "files", "web-search"}))))
}

func TestMetaToolsFitInSixKilobytes(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("a-rather-long-name-of-a-domain-such-as-people-choose-%d", i))
	}
	for _, domains := range [][]string{nil, {"code"}, many} {
		raw, err := json.Marshal(map[string]any{"tools": gateway.MetaToolsFor(gateway.SentenceOf(domains))})
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) > 6<<10 {
			t.Errorf("with %d domains: %d bytes, want at most %d", len(domains), len(raw), 6<<10)
		}
	}
	if got := gateway.SentenceOf(many[:13]); strings.Count(got, "people-choose") > 12 || !strings.HasSuffix(got, "and more.") {
		t.Error(got)
	}
}

func TestErrorResult(t *testing.T) {
	t.Parallel()
	bad := core.Errorf(core.InvalidParams, "the arguments of x are not valid: /a is required")
	bad.ToolID, bad.Faults = "t1", []core.Fault{{Pointer: "/a", Message: "is required"}}
	bad.InputSchema = json.RawMessage(`{"required":["a"],"x":"<b>"}`)
	ambiguous := core.Errorf(core.Conflict, "2 of your tools are called \"x\"").WithHint("use one of the ids")
	ambiguous.Candidates = []string{"t1", "t2"}
	later := core.Errorf(core.RateLimited, "slow down")
	later.RetryAfter = 1500 * time.Millisecond
	broken := core.Errorf(core.InvalidParams, "bad")
	broken.InputSchema = json.RawMessage(`{`)
	var out bytes.Buffer
	for _, err := range []error{bad, ambiguous, later, broken, fmt.Errorf("dial postgres://user:secret@db: refused")} {
		out.Write(gateway.ErrorResult(err))
		out.WriteByte('\n')
	}
	golden(t, "errors.jsonl", out.Bytes())
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"short", " Reads a file. ", "Reads a file."},
		{"sentence", "Reads a file. It may be long. And so on and on.", "Reads a file. It may be long."},
		{"word", "Reads a file from a directory that is somewhere else", "Reads a file from a directory that…"},
		{"neither", strings.Repeat("x", 60), strings.Repeat("x", 35) + "…"},
		{"characters", strings.Repeat("é", 60), strings.Repeat("é", 17) + "…"},
		{"white_space", "Reads\n    a  file.\n\n  Fast.\t", "Reads a file. Fast."},
		{"paragraph", "# Reads a file\n\nArgs: the path of the file to read", "# Reads a file"},
		{"abbreviation", "It reads files, e.g. those of a directory, one by one", "It reads files, e.g. those of a…"},
		{"number", "Reads version 2.0 of a file format and more", "Reads version 2.0 of a file format…"},
		{"quoted", `Says "Read a file." And then it goes on and on`, `Says "Read a file."`},
		{"chinese", "读取文件内容。然后返回文本，以及更多的信息", "读取文件内容。"},
		{"japanese", "「ファイルを読む。」そして返すのです、全部", "「ファイルを読む。」"},
		{"hindi", "यह फ़ाइल। और यह भी बहुत कुछ करता है", "यह फ़ाइल।"},
		{"arabic", "ما هو الملف؟ ثم أشياء أخرى كثيرة", "ما هو الملف؟"},
		{"thai_without_any", strings.Repeat("ก", 30), strings.Repeat("ก", 11) + "…"},
		{"list", "Reads a file:\n- by its path\n- by the id of it", "Reads a file: - by its path"},
		{"numbered_list", "Two steps\n12. open the file\n13. read all of the file", "Two steps 12. open the file"},
		{"a_number_is_no_end", "Steps 12. and 13. are those that one takes twice", "Steps 12. and 13. are those that…"},
		{"docstring", "Reads a file\n  Args:\n    p: its path\n    q: all of it", "Reads a file"},
		{"short_docstring", "Reads a file\n  Args:\n    p: path", "Reads a file Args: p: path"},
		{"nothing_but_arguments", "Args: the path of the file that is to be read", "Args: the path of the file that is…"},
		{"at_the_bound", "Reads a file from a far directory. And so on.", "Reads a file from a far directory."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := gateway.Summary(tc.in, 35); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
