package train

import (
	"runtime"
	"sync"

	"gonum.org/v1/gonum/blas/gonum"
)

// parallel calls f with parts of 0 to n at the same time and waits for them. What f
// computes for an index must depend on nothing that it computes for another: then
// the result is the same for any number of processors.
func parallel(n int, f func(from, to int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() { f(w*n/workers, (w+1)*n/workers) })
	}
	wait.Wait()
}

func dot(a, b []float32) float32 { return gonum.Implementation{}.Sdot(len(a), a, 1, b, 1) }

// addTo adds f·a to b.
func addTo(b []float32, f float32, a []float32) {
	gonum.Implementation{}.Saxpy(len(a), f, a, 1, b, 1)
}

// multiply sets out, rows × columns, to the products of the rows of a with the rows
// of b, which are k long.
func multiply(out, a, b []float32, k int) {
	columns := len(b) / k
	parallel(len(a)/k, func(from, to int) {
		for i := from; i < to; i++ {
			for j := range columns {
				out[i*columns+j] = dot(a[i*k:(i+1)*k], b[j*k:(j+1)*k])
			}
		}
	})
}

// transpose sets out to a, whose rows are k long, with rows and columns swapped.
func transpose(out, a []float32, k int) {
	n := len(a) / k
	parallel(k, func(from, to int) {
		for j := from; j < to; j++ {
			for i := range n {
				out[j*n+i] = a[i*k+j]
			}
		}
	})
}
