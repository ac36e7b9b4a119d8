package rawjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core/rawjson"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{}`:                                ``,
		" { \"a\" : 1.0 ,\n\"b\":[ {} ] } ": `a=1.0;b=[ {} ];`,
		`{"a":"\\","b":"\\\"}"}`:            `a="\\";b="\\\"}";`,
		`{"\u0061":{"a":1},"a":-0}`:         `a={"a":1};a=-0;`,
		`{"a":"x,y:]}","":null}`:            `a="x,y:]}";=null;`,
	} {
		got := ""
		err := rawjson.Members([]byte(in), func(m rawjson.Member) {
			got += string(m.Name) + "=" + in[m.Start:m.End] + ";"
			if in[m.Key] != '"' {
				t.Errorf("%s: the key begins with %q", in, in[m.Key:])
			}
		})
		if err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestElements(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`[]`: ``, ` [ 1.0 , "a,]" ,{"b":[]},null] `: `1.0;"a,]";{"b":[]};null;`, `[[],[[ ]]]`: `[];[[ ]];`,
	} {
		got := ""
		err := rawjson.Elements([]byte(in), func(start, end int) { got += in[start:end] + ";" })
		if err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{``, ` `, `1`, `"{}"`, `{`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1}x`, `[1`, `[1]x`, `[1}`, `{1:2}`, `{"\x":1}`} {
		isObject := rawjson.Members([]byte(in), func(rawjson.Member) {})
		isArray := rawjson.Elements([]byte(in), func(int, int) {})
		if isObject == nil || isArray == nil {
			t.Errorf("%q: object %v, array %v", in, isObject, isArray)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a":1,"A":2}`: `1`, `{"a":1,"a": [2] }`: `[2]`, `{"b":{"a":1}}`: ``, `[]`: ``, `{"\u0061":3}`: `3`,
	} {
		if got := string(rawjson.Find([]byte(in), "a")); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for _, tc := range []struct{ in, want string }{
		{nested(5), ""}, {nested(6), "nested deeper than 5"}, {`["[[[[[["]`, ""}, {`"\"[[[[[["`, ""},
		{`{"a":[{"b":[[]]}]}`, ""}, {`{"a":[{"b":[[[]]]}]}`, "nested deeper"}, {`{"a":`, "unexpected end"}, {``, "unexpected end"}, {`{}x`, "invalid character"},
	} {
		err := rawjson.Check([]byte(tc.in), 5)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.in, err, tc.want)
		}
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, inserted, without string }{
		{`{}`, `{"x":1}`, `{}`},
		{` { "a" : 1 } `, ` { "a" : 1,"x":1 } `, ` { "a" : 1 } `},
		{`{"p/a":1, "b": 2.0 ,"p/c":[]}`, `{"p/a":1, "b": 2.0 ,"p/c":[],"x":1}`, `{"b": 2.0}`},
	} {
		o, err := rawjson.Scan([]byte(tc.in))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.inserted, string(o.Insert([]byte(tc.in), []byte(`"x":1`)))); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(tc.without, string(o.Without([]byte(tc.in), "p/"))); diff != "" {
			t.Error(diff)
		}
	}
	o, err := rawjson.Scan([]byte(`{"a":1,"b":2,"a":3}`))
	if m, ok := o.Last("a"); err != nil || !ok || m.Start != 17 {
		t.Errorf("got %+v, %v, %v", m, ok, err)
	}
	if _, ok := o.Last("c"); ok {
		t.Error("found what is not there")
	}
}

// FuzzScan holds what is found in valid JSON to what encoding/json finds; of
// anything else there is only to be no panic.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":[1,{"b":"\\\""}],"c":null}`, `{"a":"\\`, `{"a":[}`, "{\"\\u\":1}", ` [1,"]",[[]],{}] `, `{"a":1,"a":2}`, `[,]`, `"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		members := map[string]string{}
		isObject := nil == rawjson.Members(in, func(m rawjson.Member) { members[string(m.Name)] = string(in[m.Start:m.End]) })
		var elements []string
		isArray := nil == rawjson.Elements(in, func(start, end int) { elements = append(elements, string(in[start:end])) })
		_ = rawjson.Check(in, 10)
		if !json.Valid(in) {
			return
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(in, &object); (err == nil && object != nil) != isObject {
			t.Fatalf("%q: object %v, want %v", in, isObject, err)
		}
		for name, value := range members {
			// encoding/json makes U+FFFD of what is no UTF-8; we leave it.
			if want, ok := object[strings.ToValidUTF8(name, "\ufffd")]; ok && len(members) == len(object) && string(want) != value {
				t.Fatalf("%q: member %q is %s, want %s", in, name, value, want)
			}
		}
		var array []json.RawMessage
		if err := json.Unmarshal(in, &array); (err == nil && array != nil) != isArray {
			t.Fatalf("%q: array %v, want %v", in, isArray, err)
		}
		if fmt.Sprint(elements) != fmt.Sprintf("%s", array) {
			t.Fatalf("%q: elements %q, want %q", in, elements, array)
		}
	})
}
