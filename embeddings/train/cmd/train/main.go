// Train makes the table of the built-in embedding model from pairs of texts:
//
//	go run ./embeddings/train/cmd/train -pairs pairs.tar.xz -out embeddings/builtin/model.bin
//
// docs/training.md says what the pairs of the table in this project were.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/toolscout/toolscout/embeddings/train"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends what does not look at the first
	err := run(ctx, os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

// inputs are the files that are trained on.
type inputs struct {
	pairs, tools, licence string
	without               []string
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	var in inputs
	var o train.Options
	var out string
	flags := flag.NewFlagSet("train", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&in.pairs, "pairs", "", "pairs to train on: a folder of .tsv files, one such file, or a .tar or .tar.xz of them;\neach line is a kind, text A and text B, separated by tabs (required)")
	flags.StringVar(&in.tools, "tools", "", "definitions of tools to train on too: a file with a line {name, description, input_schema?,\nserver?, server_description?, licence?, also_in?} for each")
	flags.StringVar(&in.licence, "licence", "MIT", "take only tools of this licence")
	flags.Func("without", "leave out tools of `folder`/tools.jsonl, and their servers: it is measured with (may be repeated)", func(folder string) error {
		in.without = append(in.without, folder)
		return nil
	})
	flags.StringVar(&out, "out", "", "the table to write (required)")
	flags.Uint64Var(&o.Seed, "seed", 1, "what all chance is drawn from: the same seed makes the same table")
	flags.IntVar(&o.Words, "words", 22_000, "words of the table")
	flags.IntVar(&o.Dims, "dims", 256, "dimensions of the table")
	flags.IntVar(&o.Steps, "steps", 24_000, "batches to learn from")
	flags.IntVar(&o.Batch, "batch", 512, "pairs in a batch")
	flags.Float64Var(&o.Rate, "rate", 0.002, "how far a step goes")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: train -pairs file -out model.bin [flags]\n\nTrain makes the table of the built-in embedding model.")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if in.pairs == "" || out == "" || flags.NArg() > 0 {
		return errors.New("say -pairs and -out; -help says what else there is")
	}
	start := time.Now()
	o.Progress = func(line string) { fmt.Fprintf(stderr, "%6.1f s  %s\n", time.Since(start).Seconds(), line) }
	return write(ctx, in, o, out)
}

// write trains and writes. The table appears whole or not at all.
func write(ctx context.Context, in inputs, o train.Options, out string) error {
	groups, err := in.read(o.Progress)
	if err != nil {
		return err
	}
	table, err := train.New(ctx, groups, o)
	if err != nil {
		return err
	}
	data := table.Bytes()
	if err := os.WriteFile(out+".new", data, 0o644); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	if err := os.Rename(out+".new", out); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	o.Progress(fmt.Sprintf("wrote %s: %d bytes", out, len(data)))
	return nil
}

func (in inputs) read(progress func(string)) ([]train.Group, error) {
	groups, err := train.ReadPairs(in.pairs)
	if err != nil || in.tools == "" {
		return groups, err
	}
	all, err := train.ReadTools(in.tools)
	if err != nil {
		return nil, err
	}
	measured, err := train.ReadSets(in.without)
	if err != nil {
		return nil, err
	}
	kept := train.Unlike(train.Licensed(all, in.licence), measured)
	progress(fmt.Sprintf("%d of %d tools: of licence %s, unlike those of [%s]", len(kept), len(all), in.licence, strings.Join(in.without, " ")))
	return append(groups, train.ToolPairs(kept)...), nil
}
