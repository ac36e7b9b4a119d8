package toon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core/toon"
)

// nasty are strings that mean something else to TOON, or to JSON, if they are not
// quoted and escaped as they must be.
var nasty = []string{
	"", " ", "  ", "a", "a b", " a", "a ", "\ta", "a\t", "true", "false", "null", "True", "0", "-0", "42", "-1", "+1", "05", "-05", "1.5", "1.",
	".5", "1e5", "1E+5", "-1e-5", "1e", "0x1", "Infinity", "-", "- a", "-a", "--", "#", "# a", "a # b", ":", "a:", "a: b", ":a", "[", "]", "{", "}",
	"[]", "{}", "[3]", "[3]:", "a[2]", "a[2]:", "a[2]: x,y", "[2:]{a,b}:", "a[1]{b}:", "{a}", ",", "a,b", ",,", "|", "a|b", "\t", "\"", "\"a\"",
	"a\"b", "\\", "\\n", "\n", "\r", "\r\n", "a\nb", "a\r", "\x00", "\x01\x1f", "\x7f", "\u0080", "\u00a0", "\u00a0a", "\u2028", "\ufeff", "\ufeffa",
	"\ufffd", "é", "e\u0301", "你好", "🚀", "\U0010ffff", "\uffff", "__proto__", "constructor", "a.b", ".a", "a.", "_a", "9a", "a-b", "<b>&amp;</b>",
	"C:\\dir", "https://example.com/?a=b&c=d", "2026-01-02T03:04:05Z", "nan", "~", "%", "'a'", "`", "!", "*", "&a",
}

var numbers = []string{
	"0", "-0", "0.0", "-0.0", "0e0", "-0E-5", "1", "-1", "10", "100", "1.0", "1.50", "-1.5", "0.1", "0.10", "1e0", "1e1", "1E1", "1e+1", "1e-1", "12e-1",
	"1.5e3", "1.5e-3", "100e-2", "0.000001", "0.0000001", "1e-6", "1e-7", "9.99e-7", "1e20", "1e21", "1e22", "999999999999999999999", "1000000000000000000000",
	"12345678901234567890123456789", "9007199254740993", "-9223372036854775809", "18446744073709551616", "3.141592653589793238462643383279502884",
	"1e400", "-1e400", "1e-400", "1.0e400", "123456789.123456789e30", "1e999999999999999999999", "-2.50E-999999999999999999999", "0e999999999999999999999",
	"0.00000000000000000000000000000000000000000000000001", "120000000000000000000000000000e-10",
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func randomString(r *rand.Rand) string {
	switch r.IntN(4) {
	case 0:
		return pick(r, nasty) + pick(r, nasty)
	case 1:
		return fmt.Sprint("word ", r.IntN(100))
	default:
		return pick(r, nasty)
	}
}

func randomPrimitive(r *rand.Rand) string {
	switch r.IntN(6) {
	case 0:
		return pick(r, []string{"true", "false", "null"})
	case 1:
		return pick(r, numbers)
	case 2:
		return fmt.Sprint(r.IntN(1000) - 500)
	default:
		return encoded(randomString(r))
	}
}

func randomKeys(r *rand.Rand) []string {
	seen := map[string]string{}
	for range r.IntN(6) + r.IntN(2)*r.IntN(20) {
		k := pick(r, []string{"id", "name", "a", "b", randomString(r), fmt.Sprint("k", r.IntN(30))})
		seen[k] = ""
	}
	keys := sortedKeys(seen)
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

// template makes many values of one form: rows of tables, sometimes with a flaw.
type template struct {
	keys   []string
	nested map[string]*template
}

func randomTemplate(r *rand.Rand, depth int) *template {
	t := &template{keys: randomKeys(r), nested: map[string]*template{}}
	for _, k := range t.keys {
		if depth > 0 && r.IntN(4) == 0 {
			t.nested[k] = randomTemplate(r, depth-1)
		}
	}
	return t
}

func (t *template) json(r *rand.Rand, flaw int) string {
	keys := append([]string(nil), t.keys...)
	if r.IntN(3) == 0 {
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	}
	var members []string
	for _, k := range keys {
		v := randomPrimitive(r)
		if n := t.nested[k]; n != nil {
			v = n.json(r, flaw)
		}
		if r.IntN(100) < flaw {
			v = randomJSON(r, 1)
		}
		members = append(members, encoded(k)+pick(r, []string{":", " : ", ":\n"})+v)
	}
	return "{" + strings.Join(members, pick(r, []string{",", " , "})) + "}"
}

func randomJSON(r *rand.Rand, depth int) string {
	if depth == 0 {
		return randomPrimitive(r)
	}
	var parts []string
	flaw := r.IntN(2) * r.IntN(10)
	switch r.IntN(6) {
	case 0:
		return randomPrimitive(r)
	case 1:
		for range r.IntN(5) {
			parts = append(parts, randomJSON(r, depth-1))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case 2:
		for range r.IntN(5) {
			parts = append(parts, randomPrimitive(r))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case 3:
		t := randomTemplate(r, 2)
		for range r.IntN(5) {
			parts = append(parts, t.json(r, flaw))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case 4:
		t := randomTemplate(r, 2)
		for _, k := range randomKeys(r) {
			parts = append(parts, encoded(k)+":"+t.json(r, flaw))
		}
	default:
		for _, k := range randomKeys(r) {
			parts = append(parts, encoded(k)+":"+randomJSON(r, depth-1))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

var delimiters = []byte{',', '\t', '|'}

// TestRoundTrip encodes random JSON, and decodes it to what it was.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	const seed = 7
	r := rand.New(rand.NewPCG(seed, seed))
	for i := range 5_000 {
		in := randomJSON(r, r.IntN(5))
		o := toon.Options{Delimiter: pick(r, delimiters), Indent: 1 + r.IntN(4)}
		out := roundTrip(t, in, o)
		if t.Failed() {
			t.Fatalf("seed %d, document %d:\n%s\n--\n%s", seed, i, in, out)
		}
	}
}

// roundTrip checks all that must hold of one document that TOON can hold.
func roundTrip(t *testing.T, in string, o toon.Options) string {
	t.Helper()
	out, err := toon.Encode(in, o)
	if err != nil {
		t.Errorf("encode: %v", err)
		return ""
	}
	checkForm(t, out)
	back, err := toon.Decode(out, o)
	if err != nil {
		t.Errorf("decode: %v", err)
		return out
	}
	if got, want := value(t, string(back)), value(t, in); !reflect.DeepEqual(got, want) {
		t.Errorf("decoded to %s (-got +want):\n%s", back, cmp.Diff(got, want))
		return out
	}
	if !strings.HasPrefix(out, "[") { // no table, and no array
		if got, want := outer(string(back)), outer(in); !slices.Equal(got, want) {
			t.Errorf("keys in the order %q, want %q", got, want)
		}
	}
	again, err := toon.Encode(string(back), o)
	if err != nil || again != out {
		t.Errorf("encoded again: %q, %v", again, err)
	}
	return out
}

// checkForm checks what no encoder may write (§12).
func checkForm(t *testing.T, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Errorf("not UTF-8: %q", out)
	}
	if out == "" {
		return
	}
	for line := range strings.SplitSeq(out, "\n") {
		if line == "" || strings.HasSuffix(line, " ") || strings.HasSuffix(line, "\r") || strings.HasPrefix(strings.TrimLeft(line, " "), "#") {
			t.Errorf("the line %q is blank, a comment, or ends with a space", line)
		}
	}
}

func FuzzEncode(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		f.Add(randomJSON(r, 3))
	}
	f.Add(`{"a":1,"\u0061":2}`)
	f.Add(`["\ud800"]`)
	f.Fuzz(func(t *testing.T, in string) {
		out, err := toon.Encode(in, toon.Options{Limit: 1 << 20})
		if err == nil {
			if !json.Valid([]byte(in)) {
				t.Fatalf("%q is not JSON, and became %q", in, out)
			}
			roundTrip(t, in, toon.Options{})
			return
		}
		if !json.Valid([]byte(in)) {
			return
		}
		refused := errors.Is(err, toon.ErrTooDeep) || errors.Is(err, toon.ErrTooLong) || !utf8.ValidString(in) ||
			strings.Contains(in, `\u`) || hasTwice(in)
		if !refused {
			t.Fatalf("%q is refused: %v", in, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		out, err := toon.Encode(randomJSON(r, 3), toon.Options{Delimiter: pick(r, delimiters)})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(out, false)
		f.Add(out, true)
	}
	for _, s := range []string{"a[2]{b,c{d}}:\n  1,2\n  3,4", "# x\n\n- a\n", "[2:|]{a}:\n\tx: 1\n", "a:\n    b: 1\na: 2"} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, in string, lenient bool) {
		const limit = 1 << 20
		out, err := toon.Decode(in, toon.Options{Lenient: lenient, Limit: limit})
		if err != nil {
			return
		}
		if len(out) > limit+len(in)+64 {
			t.Fatalf("%d bytes of %d", len(out), len(in))
		}
		if !json.Valid(out) {
			t.Fatalf("%q became %s, which is not JSON", in, out)
		}
		roundTrip(t, string(out), toon.Options{})
	})
}
