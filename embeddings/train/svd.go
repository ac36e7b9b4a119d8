package train

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

const (
	oversample = 32 // columns beyond those that are asked for
	powers     = 2  // iterations that separate the large from the small
)

// decompose gives the first k left singular vectors of a matrix, as rows of k
// numbers, each column times the root of its singular value (Halko, Martinsson and
// Tropp, 2011, "Finding Structure with Randomness", algorithm 4.4 and 5.1).
func decompose(ctx context.Context, s *sparse, k int, random *rand.Rand) ([]float32, error) {
	wide := min(k+oversample, s.n)
	k = min(k, s.n)
	x := make([]float32, s.n*wide)
	for i := range x {
		x[i] = float32(random.NormFloat64())
	}
	t := s.transposed()
	q := orthogonal(s.times(x, wide), wide)
	for range powers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		q = orthogonal(t.times(q, wide), wide)
		q = orthogonal(s.times(q, wide), wide)
	}
	// b = qᵀ·s has the large singular values of s; it is kept as sᵀ·q.
	b := dense(t.times(q, wide), wide)
	var svd mat.SVD
	if !svd.Factorize(b, mat.SVDThin) {
		return nil, errors.New("the singular value decomposition does not converge")
	}
	var right, left mat.Dense
	svd.VTo(&right)
	left.Mul(dense(q, wide), right.Slice(0, wide, 0, k))
	out := make([]float32, s.n*k)
	for j, value := range svd.Values(nil)[:k] {
		root := math.Sqrt(value)
		for i := range s.n {
			out[i*k+j] = float32(left.At(i, j) * root)
		}
	}
	return out, nil
}

// times multiplies the matrix with a dense one whose rows are k long.
func (s *sparse) times(x []float32, k int) []float32 {
	out := make([]float32, s.n*k)
	parallel(s.n, func(from, to int) {
		for i := from; i < to; i++ {
			row := out[i*k : (i+1)*k]
			columns, values := s.row(i)
			for n, j := range columns {
				addTo(row, values[n], x[int(j)*k:][:k])
			}
		}
	})
	return out
}

func (s *sparse) transposed() *sparse {
	t := &sparse{n: s.n, ends: make([]int, s.n), columns: make([]uint32, len(s.columns)), values: make([]float32, len(s.values))}
	next := make([]int, s.n+1)
	for _, j := range s.columns {
		next[j+1]++
	}
	for j := range s.n {
		next[j+1] += next[j]
		t.ends[j] = next[j+1]
	}
	for i := range s.n {
		columns, values := s.row(i)
		for n, j := range columns {
			t.columns[next[j]], t.values[next[j]] = uint32(i), values[n]
			next[j]++
		}
	}
	return t
}

// orthogonal gives an orthonormal basis of the columns of a matrix whose rows are k
// long: the thin Q of its QR decomposition.
func orthogonal(x []float32, k int) []float32 {
	a := dense(x, k).RawMatrix()
	tau, work := make([]float64, k), make([]float64, 1)
	lapack64.Geqrf(a, tau, work, -1) // asks how much room it works best with
	work = make([]float64, int(work[0]))
	lapack64.Geqrf(a, tau, work, len(work))
	lapack64.Orgqr(a, tau, work, len(work))
	q := make([]float32, len(x))
	for i, v := range a.Data {
		q[i] = float32(v)
	}
	return q
}

func dense(x []float32, k int) *mat.Dense {
	data := make([]float64, len(x))
	for i, v := range x {
		data[i] = float64(v)
	}
	return mat.NewDense(len(x)/k, k, data)
}
