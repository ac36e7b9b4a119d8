package toon_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core/toon"
)

// list is about size bytes of what a tool that lists things gives.
func list(size int) string {
	var b strings.Builder
	b.WriteString(`{"total":100,"items":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"title":"Search is slow, now and then","state":"open","user":{"login":"ada","type":"User"},"comments":%d,"closed":null}`, 10_000+i, i%17)
	}
	b.WriteString(`]}`)
	return b.String()
}

// nested is about size bytes of settings in many levels.
func nested(size int) string {
	var b strings.Builder
	b.WriteString(`{"version":3`)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `,"service%d":{"image":"registry.example.com/app:%d","ports":[{"container":8080,"host":%d}],"env":{"LEVEL":"info","URL":"postgres://db/%d"},"tags":["a","b"],"notes":"first\nsecond"}`, i, i, 8000+i, i)
	}
	b.WriteString(`}`)
	return b.String()
}

func BenchmarkEncode(b *testing.B) {
	for _, size := range []int{4 << 10, 1 << 20, 16 << 20} {
		for name, in := range map[string]string{"list": list(size), "nested": nested(size), "numbers": "[" + strings.Repeat("1,", size/2) + "1]"} {
			b.Run(fmt.Sprintf("%s/%dKB", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(in)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := toon.Encode(in, toon.Options{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{4 << 10, 1 << 20} {
		for name, in := range map[string]string{"list": list(size), "nested": nested(size)} {
			out, err := toon.Encode(in, toon.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%dKB", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(out)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := toon.Decode(out, toon.Options{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
