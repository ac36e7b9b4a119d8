package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core/search"
)

func TestClauses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, query string
		want        []string
	}{
		{"one need", "list all open pull requests", nil},
		{"nothing", " . ,", nil},
		{"and then", "convert the report to pdf and then mail it to Bob",
			[]string{"convert the report to pdf", "mail it to Bob"}},
		{"sentences", "Find the cheapest flight. Book the hotel near it! Is there a train?",
			[]string{"Find the cheapest flight", "Book the hotel near it", "Is there a train"}},
		{"comma and", "resize the image, and upload it somewhere", []string{"resize the image", "upload it somewhere"}},
		{"comma then", "read the file, then count its words", []string{"read the file", "count its words"}},
		{"also", "show me the weather also the traffic today", []string{"show me the weather", "the traffic today"}},
		{"lines", "create a branch\nopen a request", []string{"create a branch", "open a request"}},
		{"too short to stand alone", "search for cats and then dogs", nil},
		{"and inside a need", "list issues and pull requests of a repository", nil},
		{"a point inside a word", "read config.json from the disk now", nil},
		{"said twice", "do this again. do this again. do that again", []string{"do this again", "do that again"}},
		{"sentences without spaces", "查询明天北京的天气。预订酒店房间。", []string{"查询明天北京的天气", "预订酒店房间"}},
		{"a word that begins like also", "read the alsoran file of today", nil},
	}
	for _, test := range tests {
		if diff := cmp.Diff(search.Clauses(test.query), test.want); diff != "" {
			t.Errorf("%s: clauses of %q (-got +want):\n%s", test.name, test.query, diff)
		}
	}
	var many strings.Builder
	for i := range 50 {
		fmt.Fprintf(&many, "do the thing %d. ", i)
	}
	if n := len(search.Clauses(many.String())); n > 8 {
		t.Errorf("%d clauses of a long query", n)
	}
}

func TestTerms(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"", ""},
		{"Please can you show me the files?", "show file"},
		{"scroll down the page", "scroll page"},
		{"listPullRequests list_pull_requests", "list pull request"},
		{"running runner runs", "run runner"},
		{"résumé re\u0301sume\u0301", "resum"},
		{"Straße Łódź ＡＰＩ", "strass lodz api"},
		{"Ærø ĲSSEL", "aero ijssel"},
		{"がか", "がか"},
		{"使用GitHub搜索代码", "使用 git hub 搜索 索代 代码"},
		{"날씨를", "날씨 씨를"},
		{"获取当前日期", "获取 取当 当前 前日 日期"},
		{"日", "日"},
		{"Привет", "привет"},
		{"the of 12345", ""},
	}
	for _, test := range tests {
		if got := strings.Join(search.Terms(test.text), " "); got != test.want {
			t.Errorf("terms of %q are %q, want %q", test.text, got, test.want)
		}
	}
}

func FuzzTerms(f *testing.F) {
	for _, seed := range []string{"", "createIssue, then close it", "获取a日b", "\xff\xfe日\xff", "ssesies ing ed", "İİ. also ß"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if slices.Contains(search.Terms(text), "") {
			t.Errorf("%q has an empty term", text)
		}
		for _, c := range search.Clauses(text) {
			if search.WordCount(c) < 3 {
				t.Errorf("%q has the clause %q", text, c)
			}
		}
	})
}
