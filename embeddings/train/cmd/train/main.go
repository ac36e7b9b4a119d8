// Command train makes the table of the built-in embedding model.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/toolscout/toolscout/embeddings/train"
)

func main() {
	var o train.Options
	pairs := flag.String("pairs", "", "")
	out := flag.String("out", "model.bin", "")
	flag.Uint64Var(&o.Seed, "seed", 1, "")
	flag.IntVar(&o.Words, "words", 0, "")
	flag.IntVar(&o.Steps, "steps", 0, "")
	flag.Parse()
	start := time.Now()
	o.Progress = func(s string) { fmt.Fprintf(os.Stderr, "%6.1fs %s\n", time.Since(start).Seconds(), s) }
	groups, err := train.ReadPairs(*pairs)
	if err != nil {
		panic(err)
	}
	o.Progress("read")
	t, err := train.New(context.Background(), groups, o)
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(*out, t.Bytes(), 0o644); err != nil {
		panic(err)
	}
	o.Progress("done")
}
