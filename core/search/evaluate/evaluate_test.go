package evaluate_test

import (
	"strings"
	"os"
	"testing"

	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search/evaluate"
)

func TestTmp(t *testing.T) {
	store := pgtest.New(t)
	o := evaluate.Options{K: 10, RunFile: "/tmp/run.jsonl"}
	for _, s := range strings.Fields(os.Getenv("SETS")) {
		o.Sets = append(o.Sets, "/work/shared/eval/"+s)
	}
	if err := evaluate.Main(t.Context(), store, o, os.Stdout); err != nil {
		t.Fatal(err)
	}
}
