package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/embeddings/builtin"
	"github.com/toolscout/toolscout/embeddings/train"
)

// meanings are words that say the same, one on each side of a pair.
var meanings = [][2]string{
	{"fetch", "retrieve"}, {"remove", "delete"}, {"mail", "message"}, {"picture", "image"}, {"folder", "directory"},
	{"bug", "issue"}, {"song", "track"}, {"price", "cost"}, {"rain", "weather"}, {"meeting", "appointment"},
	{"money", "payment"}, {"client", "customer"}, {"picker", "selector"}, {"shop", "store"}, {"trip", "journey"},
	{"code", "program"}, {"teach", "explain"}, {"size", "dimension"}, {"friend", "contact"}, {"clock", "time"},
}

// pairs makes n pairs that ask for two things in words of their own.
func pairs(n int) []train.Group {
	random := rand.New(rand.NewPCG(5, 5))
	list := make([]train.Pair, n)
	for i := range list {
		one, two := meanings[random.IntN(len(meanings))], meanings[random.IntN(len(meanings))]
		list[i] = train.Pair{A: "the " + one[0] + " of " + two[0], B: fmt.Sprintf("%s_%s %d", one[1], two[1], random.IntN(50))}
	}
	return []train.Group{{Name: "one", Pairs: list[:n/2]}, {Name: "two", Pairs: list[n/2:], Weight: 2}}
}

func small(seed uint64) train.Options {
	return train.Options{Seed: seed, Words: 100, Dims: 16, Steps: 120, Batch: 32, Rate: 0.01}
}

func TestSameSeedSameBytes(t *testing.T) {
	made := func(seed uint64) []byte {
		table, err := train.New(t.Context(), pairs(600), small(seed))
		if err != nil {
			t.Fatal(err)
		}
		return table.Bytes()
	}
	one := made(1)
	before := runtime.GOMAXPROCS(5) // more goroutines, other parts
	again := made(1)
	runtime.GOMAXPROCS(before)
	if !bytes.Equal(one, again) {
		t.Error("the same seed made another table")
	}
	if bytes.Equal(one, made(2)) {
		t.Error("another seed made the same table")
	}
}

// right is the share of meanings that are nearest to each other.
func right(t *testing.T, table *train.Table) float64 {
	t.Helper()
	m, err := builtin.Parse(string(table.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range meanings {
		a, _ := m.Encode(meanings[i][0])
		best, most := -1, float32(-2)
		for j := range meanings {
			b, _ := m.Encode(meanings[j][1])
			var cosine float32
			for d := range a {
				cosine += a[d] * b[d]
			}
			if cosine > most {
				best, most = j, cosine
			}
		}
		if best == i {
			n++
		}
	}
	return float64(n) / float64(len(meanings))
}

func TestNewLearnsWhatMeansTheSame(t *testing.T) {
	t.Parallel()
	o := small(1)
	var said []string
	o.Progress = func(line string) { said = append(said, line) }
	table, err := train.New(t.Context(), pairs(600), o)
	if err != nil {
		t.Fatal(err)
	}
	if share := right(t, table); share < .95 {
		t.Errorf("%.2f of the meanings were learned", share)
	}
	if all := strings.Join(said, "\n"); !strings.Contains(all, "600 pairs in 2 groups") {
		t.Errorf("progress:\n%s", all)
	}
	o.Words = 30
	if table, err := train.New(t.Context(), pairs(600), o); err != nil || len(table.Words) != 30 || len(table.Rows) != 30*16 {
		t.Errorf("asked for 30 words: %d (%v)", len(table.Words), err)
	}
	if row := table.Row(0); table.Words[0] != "of" && table.Words[0] != "the" || length(row) > .2 {
		t.Errorf("the row of stop word %q has length %f", table.Words[0], length(row))
	}
}

func length(row []float32) (square float64) {
	for _, x := range row {
		square += float64(x * x)
	}
	return square
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	o := small(1)
	o.Batch = -1
	if _, err := train.New(t.Context(), pairs(100), o); err == nil {
		t.Error("a negative batch was taken")
	}
	if _, err := train.New(t.Context(), []train.Group{{Pairs: []train.Pair{{A: "a few", B: "words"}}}}, small(1)); err == nil || !strings.Contains(err.Error(), "3 words") {
		t.Errorf("three words: %v", err)
	}
	apart := []train.Group{{Pairs: []train.Pair{{A: "a b c d e f g h i j k l m n o p q r s t"}}}}
	if _, err := train.New(t.Context(), apart, small(1)); err == nil || !strings.Contains(err.Error(), "no pair") {
		t.Errorf("texts that nothing belongs to: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := train.New(ctx, pairs(100), small(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestAdaptLearnsNewWordsAndKeepsOld(t *testing.T) {
	t.Parallel()
	table, err := train.New(t.Context(), pairs(600), small(1))
	if err != nil {
		t.Fatal(err)
	}
	before := table.Bytes()
	var own []train.Pair
	for i := range 240 {
		word := [][2]string{{"zorgle", "ytterby"}, {"blixen", "quorm"}, {"fnord", "hapax"}}[i%3]
		own = append(own, train.Pair{A: "the " + word[0] + " of " + meanings[i%20][0], B: word[1] + " " + meanings[i%20][1]})
	}
	adapt := func() *train.Table {
		adapted, err := train.Adapt(t.Context(), table, []train.Group{{Pairs: own}}, train.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return adapted
	}
	adapted := adapt()
	if !bytes.Equal(adapt().Bytes(), adapted.Bytes()) {
		t.Error("the same seed made another table")
	}
	if !bytes.Equal(table.Bytes(), before) {
		t.Error("the table that was adapted has changed")
	}
	if was, is := similarity(t, table, "zorgle", "ytterby"), similarity(t, adapted, "zorgle", "ytterby"); was > .1 || is < .3 {
		t.Errorf("the new words were %f alike and are %f", was, is)
	}
	if share := right(t, adapted); share < .95 {
		t.Errorf("only %.2f of the meanings are left", share)
	}
	if _, err := train.Adapt(t.Context(), table, nil, train.Options{}); err == nil {
		t.Error("adapted to nothing")
	}
}

func similarity(t *testing.T, table *train.Table, one, two string) (cosine float32) {
	t.Helper()
	m, err := builtin.Parse(string(table.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := m.Encode(one)
	b, _ := m.Encode(two)
	for d := range a {
		cosine += a[d] * b[d]
	}
	return cosine
}

func TestTableKeepsWhatItHolds(t *testing.T) {
	t.Parallel()
	table := &train.Table{Words: []string{"one", "two", "none"}, Dims: 2, Rows: []float32{1, -.5, .001, .002, 0, 0}}
	data := table.Bytes()
	read, err := train.ReadTable(data)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(read.Words, " "); got != "one two none" || read.Dims != 2 {
		t.Errorf("read words %q of %d dimensions", got, read.Dims)
	}
	for i, want := range table.Rows {
		if d := read.Rows[i] - want; d > .004 || d < -.004 {
			t.Errorf("number %d is %f, want %f", i, read.Rows[i], want)
		}
	}
	if !bytes.Equal(read.Bytes(), data) {
		t.Error("a table that was read is written otherwise")
	}
	if _, err := train.ReadTable(data[:len(data)-1]); err == nil {
		t.Error("a table that is cut off was read")
	}
}
