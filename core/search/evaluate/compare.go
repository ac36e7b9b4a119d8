package evaluate

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Comparison is how far a run lies above another one of the same queries.
type Comparison struct {
	// Name is what the other one is called.
	Name string `json:"name"`
	// Missing is how many queries the other run lacks; they score 0 there.
	Missing int          `json:"missing,omitempty"`
	Metrics []Difference `json:"metrics"`
}

// Difference is the mean of what a metric gained over all queries, and how likely a
// difference as large is if the two runs are as good as each other.
type Difference struct {
	Metric string  `json:"metric"`
	Gain   float64 `json:"gain"`
	P      float64 `json:"p"`
}

// Compare tests scores against those of another run of the same queries, in the same
// order. An error says that they are not as many.
func Compare(each, other []Scores) ([]Difference, error) {
	if len(each) != len(other) {
		return nil, fmt.Errorf("%d queries cannot be compared with %d", len(each), len(other))
	}
	list := make([]Difference, len(compared))
	for i, m := range compared {
		gains := make([]float64, len(each))
		for j := range each {
			gains[j] = m.of(each[j]) - m.of(other[j])
		}
		list[i] = Difference{Metric: m.name, Gain: mean(gains), P: Paired(gains)}
	}
	return list, nil
}

const (
	flips    = 10_000
	flipSeed = 7
)

// Paired is the two-sided p value of paired differences by a randomisation test: the
// share of random signs for which their sum is at least as far from 0 as it is. It is
// the same for the same differences. (Smucker, Allan, Carterette: A comparison of
// statistical significance tests for information retrieval evaluation, CIKM 2007.)
func Paired(differences []float64) float64 {
	var moved []float64
	sum := 0.0
	for _, d := range differences {
		if d != 0 {
			moved = append(moved, d)
			sum += d
		}
	}
	random := rand.New(rand.NewPCG(flipSeed, 0))
	seen := math.Abs(sum) - 1e-12
	extreme := 0
	for range flips {
		if math.Abs(flipped(moved, random)) >= seen {
			extreme++
		}
	}
	return float64(extreme+1) / (flips + 1)
}

// flipped is the sum with random signs.
func flipped(list []float64, random *rand.Rand) float64 {
	sum := 0.0
	var bits uint64
	for i, d := range list {
		if i%64 == 0 {
			bits = random.Uint64()
		}
		if bits&1 == 0 {
			d = -d
		}
		sum += d
		bits >>= 1
	}
	return sum
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(max(1, len(list)))
}
