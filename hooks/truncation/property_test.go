package truncation_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolscout/toolscout/core/rawjson"
	"github.com/toolscout/toolscout/core/tokens"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/result"
)

const markerName = "toolscout/truncated"

// cutOf says how out is not what is left of in when things are left out: "" when it
// is. Elements at the end are allowed behind a marker.
func cutOf(out, in []byte) string {
	out, in = bytes.TrimSpace(out), bytes.TrimSpace(in)
	if bytes.Equal(out, in) {
		return ""
	}
	if len(out) == 0 || out[0] != in[0] {
		return fmt.Sprintf("%.80s became %.80s", in, out)
	}
	switch out[0] {
	case '{':
		return cutOfObject(out, in)
	case '[':
		return cutOfArray(out, in)
	case '"':
		head, _, found := strings.Cut(string(out), "… [")
		if !found || !bytes.HasPrefix(in, []byte(head)) {
			return fmt.Sprintf("%.80s became %.80s", in, out)
		}
		return ""
	}
	return fmt.Sprintf("the literal %.80s became %.80s", in, out)
}

func cutOfObject(out, in []byte) string {
	whole, _ := rawjson.Scan(in)
	left, err := rawjson.Scan(out)
	if err != nil {
		return err.Error()
	}
	i := 0
	for _, m := range left.Members {
		if string(m.Name) == markerName && m.End == left.Members[len(left.Members)-1].End {
			continue
		}
		for i < len(whole.Members) && !bytes.Equal(whole.Members[i].Name, m.Name) {
			i++
		}
		if i == len(whole.Members) {
			return fmt.Sprintf("there was no member %q, or not here", m.Name)
		}
		if fault := cutOf(out[m.Start:m.End], in[whole.Members[i].Start:whole.Members[i].End]); fault != "" {
			return fault
		}
		i++
	}
	return ""
}

func elements(b []byte) (list [][]byte) {
	_ = rawjson.Elements(b, func(start, end int) { list = append(list, b[start:end]) })
	return list
}

// isMarker tells the element that stands for others from an object that lost members.
func isMarker(e []byte) bool {
	return bytes.HasPrefix(e, []byte(`{"`+markerName+`":`)) && bytes.Contains(e, []byte("elements left out")) ||
		bytes.HasPrefix(e, []byte(`{"`+markerName+`":{`))
}

func cutOfArray(out, in []byte) string {
	left, whole := elements(out), elements(in)
	for i, e := range left {
		if isMarker(e) {
			tail := left[i+1:]
			for j := range tail {
				if !bytes.Equal(tail[j], whole[len(whole)-len(tail)+j]) {
					return fmt.Sprintf("%.80s is not of the end", tail[j])
				}
			}
			return ""
		}
		if i >= len(whole) {
			return "there are more elements than before"
		}
		if fault := cutOf(e, whole[i]); fault != "" {
			return fault
		}
	}
	return ""
}

// randomJSON writes JSON as no encoder would.
func randomJSON(rng *rand.Rand, depth int) string {
	literals := []string{"9007199254740993", "1.0", "-0", "1E+2", "null", "true", `""`, `"\\\""`, `"]}"`, `"\u003c<&>é\ud83d\ude00"`, `12345678901234567890.1234567890e-10`,
		strings.Repeat("7", 300), `"` + strings.Repeat(`wörd \"\u00e9\\ `, rng.IntN(100)) + `"`}
	space := []string{"", "", " ", "\n\t"}[rng.IntN(4)]
	if n := rng.IntN(10); depth > 4 || depth > 0 && n < 4 {
		return literals[rng.IntN(len(literals))]
	} else if n%2 == 0 {
		var list []string
		for range rng.IntN(2 + 24>>depth) {
			list = append(list, space+randomJSON(rng, depth+1)+space)
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	var list []string
	for i := range rng.IntN(2 + 24>>depth) {
		name := fmt.Sprintf(`"k%d\u00e9"`, i)
		if rng.IntN(20) == 0 {
			name = `"` + strings.Repeat("long ", 100) + fmt.Sprint(i) + `"`
		}
		list = append(list, space+name+space+":"+space+randomJSON(rng, depth+1))
	}
	return "{" + strings.Join(list, ",") + space + "}"
}

// TestJSON_property: JSON stays JSON, gets within the limits, and what is left of it
// is what was there, from the beginning.
func TestJSON_property(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	cut := 0
	for range 600 {
		bytesLimit, tokenLimit := 1024+rng.IntN(4000), 400+rng.IntN(2000)
		keep := []string{"head", "head_tail"}[rng.IntN(2)]
		h := hookOf(t, fmt.Sprintf(`{"max_block_bytes":%d,"max_block_tokens":%d,"keep":%q,"store":%v}`, bytesLimit, tokenLimit, keep, rng.IntN(2) == 0))
		in := randomJSON(rng, 0)
		c := truncated(t, h, textResult(in))
		r, err := result.Parse(c.Result)
		if err != nil {
			t.Fatal(err)
		}
		out, _ := r.Blocks()[0].Text()
		if len(out) > bytesLimit || tokens.Estimate(out) > tokenLimit {
			t.Fatalf("%d bytes and %d tokens, the limits are %d and %d:\n%s", len(out), tokens.Estimate(out), bytesLimit, tokenLimit, out)
		}
		if !json.Valid([]byte(out)) {
			t.Fatalf("%s\nbecame\n%s", in, out)
		}
		if out == in {
			continue
		}
		cut++
		if len(in) <= bytesLimit && tokens.Estimate(in) <= tokenLimit {
			t.Fatalf("%s\nwas within the limits and became\n%s", in, out)
		}
		if !strings.Contains(out, markerName) {
			t.Fatalf("no marker in\n%s", out)
		}
		if fault := cutOf([]byte(out), []byte(in)); fault != "" {
			t.Fatalf("%s\nbecame\n%s\n%s", in, out, fault)
		}
	}
	if cut < 200 {
		t.Errorf("only %d were cut", cut)
	}
}

// TestText_property: text keeps its beginning, is cut between characters, and says
// how much of it is shown.
func TestText_property(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	parts := []string{"word ", "世界", "a line\n", "😀", "12345", "<tag/>", "\t"}
	for range 1000 {
		var b strings.Builder
		for range rng.IntN(2000) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		in := "text " + b.String()
		bytesLimit, tokenLimit := 1024+rng.IntN(4000), 400+rng.IntN(2000)
		tail := rng.IntN(2) == 0
		keep := map[bool]string{false: "head", true: "head_tail"}[tail]
		h := hookOf(t, fmt.Sprintf(`{"max_block_bytes":%d,"max_block_tokens":%d,"keep":%q}`, bytesLimit, tokenLimit, keep))
		r, err := result.Parse(truncated(t, h, textResult(in)).Result)
		if err != nil {
			t.Fatal(err)
		}
		out, _ := r.Blocks()[0].Text()
		if out == in {
			continue
		}
		if len(out) > bytesLimit || tokens.Estimate(out) > tokenLimit || !utf8.ValidString(out) {
			t.Fatalf("%d bytes and %d tokens, the limits are %d and %d:\n%s", len(out), tokens.Estimate(out), bytesLimit, tokenLimit, out)
		}
		head, rest, found := strings.Cut(out, "[Toolscout: ")
		if !found || !strings.HasPrefix(in, strings.TrimSuffix(head, "\n")) {
			t.Fatalf("%s\nbecame\n%s", in, out)
		}
		_, end, _ := strings.Cut(rest, "]")
		if end = strings.TrimPrefix(end, "\n"); tail != (end != "") || !strings.HasSuffix(in, end) {
			t.Fatalf("%s\nbecame\n%s", in, out)
		}
	}
}

// TestAll_property: whatever a result holds, all of it together gets within the
// limits, and a result within them is the same slice.
func TestAll_property(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 10))
	same, less := 0, 0
	for range 600 {
		limit := 2048 + rng.IntN(20000)
		h := hookOf(t, fmt.Sprintf(`{"max_bytes":%d,"max_tokens":0,"max_block_tokens":0,"max_block_bytes":%d,"max_binary_bytes":3000}`, limit, 1024+rng.IntN(8000)))
		raw := randomResult(rng)
		c := truncated(t, h, raw)
		if size(t, c) > limit {
			t.Fatalf("%d bytes of text, the limit is %d:\n%s\nbecame\n%s", size(t, c), limit, raw, c.Result)
		}
		if string(c.Result) == raw {
			same++
			if &c.Result[0] != &c.Raw[0] {
				t.Error("what is within the limits was copied")
			}
			if len(c.Meta) > 0 || len(c.Warnings) > 0 {
				t.Error("what is within the limits is marked")
			}
			continue
		}
		less++
		if c.Meta["truncated"] == nil {
			t.Fatal("what was shortened is not marked")
		}
	}
	if same < 50 || less < 100 {
		t.Errorf("%d stayed the same, %d were shortened", same, less)
	}
}

// size is how much text a result has. What structured content repeated counts once.
func size(t *testing.T, c *hooks.Call) (sum int) {
	t.Helper()
	whole, err := result.Parse(c.Raw)
	if err != nil {
		t.Fatal(err)
	}
	r, err := result.Parse(c.Result)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range r.Blocks() {
		if content := b.Content(); content.Blob == nil {
			sum += len(content.Text)
		}
	}
	if whole.Structured() != nil && whole.Mirror() < 0 {
		sum += len(r.Structured())
	}
	return sum
}

func randomResult(rng *rand.Rand) string {
	var blocks []string
	text := func() string {
		if rng.IntN(2) == 0 {
			return randomJSON(rng, 3)
		}
		return strings.Repeat("some text with a line's end\n", rng.IntN(300))
	}
	for range rng.IntN(12) {
		switch rng.IntN(6) {
		case 0:
			blocks = append(blocks, fmt.Sprintf(`{"type":"image","mimeType":"image/png","data":%q}`, strings.Repeat("QUJD", rng.IntN(600))))
		case 1:
			blocks = append(blocks, fmt.Sprintf(`{"type":"new","x":%s}`, randomJSON(rng, 4)))
		case 2:
			blocks = append(blocks, fmt.Sprintf(`{"type":"resource","resource":{"uri":"a","text":%s}}`, quote(text())))
		default:
			blocks = append(blocks, fmt.Sprintf(`{"type":"text","text":%s, "annotations":{"p":1.0}}`, quote(text())))
		}
	}
	structured := ""
	switch rng.IntN(3) {
	case 0:
		content := `{"a":` + randomJSON(rng, 2) + `}`
		structured = `,"structuredContent":` + content
		if rng.IntN(2) == 0 {
			blocks = append(blocks, `{"type":"text","text":`+quote(content)+`}`)
		}
	}
	return `{"isError":false,"content":[` + strings.Join(blocks, ",") + `]` + structured + `}`
}

func FuzzTruncate(f *testing.F) {
	for _, s := range []string{rows(50), `{"a":"` + strings.Repeat(`\ud83d\ude00`, 300) + `"}`, strings.Repeat("[", 1200) + strings.Repeat("]", 1200),
		strings.Repeat("ä\n", 2000), `{"` + strings.Repeat("k", 2000) + `":1}`, `["` + strings.Repeat(`\\`, 1000) + `"]`, `{"a":` + strings.Repeat("1", 3000) + `}`} {
		f.Add(s, `{}`, true)
	}
	heads := hookOf(f, `{"max_block_bytes":1024,"max_block_tokens":400}`)
	tails := hookOf(f, `{"max_block_bytes":1024,"keep":"head_tail"}`)
	f.Fuzz(func(t *testing.T, text, structured string, tail bool) {
		h := heads
		if tail {
			h = tails
		}
		raw := `{"content":[{"type":"text","text":` + quote(text) + `}]`
		if json.Valid([]byte(structured)) {
			raw += `,"structuredContent":` + structured
		}
		c := truncated(t, h, raw+"}")
		r, err := result.Parse(c.Result)
		if err != nil {
			t.Fatal(err)
		}
		out, _ := r.Blocks()[0].Text()
		if len(out) > 1024 {
			t.Errorf("%d bytes: %s", len(out), out)
		}
		trimmed := strings.TrimSpace(text)
		if container := trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '['); container && json.Valid([]byte(text)) && !json.Valid([]byte(out)) {
			t.Errorf("%s\nbecame\n%s", text, out)
		}
	})
}

func BenchmarkWithinLimits(b *testing.B) {
	h := hookOf(b, `{}`)
	c := newCall(textResult(strings.Repeat("some words and \"quotes\"\n", 4096/26)))
	b.ReportAllocs()
	for b.Loop() {
		if err := h.After(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkShorten(b *testing.B) {
	h := hookOf(b, `{}`)
	for name, raw := range map[string]string{"text_1MB": textResult(strings.Repeat("some words and \"quotes\"\n", 1<<20/26)), "json_1MB": textResult(rows(16000))} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if err := h.After(b.Context(), newCall(raw)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
