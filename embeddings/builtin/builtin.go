// Package builtin is the embedding model that comes with Toolscout: a static
// table of word vectors. A text is the normalised sum of its words' vectors. It
// needs no service and no download, encodes a query in microseconds, and knows
// which words mean about the same; it is meant to be joined with a word index.
package builtin

import (
	"context"
	_ "embed" // for the table
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/embeddings/words"
)

// Name is the name under which the model is on record. Another table needs another
// name: vectors of one mean nothing to queries of the other.
const Name = "builtin/words-256-v2"

// The table, format SEMB1: magic, word count, dimensions, length of the words
// (all uint32 little endian), the words joined by newlines, one float32 scale a
// word, one row of int8 a word. A string is never copied: the rows stay in the
// program's read-only pages.
//
//go:embed model.bin
var table string

// Magic is what a table begins with.
const Magic = "SEMB1\x00\x00\x00"

// Model is the table, ready to encode. It is safe for concurrent use.
type Model struct {
	name  string
	index map[string]uint32 // word to row
	words []string          // by row
	scale []float32
	rows  string // int8, dims a word
	dims  int
}

// New reads the table in the binary.
func New() (*Model, error) {
	m, err := Parse(table)
	if err != nil {
		return nil, fmt.Errorf("read the built-in embedding table: %w", err)
	}
	return m, nil
}

// Table is the table in the binary, in the format SEMB1.
func Table() []byte { return []byte(table) }

// Parse reads a table of format SEMB1, which the model goes on to use. The model has
// the name of the one in the binary; Named gives it another.
func Parse(data string) (*Model, error) {
	rest, ok := strings.CutPrefix(data, Magic)
	if !ok || len(rest) < 12 {
		return nil, errors.New("not a table")
	}
	number := func(at int) int { return int(binary.LittleEndian.Uint32([]byte(rest[at : at+4]))) }
	count, dims, size := number(0), number(4), number(8)
	rest = rest[12:]
	if max(count, dims, size) > len(rest) || len(rest) != size+4*count+count*dims { // the product alone could overflow
		return nil, fmt.Errorf("%d bytes do not hold %d words of %d dimensions", len(data), count, dims)
	}
	names := strings.Split(rest[:size], "\n")
	if len(names) != count {
		return nil, fmt.Errorf("%d words, the header says %d", len(names), count)
	}
	m := &Model{name: Name, index: make(map[string]uint32, count), scale: make([]float32, count),
		words: names, rows: rest[size+4*count:], dims: dims}
	scales := rest[size : size+4*count]
	for i, name := range names {
		m.index[name] = uint32(i)
		m.scale[i] = math.Float32frombits(binary.LittleEndian.Uint32([]byte(scales[4*i : 4*i+4])))
		if !(m.scale[i] >= 0 && m.scale[i] < 1e6) { // no vector with it could be compared
			return nil, fmt.Errorf("the scale of %q is %g", name, m.scale[i])
		}
	}
	return m, nil
}

// Name is the model's name.
func (m *Model) Name() string { return m.name }

// Named is the same model under another name, "provider/model".
func (m *Model) Named(name string) *Model {
	named := *m
	named.name = name
	return &named
}

// Dimensions is the length of a vector.
func (m *Model) Dimensions() int { return m.dims }

// Words are the words of the table, the commonest first.
func (m *Model) Words() []string { return slices.Clone(m.words) }

// Embed gives one unit vector a text, or the zero vector where no word is known.
func (m *Model) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i], _ = m.Encode(text)
	}
	return vectors, nil
}

// Encode gives the vector of one text, and how many known words it was made of.
func (m *Model) Encode(text string) ([]float32, int) {
	v := make([]float32, m.dims)
	n := m.sum(v, text)
	normalise(v)
	return v, n
}

// EmbedWeighted gives the unit vector of a text in parts: the sum of the parts'
// unit vectors times their weights, normalised. There must be a weight a part.
func (m *Model) EmbedWeighted(parts []string, weights []float32) []float32 {
	v, part := make([]float32, m.dims), make([]float32, m.dims)
	for i, text := range parts {
		if text == "" {
			continue
		}
		clear(part)
		m.sum(part, text)
		normalise(part)
		for j, x := range part {
			v[j] += weights[i] * x
		}
	}
	normalise(v)
	return v
}

// sum adds the vectors of the words of text to v and counts them.
func (m *Model) sum(v []float32, text string) int {
	n := 0
	var buf [maxParts]uint32
	for word := range words.Of(text) {
		rows := m.rowsOf(buf[:0], word)
		for _, row := range rows {
			m.AddRow(v, row)
		}
		n += len(rows)
	}
	return n
}

// maxParts is room for the rows of a word: it is cut at 30 letters, and a part has
// three of them.
const maxParts = 10

// AppendRows appends the numbers of the rows that the vector of a text is the sum
// of: training has to see texts as the encoder will.
func (m *Model) AppendRows(rows []uint32, text string) []uint32 {
	for word := range words.Of(text) {
		rows = m.rowsOf(rows, word)
	}
	return rows
}

// rowsOf appends a word's own row, that of its stem, or those of its parts.
func (m *Model) rowsOf(rows []uint32, word []byte) []uint32 {
	row, ok := m.index[string(word)]
	if !ok && len(word) > 3 {
		row, ok = m.stem(word)
	}
	if ok {
		return append(rows, row)
	}
	if len(word) <= 3 {
		return rows
	}
	return m.partsOf(rows, word)
}

// AddRow adds a row to v.
func (m *Model) AddRow(v []float32, row uint32) {
	scale := m.scale[row]
	q := m.rows[int(row)*m.dims:][:len(v)]
	for i := range v {
		v[i] += scale * float32(int8(q[i]))
	}
}

// partsOf appends the words that an unknown word is put together from: the longest
// known one at each place, of three letters and more, skipping what fits nothing.
func (m *Model) partsOf(rows []uint32, word []byte) []uint32 {
	for i := 0; i+3 <= len(word); {
		row, size := m.longest(word[i:])
		if size == 0 {
			i++
			continue
		}
		rows = append(rows, row)
		i += size
	}
	return rows
}

// longest finds the longest known word of three letters and more that word
// begins with; its size is 0 when there is none.
func (m *Model) longest(word []byte) (row uint32, size int) {
	for size := len(word); size >= 3; size-- {
		if row, ok := m.index[string(word[:size])]; ok {
			return row, size
		}
	}
	return 0, 0
}

// endings are tried in this order; plus is what is put in the ending's place.
var endings = [...]struct {
	ending, plus string
	longer       int // the word has more letters than this
}{
	{"ies", "y", 4}, {"es", "", 4}, {"s", "", 3},
	{"ing", "", 5}, {"ing", "e", 5}, {"ed", "", 4}, {"ed", "e", 4},
	{"ly", "", 4}, {"er", "", 4}, {"er", "e", 4},
}

// stem finds the row of a word's base form.
func (m *Model) stem(word []byte) (uint32, bool) {
	var buf [128]byte
	for _, e := range endings {
		if len(word) <= e.longer || !strings.HasSuffix(string(word), e.ending) {
			continue
		}
		base := append(append(buf[:0], word[:len(word)-len(e.ending)]...), e.plus...)
		if row, ok := m.index[string(base)]; ok {
			return row, true
		}
	}
	return 0, false
}

// normalise makes v a unit vector, unless it is zero.
func normalise(v []float32) {
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if square == 0 {
		return
	}
	f := float32(1 / math.Sqrt(square))
	for i := range v {
		v[i] *= f
	}
}
