package train

import (
	"math"
	"slices"
)

// Adam's constants (Kingma and Ba, 2015), but the second moment is one number a
// row, and both are brought up to date only when the row occurs.
const (
	beta1   = 0.9
	beta2   = 0.999
	epsilon = 1e-8
)

// temperature divides cosines before they are compared. All exponents are taken
// relative to the largest there can be, which a float32 bears down to 0.03.
const temperature = 0.08

// learner changes a table so that the two texts of a pair get nearer than either is
// to the other texts of its batch (InfoNCE both ways; van den Oord, Li and Vinyals,
// 2018, "Representation Learning with Contrastive Predictive Coding").
type learner struct {
	dims   int
	rows   []float32
	first  []float32 // Adam's first moment, a number for each of rows
	second []float32 // its second, a number a row
	seen   []int32   // how often each row was changed
	anchor []float32 // what rows are pulled back to; nil for nothing
	pull   float32   // how far at each change, 0 to 1
	fixed  []bool    // rows that stay as they are; nil for none

	// Of the batch at hand, n pairs. The texts are n times a, then n times b.
	examples []example
	units    []float32 // unit vectors of the texts
	lengths  []float32 // what they were divided by
	slopes   []float32 // of the loss, by units and then by sums of rows
	matrix   []float32 // n × n, pairs of a and b: exponents, then slopes
	turned   []float32 // transposed matrix
	swapped  []float32 // transposed units of one side
	sums     []float32 // of the exponents, by row and then by column
	index    occurrences
}

func newLearner(rows []float32, dims, batch int) *learner {
	words := len(rows) / dims
	return &learner{dims: dims, rows: rows, first: make([]float32, len(rows)), second: make([]float32, words),
		seen: make([]int32, words), examples: make([]example, batch), units: make([]float32, 2*batch*dims),
		lengths: make([]float32, 2*batch), slopes: make([]float32, 2*batch*dims), matrix: make([]float32, batch*batch),
		turned: make([]float32, batch*batch), swapped: make([]float32, batch*dims), sums: make([]float32, 2*batch),
		index: occurrences{counts: make([]int32, words)}}
}

// text is text t of the batch.
func (l *learner) text(t int) []uint32 {
	if n := len(l.examples); t >= n {
		return l.examples[t-n].b
	}
	return l.examples[t].a
}

// step learns from the examples at a rate, and gives their mean loss.
func (l *learner) step(rate float32) float64 {
	loss := l.gradient()
	l.index.build(len(l.lengths), l.text)
	parallel(len(l.index.rows), func(from, to int) {
		slope := make([]float32, l.dims)
		for i := from; i < to; i++ {
			clear(slope)
			for _, t := range l.index.of(i) {
				addTo(slope, 1, l.vector(l.slopes, int(t)))
			}
			l.update(int(l.index.rows[i]), slope, rate)
		}
	})
	return loss
}

func (l *learner) vector(of []float32, t int) []float32 { return of[t*l.dims : (t+1)*l.dims] }

// update takes a step of Adam in one row.
func (l *learner) update(row int, slope []float32, rate float32) {
	if l.fixed != nil && l.fixed[row] {
		return
	}
	l.seen[row]++
	n := float64(l.seen[row])
	square := dot(slope, slope) / float32(l.dims)
	l.second[row] = beta2*l.second[row] + (1-beta2)*square
	spread := math.Sqrt(float64(l.second[row]) / (1 - math.Pow(beta2, n)))
	f := float32(float64(rate) / (1 - math.Pow(beta1, n)) / (spread + epsilon))
	values, first := l.vector(l.rows, row), l.vector(l.first, row)
	for i, x := range slope {
		first[i] = beta1*first[i] + (1-beta1)*x
		values[i] -= f * first[i]
	}
	if l.anchor != nil {
		for i, x := range l.vector(l.anchor, row) {
			values[i] += l.pull * (x - values[i])
		}
	}
}

// gradient leaves in slopes how the mean loss of the batch changes with the sum of
// the rows of each text, and gives the loss.
func (l *learner) gradient() float64 {
	n := len(l.examples)
	l.encode()
	a, b := l.units[:n*l.dims], l.units[n*l.dims:]
	multiply(l.matrix, a, b, l.dims)
	loss := l.softmax()
	transpose(l.swapped, b, l.dims)
	multiply(l.slopes[:n*l.dims], l.matrix, l.swapped, n)
	transpose(l.turned, l.matrix, n)
	transpose(l.swapped, a, l.dims)
	multiply(l.slopes[n*l.dims:], l.turned, l.swapped, n)
	l.unnormalise()
	return loss
}

// encode sums the rows of each text and normalises the sum.
func (l *learner) encode() {
	parallel(len(l.lengths), func(from, to int) {
		for t := from; t < to; t++ {
			unit := l.vector(l.units, t)
			clear(unit)
			for _, row := range l.text(t) {
				addTo(unit, 1, l.vector(l.rows, int(row)))
			}
			length := max(float32(math.Sqrt(float64(dot(unit, unit)))), epsilon)
			for i := range unit {
				unit[i] /= length
			}
			l.lengths[t] = length
		}
	})
}

// softmax turns the cosines in matrix into the slopes of the loss by them, and
// gives the loss. Two pairs that share a text are no example against each other.
func (l *learner) softmax() float64 {
	n := len(l.examples)
	rowSums, columnSums := l.sums[:n], l.sums[n:]
	parallel(n, func(from, to int) {
		for i := from; i < to; i++ {
			rowSums[i] = l.exponents(i)
		}
	})
	var loss float64
	for i := range n {
		// That of a pair's own exponent, once against its row and once against its column.
		loss -= 2 * math.Log(float64(l.matrix[i*n+i]))
	}
	parallel(n, func(from, to int) {
		clear(columnSums[from:to])
		for i := range n {
			for j := from; j < to; j++ {
				columnSums[j] += l.matrix[i*n+j]
			}
		}
	})
	for i := range n {
		loss += math.Log(float64(rowSums[i])) + math.Log(float64(columnSums[i]))
	}
	scale := 1 / (2 * temperature * float32(n))
	parallel(n, func(from, to int) {
		for i := from; i < to; i++ {
			row := l.matrix[i*n : (i+1)*n]
			for j, e := range row {
				row[j] = scale * (e/rowSums[i] + e/columnSums[j])
			}
			row[i] -= 2 * scale
		}
	})
	return loss / float64(2*n)
}

// exponents replaces the cosines of row i and gives their sum.
func (l *learner) exponents(i int) float32 {
	n := len(l.examples)
	own, row := &l.examples[i], l.matrix[i*n:(i+1)*n]
	var sum float32
	for j, cosine := range row {
		other := &l.examples[j]
		if j != i && (own.keyA == other.keyA || own.keyB == other.keyB) {
			row[j] = 0
			continue
		}
		row[j] = float32(math.Exp(float64(cosine-1) / temperature))
		sum += row[j]
	}
	return sum
}

// unnormalise turns slopes by unit vectors into slopes by the sums they were made
// of: what is along the vector changes nothing.
func (l *learner) unnormalise() {
	parallel(len(l.lengths), func(from, to int) {
		for t := from; t < to; t++ {
			unit, slope := l.vector(l.units, t), l.vector(l.slopes, t)
			addTo(slope, -dot(unit, slope), unit)
			for i := range slope {
				slope[i] /= l.lengths[t]
			}
		}
	})
}

// occurrences are the rows that a batch is made of, each with its texts.
type occurrences struct {
	rows   []uint32
	counts []int32 // by row; 0 between batches
	starts []int32 // by place in rows, and the end
	texts  []int32
}

func (o *occurrences) of(i int) []int32 { return o.texts[o.starts[i]:o.starts[i+1]] }

// build collects the rows of n texts, in the order of their numbers.
func (o *occurrences) build(n int, text func(int) []uint32) {
	o.rows, o.starts = o.rows[:0], append(o.starts[:0], 0)
	for t := range n {
		for _, row := range text(t) {
			if o.counts[row] == 0 {
				o.rows = append(o.rows, row)
			}
			o.counts[row]++
		}
	}
	slices.Sort(o.rows)
	var end int32
	for _, row := range o.rows {
		start := end
		end += o.counts[row]
		o.counts[row] = start // where its next text goes
		o.starts = append(o.starts, end)
	}
	o.texts = slices.Grow(o.texts[:0], int(end))[:end]
	for t := range n {
		for _, row := range text(t) {
			o.texts[o.counts[row]] = int32(t)
			o.counts[row]++
		}
	}
	for _, row := range o.rows {
		o.counts[row] = 0
	}
}
