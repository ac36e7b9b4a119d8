package train_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/toolscout/toolscout/embeddings/train"
)

func TestSlopesAgreeWithFiniteDifferences(t *testing.T) {
	t.Parallel()
	const dims, words, step = 6, 12, 1e-2
	random := rand.New(rand.NewPCG(7, 7))
	rows := make([]float32, dims*words)
	for i := range rows {
		rows[i] = float32(random.NormFloat64())
	}
	pairs := [][2][]uint32{
		{{0, 1}, {2, 3, 4}}, {{5}, {6, 6, 7}}, {{8, 1}, {9}},
		{{0, 1}, {10, 11}},   // shares text A with the first
		{{3, 10}, {6, 6, 7}}, // shares text B with the second
	}
	_, slopes := train.Slopes(rows, dims, pairs)
	var largest float64
	for i := range rows {
		was := rows[i]
		rows[i] = was + step
		above, _ := train.Slopes(rows, dims, pairs)
		rows[i] = was - step
		below, _ := train.Slopes(rows, dims, pairs)
		rows[i] = was
		want := (above - below) / (2 * step)
		largest = max(largest, math.Abs(want))
		if d := math.Abs(float64(slopes[i]) - want); d > 2e-3+1e-2*math.Abs(want) {
			t.Errorf("the loss changes with number %d of word %d by %f, want %f", i%dims, i/dims, slopes[i], want)
		}
	}
	if largest < .1 {
		t.Errorf("no slope is larger than %f: the test says nothing", largest)
	}
}

func TestDecomposeAgreesWithTheExactDecomposition(t *testing.T) {
	t.Parallel()
	const n, k = 90, 8
	random := rand.New(rand.NewPCG(3, 3))
	m := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			if random.IntN(3) == 0 {
				m.Set(i, j, random.NormFloat64())
			}
		}
	}
	for range k { // a few directions that stand out, as they do among words
		u, v := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
		for i := range n {
			u.SetVec(i, random.NormFloat64())
			v.SetVec(i, random.NormFloat64())
		}
		m.RankOne(m, 1+random.Float64(), u, v)
	}
	got, err := train.Decompose(m, k, 1)
	if err != nil {
		t.Fatal(err)
	}
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDThin) {
		t.Fatal("no exact decomposition")
	}
	var u mat.Dense
	svd.UTo(&u)
	for j, value := range svd.Values(nil)[:k] {
		var along float64 // vectors have no sign
		for i := range n {
			along += float64(got[i*k+j]) * u.At(i, j)
		}
		if want := math.Sqrt(value); math.Abs(math.Abs(along)-want) > 1e-3*want {
			t.Errorf("vector %d is %f along the exact one, want %f", j, math.Abs(along), want)
		}
	}
}

func TestPPMI(t *testing.T) {
	t.Parallel()
	words, got := train.PPMI([]train.Group{{Pairs: []train.Pair{{A: "red", B: "apple"}, {A: "red", B: "apple"}, {A: "blue", B: "sky"}}}})
	at := make(map[string]int)
	for i, w := range words {
		at[w] = i
	}
	// red and apple are near each other twice, of six times in all; their contexts
	// weigh 2^.75 of 2·2^.75 + 2·1.
	want := math.Log((2*math.Pow(2, .75))+2) - .75*math.Log(2)
	if x := got[at["red"]][at["apple"]]; math.Abs(float64(x)-want) > 1e-5 {
		t.Errorf("red and apple: %f, want %f", x, want)
	}
	if x := got[at["red"]][at["sky"]]; x != 0 {
		t.Errorf("red and sky are never near each other: %f", x)
	}
}

func BenchmarkStep(b *testing.B) {
	step := train.Stepper(22_000, 256, 512, 16)
	for b.Loop() {
		step()
	}
}
