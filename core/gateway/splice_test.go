package gateway_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core/gateway"
)

func TestSplice(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"empty", `{}`, `{"_meta":{"x":1}}`},
		{"appended", `{"content":[],"n":9007199254740993}`, `{"content":[],"n":9007199254740993,"_meta":{"x":1}}`},
		{"whitespace_stays", "{ \"a\" : 1.0 ,\n\t\"b\":[ ] } ", "{ \"a\" : 1.0 ,\n\t\"b\":[ ],\"_meta\":{\"x\":1} } "},
		{"extended", `{"_meta":{"a":1},"b":2}`, `{"_meta":{"a":1,"x":1},"b":2}`},
		{"extended_empty", `{"_meta":{ },"b":2}`, `{"_meta":{"x":1 },"b":2}`},
		{"extended_last", `{"b":2,"_meta" : { "a":1 }}`, `{"b":2,"_meta" : { "a":1,"x":1 }}`},
		{"null", `{"_meta":null}`, `{"_meta":{"x":1}}`},
		{"forged", `{"_meta":{"toolscout/server":"evil","a":1.50,"toolscout\/tool":2}}`, `{"_meta":{"a":1.50,"x":1}}`},
		{"escaped_name", `{"\u005fmeta":{"a":1}}`, `{"\u005fmeta":{"a":1,"x":1}}`},
		{"twice", `{"_meta":{"a":1},"_meta":{"b":1}}`, `{"_meta":{"a":1},"_meta":{"b":1,"x":1}}`},
		{"only_the_top", `{"a":{"_meta":{}},"s":"\"_meta\":{"}`, `{"a":{"_meta":{}},"s":"\"_meta\":{","_meta":{"x":1}}`},
		{"backslashes", `{"a":"\\","b":"\\\""}`, `{"a":"\\","b":"\\\"","_meta":{"x":1}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := gateway.Splice([]byte(tc.in), []byte(`"x":1`))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(got), tc.want); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSpliceRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{``, `[]`, `1`, `"{}"`, `{"a":1}x`, `{`, `{"a"}`} {
		if out, err := gateway.Splice([]byte(in), []byte(`"x":1`)); err == nil {
			t.Errorf("%q gives %q", in, out)
		}
	}
}

func TestIsError(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		`{"isError":true}`: true, `{"isError": true ,"content":[]}`: true, `{"isError":false}`: false,
		`{}`: false, `{"a":{"isError":true}}`: false, `{"iserror":true}`: false, `[]`: false,
	} {
		if got := gateway.ReadsIsError([]byte(in)); got != want {
			t.Errorf("%s: got %v", in, got)
		}
	}
}

// TestSpliceKeepsEveryByte takes random results apart again: what was spliced in
// can be cut out, and leaves what was there.
func TestSpliceKeepsEveryByte(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	const members = `"toolscout/requestId":"r"`
	for range 5000 {
		in := randomObject(rng, 0)
		out, err := gateway.Splice([]byte(in), []byte(members))
		if err != nil || !json.Valid(out) {
			t.Fatalf("%s: %s, %v", in, out, err)
		}
		found := false
		for _, added := range []string{`,"_meta":{` + members + `}`, `"_meta":{` + members + `}`, `,` + members, members} {
			i := strings.LastIndex(string(out), added)
			found = found || i >= 0 && string(out[:i])+string(out[i+len(added):]) == in
		}
		if !found {
			t.Fatalf("got  %q\nfrom %q", out, in)
		}
	}
}

// randomObject writes JSON as no encoder would: odd whitespace, literals, escapes.
func randomObject(rng *rand.Rand, depth int) string {
	var b strings.Builder
	b.WriteString(blank(rng) + "{" + blank(rng))
	for i := range rng.IntN(5) {
		if i > 0 {
			b.WriteString("," + blank(rng))
		}
		key := fmt.Sprintf(`"k%d"`, i)
		value := randomValue(rng, depth+1)
		if depth == 0 && rng.IntN(8) == 0 {
			key, value = `"_meta"`, strings.TrimSpace(randomObject(rng, 4))
		}
		b.WriteString(key + blank(rng) + ":" + blank(rng) + value + blank(rng))
	}
	return b.String() + "}" + blank(rng)
}

func randomValue(rng *rand.Rand, depth int) string {
	literals := []string{"9007199254740993", "1.0", "-0", "1E+2", "0.10", "null", "true", "false", `""`, `"\\"`, `"\""`,
		`"{"`, `"]}"`, `"_meta"`, `"\u003c<&>é"`, `"a\\\"b"`, `"\ud83d\ude00"`, "\"\u2028\"", `12345678901234567890.1234567890e-10`}
	if n := rng.IntN(10); depth > 4 || n < 6 {
		return literals[rng.IntN(len(literals))]
	} else if n < 8 {
		return randomObject(rng, depth)
	}
	var items []string
	for range rng.IntN(4) {
		items = append(items, blank(rng)+randomValue(rng, depth+1)+blank(rng))
	}
	return "[" + strings.Join(items, ",") + "]"
}

func blank(rng *rand.Rand) string {
	return [...]string{"", "", "", " ", "\n", "\t ", "\r\n"}[rng.IntN(7)]
}

func FuzzSplice(f *testing.F) {
	for _, seed := range []string{`{}`, `{"_meta":{}}`, `{"a":"\\`, `{"a":[}`, `{"_meta":{"toolscout/x":1}}`, "{\"\\u\":1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := gateway.Splice(in, []byte(`"x":1`))
		if json.Valid(in) && err == nil && !json.Valid(out) {
			t.Errorf("%q gives %q", in, out)
		}
	})
}

func BenchmarkSplice(b *testing.B) {
	for _, size := range []int{4 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			text, err := json.Marshal(strings.Repeat("some words and \"quotes\"\n", size/26))
			if err != nil {
				b.Fatal(err)
			}
			in := fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"isError":false}`, text)
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := gateway.Splice(in, []byte(`"x":1`)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
