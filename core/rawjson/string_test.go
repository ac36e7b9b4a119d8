package rawjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core/rawjson"
)

func TestString(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`""`, `"a"`, `"\""`, `"\\"`, `"\\\""`, `"\/\b\f\n\r\t"`, `"a\nb\\nc"`, `"\u0041\u00e9\u4f60"`, `"\u0000"`, `"\ud83d\ude80"`, `"\ud83d"`, `"a\ude80\u0041"`,
		"\"\xff\"", "\"\\n\xff\"", `"é你🚀"`, `"\uFFFD"`, `"{\"a\":[1,\"b\\n\"]}"`,
		`"\x"`, `"\u12"`, `"\u12g4"`, `"\`, `"`, ``, `1`, `null`, `"a`,
	} {
		var want string
		valid := strings.HasPrefix(in, `"`) && json.Unmarshal([]byte(in), &want) == nil
		got, ok := rawjson.String([]byte(in))
		if ok != valid || ok && got != want {
			t.Errorf("%s is %q, %v; want %q, %v", in, got, ok, want, valid)
		}
	}
}

func FuzzString(f *testing.F) {
	f.Add(`"\u0041\ud83d\ude80"`)
	f.Fuzz(func(t *testing.T, in string) {
		var want string
		if json.Unmarshal([]byte(in), &want) != nil || in[0] != '"' {
			return // of what is no JSON, or begins with a space, nothing is promised
		}
		got, ok := rawjson.String([]byte(strings.TrimRight(in, " \t\r\n")))
		if !ok || got != want {
			t.Errorf("%q is %q, %v; want %q", in, got, ok, want)
		}
	})
}
