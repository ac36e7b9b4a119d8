package builtin_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/embeddings/builtin"
)

func model(t testing.TB) *builtin.Model {
	t.Helper()
	m, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestGoldenVectors(t *testing.T) {
	t.Parallel()
	m := model(t)
	file, err := os.Open("testdata/golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, count := bufio.NewScanner(file), 0
	lines.Buffer(nil, 1<<20)
	for ; lines.Scan(); count++ {
		var want struct {
			Text   string
			Tokens int
			Vector []float64
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		got, tokens := m.Encode(want.Text)
		if tokens != want.Tokens {
			t.Errorf("%q has %d known words, want %d", want.Text, tokens, want.Tokens)
		}
		for i := range want.Vector {
			if d := math.Abs(float64(got[i]) - want.Vector[i]); d > 1e-4 {
				t.Errorf("%q: vector[%d] is off by %g", want.Text, i, d)
				break
			}
		}
	}
	if err := lines.Err(); err != nil || count != 50 {
		t.Errorf("%d golden vectors, want 50 (%v)", count, err)
	}
}

func TestEmbedWeighted(t *testing.T) {
	t.Parallel()
	m := model(t)
	one, _ := m.Encode("read a file")
	if got := m.EmbedWeighted([]string{"read a file", "", "写"}, []float32{.3, 1, 1}); cosine(got, one) < .9999 {
		t.Errorf("parts without a known word moved the vector: cosine %f", cosine(got, one))
	}
	both := m.EmbedWeighted([]string{"read a file", "weather"}, []float32{1, .1})
	if c := cosine(both, one); c < .98 || c > .9999 {
		t.Errorf("a part of little weight has cosine %f to the rest", c)
	}
}

func TestEncodeAllocatesOnlyTheVector(t *testing.T) {
	m := model(t)
	text := strings.Repeat("list the pullRequests of unknownrepository queries ", 20)
	if n := testing.AllocsPerRun(20, func() { m.Encode(text) }); n > 2 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzEncode(f *testing.F) {
	m := model(f)
	for _, seed := range []string{"", "a", "createIssue", "XMLHttpRequest2", "12345", "résumé", "写一份报告",
		"\xff\xfe", "supercalifragilisticexpialidocious", strings.Repeat("aZ", 100), "İ\u0130ß", "ing ies ed er"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, known := m.Encode(text)
		length := math.Sqrt(float64(cosine(v, v)))
		if known == 0 && length != 0 || length != 0 && math.Abs(length-1) > 1e-4 {
			t.Errorf("%q: %d known words give a vector of length %f", text, known, length)
		}
	})
}

// tableOf is a table with a header of these numbers.
func tableOf(count, dims, size uint32, rest string) string {
	data := []byte(builtin.Magic)
	for _, n := range []uint32{count, dims, size} {
		data = binary.LittleEndian.AppendUint32(data, n)
	}
	return string(data) + rest
}

// one is a table of one word with a scale.
func one(scale float32) string {
	return tableOf(1, 2, 1, "x"+string(binary.LittleEndian.AppendUint32(nil, math.Float32bits(scale)))+"\x01\x02")
}

// TestParseRefuses what somebody may have made to do harm.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	if _, err := builtin.Parse(one(1)); err != nil {
		t.Error(err)
	}
	const most = math.MaxUint32
	for name, data := range map[string]string{
		"nothing":                   "",
		"a header alone":            builtin.Magic,
		"no words":                  tableOf(0, 2, 0, ""),
		"lengths that overflow":     tableOf(most, most-2, 9, "12345678"),
		"other lengths that do":     tableOf(most-1, most-1, 12, "12345678"),
		"words longer than all":     tableOf(0, 0, most, ""),
		"more words than there are": tableOf(2, 1, 1, "x12345678ab"),
		"a word twice":              tableOf(2, 1, 3, "x\nx\x00\x00\x80\x3f\x00\x00\x80\x3fab"),
		"no number":                 one(float32(math.NaN())),
		"below zero":                one(-1),
		"endless":                   one(float32(math.Inf(1))),
		"too small to divide by":    one(1e-44),
	} {
		if _, err := builtin.Parse(data); err == nil {
			t.Errorf("%s: it was read", name)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	m := model(b)
	for b.Loop() {
		m.Encode("list all open pull requests and then summarise the failing checks")
	}
}

func cosine(a, b []float32) float32 {
	var sum float32
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func TestWords(t *testing.T) {
	t.Parallel()
	m, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	list := m.Words()
	for _, word := range []string{list[0], list[len(list)-1]} {
		if _, n := m.Encode(word); n == 0 {
			t.Errorf("the model does not know its own word %q", word)
		}
	}
	list[0] = "changed"
	if m.Words()[0] == "changed" {
		t.Error("a caller can change the model's words")
	}
}

// TestParseRefusesSizesThatOverflow: an admin may send any table.
func TestParseRefusesSizesThatOverflow(t *testing.T) {
	t.Parallel()
	data := []byte(builtin.Magic)
	for _, n := range []uint32{1<<32 - 1, 1<<32 - 3, 1} { // 4·words + words·dimensions + length is 2^64
		data = binary.LittleEndian.AppendUint32(data, n)
	}
	if _, err := builtin.Parse(string(data)); err == nil {
		t.Error("a table of four billion words in twenty bytes was read")
	}
}
