package train_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ulikunitz/xz"

	"github.com/toolscout/toolscout/embeddings/train"
)

const lines = "op\tsend a mail\tmail_send\nfull\ta\tb\nop\tread mail\tmail_read\n"

var wanted = []train.Group{
	{Name: "source/full", Weight: 2, Pairs: []train.Pair{{A: "a", B: "b"}}},
	{Name: "source/op", Weight: 1.5, Pairs: []train.Pair{{A: "send a mail", B: "mail_send"}, {A: "read mail", B: "mail_read"}}},
}

// put writes a file and gives its path.
func put(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func archive(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func compressed(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := xz.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadPairs(t *testing.T) {
	t.Parallel()
	file := put(t, "source.tsv", []byte(lines))
	packed := archive(t, "./source.tsv", lines)
	for _, path := range []string{file, filepath.Dir(file), put(t, "pairs.tar", packed), put(t, "pairs.tar.xz", compressed(t, packed))} {
		got, err := train.ReadPairs(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if diff := cmp.Diff(got, wanted); diff != "" {
			t.Errorf("%s (-got +want):\n%s", path, diff)
		}
	}
}

func TestReadPairsSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	whole := compressed(t, archive(t, "source.tsv", strings.Repeat(lines, 1000)))
	tests := []struct{ path, want string }{
		{filepath.Join(t.TempDir(), "absent"), "no such file"},
		{t.TempDir(), "no .tsv file with pairs"},
		{put(t, "empty.tsv", nil), "no .tsv file with pairs"},
		{put(t, "two.tsv", []byte("op\ta\tb\nop\tonly one\n")), "two.tsv, line 2: want a kind and two texts"},
		{put(t, "four.tsv", []byte("op\ta\tb\tc\n")), "line 1: want a kind and two texts"},
		{put(t, "kindless.tsv", []byte("\ta\tb\n")), "line 1: want a kind and two texts"},
		{put(t, "long.tsv", []byte("op\ta\t"+strings.Repeat("x", 1<<21))), "token too long"},
		{put(t, "pairs.zip", []byte(strings.Repeat("PK", 600))), "neither a folder, a .tsv file, nor"},
		{put(t, "pairs.tar.xz", []byte("not compressed")), "xz"},
		{put(t, "cut.tar.xz", whole[:len(whole)/2]), "EOF"},
	}
	for _, test := range tests {
		if _, err := train.ReadPairs(test.path); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", filepath.Base(test.path), err, test.want)
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	file := put(t, "tools.jsonl", []byte(`{"name":"mail_send","description":"Send a mail. It arrives.","server":"post","server_description":"Mail","licence":"MIT (repo)","input_schema":{"properties":{"to":{"description":"Who gets it"}}}}
{"name":"mail_read","description":"Read mail","server":"post","licence":"MIT"}
{"name":"other","description":"Other","server":"post","licence":"MITRE"}
{"name":"list_files","description":"List files","server":"someone/mcp-server-files","licence":"MIT"}
{"name":"ls","description":"List the files in a folder","server":"copy","licence":"MIT"}
{"name":"rm","description":"Remove","server":"copy","licence":"MIT"}
{"name":"copied","description":"Of a copy","server":"third","also_in":["x/files-mcp"],"licence":"MIT"}
{"name":"readFile","description":"Another that reads","server":"post","licence":"MIT"}
`))
	tools, err := train.ReadTools(file)
	if err != nil {
		t.Fatal(err)
	}
	measured := []train.Tool{{Name: "read_file", Description: "list the files, in a folder!", Server: "files"}, {Name: "x", Server: ""}}
	kept := train.Unlike(train.Licensed(tools, "MIT"), measured)
	want := []train.Group{
		{Name: "tools/full", Weight: 2, Pairs: []train.Pair{{A: "Send a mail.", B: "post mail_send to"}, {A: "Read mail", B: "post mail_read "}}},
		{Name: "tools/op", Weight: 2, Pairs: []train.Pair{{A: "mail_send", B: "Send a mail. It arrives. to"}, {A: "mail_read", B: "Read mail "}}},
		{Name: "tools/next", Pairs: []train.Pair{{A: "Send a mail.", B: "It arrives."}}},
		{Name: "tools/param", Weight: .5, Pairs: []train.Pair{{A: "to mail_send", B: "Who gets it"}}},
		{Name: "tools/server", Weight: .5, Pairs: []train.Pair{{A: "Send a mail.", B: "post Mail"}, {A: "Read mail", B: "post "}}},
	}
	if diff := cmp.Diff(train.ToolPairs(kept), want); diff != "" {
		t.Errorf("pairs (-got +want):\n%s", diff)
	}
}

func TestReadToolsSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	if _, err := train.ReadTools(put(t, "tools.jsonl", []byte("{}\n{oops"))); err == nil || !strings.Contains(err.Error(), "row 2") {
		t.Errorf("a broken row: %v", err)
	}
	if _, err := train.ReadSets([]string{t.TempDir()}); err == nil {
		t.Error("a folder without tools was read")
	}
	set := put(t, "tools.jsonl", []byte(`{"name":"a","server":null,"input_schema":null}`))
	got, err := train.ReadSets([]string{filepath.Dir(set)})
	if diff := cmp.Diff(got, []train.Tool{{Name: "a", InputSchema: json.RawMessage("null")}}); err != nil || diff != "" {
		t.Errorf("a set (-got +want):\n%s (%v)", diff, err)
	}
}
