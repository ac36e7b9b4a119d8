package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/embeddings/builtin"
)

// files writes pairs, tools and a set to measure with, and gives the folder.
func files(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	var pairs strings.Builder
	for i := range 200 {
		fmt.Fprintf(&pairs, "op\tshow the item number w%c%c\tget_item w%c%c\n", 'a'+i%26, 'a'+i%7, 'a'+i%26, 'a'+i%7)
	}
	for name, text := range map[string]string{
		"pairs.tsv": pairs.String(),
		"corpus.jsonl": `{"name":"send","description":"Send a mail. Soon.","server":"post","licence":"MIT"}` + "\n" +
			`{"name":"look","description":"Look","server":"set","licence":"MIT"}` + "\n",
		"tools.jsonl": `{"name":"x","description":"Y","server":"set"}`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestRunWritesTheSameTableForTheSameSeed(t *testing.T) {
	t.Parallel()
	folder := files(t)
	made := func(name, seed string) []byte {
		var said bytes.Buffer
		out := filepath.Join(folder, name)
		err := run(t.Context(), []string{"-pairs", filepath.Join(folder, "pairs.tsv"), "-tools", filepath.Join(folder, "corpus.jsonl"),
			"-without", folder, "-out", out, "-seed", seed, "-dims", "8", "-steps", "20", "-batch", "16"}, &said)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(said.String(), "1 of 2 tools") || !strings.Contains(said.String(), "wrote "+out) {
			t.Errorf("said:\n%s", &said)
		}
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	one := made("one", "3")
	if !bytes.Equal(one, made("again", "3")) {
		t.Error("the same seed made another table")
	}
	if bytes.Equal(one, made("other", "4")) {
		t.Error("another seed made the same table")
	}
	m, err := builtin.Parse(string(one))
	if err != nil {
		t.Fatal(err)
	}
	if _, known := m.Encode("send an item"); known != 2 {
		t.Errorf("%d known words, want those of the pairs and of the tool", known)
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	folder := files(t)
	pairs, out := filepath.Join(folder, "pairs.tsv"), filepath.Join(folder, "out")
	tests := []struct{ args, want string }{
		{"", "say -pairs and -out"},
		{"-pairs p -out o more", "say -pairs and -out"},
		{"-words many", "invalid value"},
		{"-pairs absent.tsv -out " + out, "absent.tsv"},
		{"-pairs " + pairs + " -out " + out + " -tools absent", "absent"},
		{"-pairs " + pairs + " -out " + out + " -tools " + filepath.Join(folder, "corpus.jsonl") + " -without absent", "absent"},
		{"-pairs " + pairs + " -out " + out + " -steps -1", "negative"},
		{"-pairs " + pairs + " -out " + out, "too few for 256 dimensions"},
		{"-pairs " + pairs + " -dims 4 -steps 1 -batch 8 -out " + filepath.Join(folder, "absent", "out"), "write table"},
	}
	for _, test := range tests {
		var said bytes.Buffer
		if err := run(t.Context(), strings.Fields(test.args), &said); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.args, err, test.want)
		}
	}
	var help bytes.Buffer
	if err := run(t.Context(), []string{"-help"}, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "-pairs string") {
		t.Errorf("help: %v\n%s", err, &help)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, []string{"-pairs", pairs, "-dims", "4", "-out", out}, &help); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a table was left behind")
	}
}
