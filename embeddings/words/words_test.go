package words_test

import (
	"strings"
	"testing"

	"github.com/toolscout/toolscout/embeddings/words"
)

func TestOf(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"", ""},
		{"  ,;- ", ""},
		{"createIssue", "create issue"},
		{"XMLHttpRequest", "xml http request"},
		{"snake_case-and-kebab.dots/slashes", "snake case and kebab dots slashes"},
		{"OAuth2 token", "o auth 2 token"},
		{"HTTPServerError 503", "http server error 503"},
		{"12345 1234", "1234"},
		{"ec2", "ec 2"},
		{"résumé Ünder", "resume under"},
		{"re\u0301sume\u0301 e\u0301 \u0301x", "resume e x"}, // the marks apart
		{"crèmeBrûlée ŁÓDŹ Straße Ærø İstanbul Tiếng Việt", "creme brulee lodz strasse aero istanbul tieng viet"},
		{"conﬁgure oﬃce ＦＵＬＬ", "configure office full"},
		{"йод 한국어 ガラス", "йод 한국어 ガラス"}, // marks of other scripts make other letters
		{"写一份报告 now", "写一份报告 now"},
		{"emoji 😀 test", "emoji test"},
		{"bad \xff utf8", "bad utf 8"},
		{strings.Repeat("x", 40) + " y", strings.Repeat("x", 30) + " y"},
	}
	for _, test := range tests {
		var got []string
		for w := range words.Of(test.text) {
			got = append(got, string(w))
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("Of(%q) = %q, want %q", test.text, s, test.want)
		}
	}
}

func TestOfStopsWhenAsked(t *testing.T) {
	t.Parallel()
	for w := range words.Of("one 2 three") {
		if string(w) == "2" {
			return
		}
	}
	t.Error("the number was never yielded")
}

// TestStop gives everybody a set of their own.
func TestStop(t *testing.T) {
	t.Parallel()
	stop := words.Stop()
	if !stop["a"] || !stop["yours"] || stop["down"] || stop["mail"] {
		t.Errorf("got %v", stop)
	}
	stop["mail"] = true
	if words.Stop()["mail"] {
		t.Error("one who adds a word adds it for others")
	}
}
