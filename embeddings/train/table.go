package train

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/toolscout/toolscout/embeddings/builtin"
)

// Table is a vector for each word: row i, of Dims numbers, belongs to word i. Words
// are in the order of how common they are.
type Table struct {
	Words []string
	Dims  int
	Rows  []float32
}

// Row is the vector of word i.
func (t *Table) Row(i int) []float32 { return t.Rows[i*t.Dims : (i+1)*t.Dims] }

// ReadTable reads a table in the format that package builtin describes.
func ReadTable(data []byte) (*Table, error) {
	m, err := builtin.Parse(string(data))
	if err != nil {
		return nil, fmt.Errorf("read embedding table: %w", err)
	}
	t := &Table{Words: m.Words(), Dims: m.Dimensions()}
	t.Rows = make([]float32, len(t.Words)*t.Dims)
	for i := range t.Words {
		m.AddRow(t.Row(i), uint32(i))
	}
	return t, nil
}

// Bytes is the table in the format that package builtin describes: each row as
// int8, scaled so that its largest number is 127.
func (t *Table) Bytes() []byte {
	words := strings.Join(t.Words, "\n")
	out := make([]byte, 0, len(builtin.Magic)+12+len(words)+len(t.Words)*(4+t.Dims))
	out = append(out, builtin.Magic...)
	for _, n := range []int{len(t.Words), t.Dims, len(words)} {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	out = append(out, words...)
	rows := make([]byte, 0, len(t.Rows))
	for i := range t.Words {
		row := t.Row(i)
		scale := largest(row) / 127
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(scale))
		for _, x := range row {
			var q int8
			if scale > 0 {
				q = int8(math.Round(float64(x / scale)))
			}
			rows = append(rows, byte(q))
		}
	}
	return append(out, rows...)
}

func largest(row []float32) float32 {
	var most float32
	for _, x := range row {
		most = max(most, x, -x)
	}
	return most
}

// encoder says which rows the texts are made of, once there is a table of words.
func encoder(words []string) (*builtin.Model, error) {
	return builtin.Parse(string((&Table{Words: words}).Bytes()))
}
