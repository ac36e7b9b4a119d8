package testfilter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/testfilter"
)

// kept names, for each sample, what must be left of it: the summary, and for each
// failure the test's name and what it found.
var kept = map[string]struct{ summary, failures []string }{
	"cargo":  {summary: []string{"test result: FAILED. 40 passed; 4 failed"}, failures: []string{"broken::rounds_up", "left: 39", "broken::finds_the_customer", "customer 7 is known", "broken::refuses_too_much", "test did not panic as expected", "broken::reads_the_file", "ParseIntError"}},
	"pytest": {summary: []string{"3 failed, 126 passed, 1 skipped, 1 xfailed, 1 warning, 1 error in "}, failures: []string{"test_total", "AssertionError: the total is wrong", "test_customers", "Differing items", "test_missing", "KeyError: 'apple'", "test_saves", "ConnectionError: the database does not answer"}},
	"jest":   {summary: []string{"Test Suites: 1 failed, 3 passed, 4 total", "Tests:       4 failed, 1 skipped, 1 todo, 60 passed, 66 total"}, failures: []string{"an order › adds up", "Received: 357", "an order › knows its customer", `"city": "Paris"`, "an order › when it is empty › refuses to be sent", "TypeError: nothing to send", "answers in time", "Exceeded timeout of 50 ms"}},
	"go":     {summary: []string{"FAIL\texample.com/shop/order", "ok  \texample.com/shop/price", "ok  \texample.com/shop/stock"}, failures: []string{"TestTotal", "total: got 18, want 19", "TestTotal/with_tax", "want bbbbbbbbbbbbbbbbbbbb", "TestFile", "open no-such-file", "TestNoisy", "line 99 of much"}},
	"rspec":  {summary: []string{"96 examples, 3 failures, 3 pending"}, failures: []string{"an order adds up", "expected: 13", "an order knows its customer", `-:city => "Paris"`, "an order when it is empty is sent", "undefined method `deliver'"}},
	"mix":    {summary: []string{"96 tests, "}, failures: []string{"an order adds up", "left:  357", "an order knows its customer", `city: "Paris"`, "is sent", "(ArgumentError) nothing to send", "logs", "{:ok, _} = {:error, :enoent}"}},
}

var failing = map[string][]string{
	"cargo":  {"cargo-fail", "cargo-color", "cargo-quiet"},
	"pytest": {"pytest-fail", "pytest-fail-verbose", "pytest-fail-short", "pytest-fail-line", "pytest-color"},
	"jest":   {"jest-fail", "jest-color"},
	"go":     {"go-fail", "go-fail-verbose", "go-fail-json"},
	"rspec":  {"rspec-fail", "rspec-fail-doc", "rspec-color"},
	"mix":    {"mix-fail", "mix-fail-trace", "mix-color"},
}

// TestFailing: summary, names and assertions are there, the colours are not.
func TestFailing(t *testing.T) {
	t.Parallel()
	h := open(t, `{}`)
	for framework, names := range failing {
		for _, name := range names {
			text := sample(t, name)
			got := filter(t, h, text)
			for _, part := range slices.Concat(kept[framework].summary, kept[framework].failures) {
				if !strings.Contains(got, part) {
					t.Errorf("%s: %q is lost", name, part)
				}
			}
			if strings.Contains(got, "\x1b") {
				t.Errorf("%s: colours are left", name)
			}
			if len(strings.Split(text, "\n")) > 120 && 2*len(got) > len(text) {
				t.Errorf("%s: shortened from %d to %d bytes, want at most half", name, len(text), len(got))
			}
		}
	}
}

// TestOneFailure: of failures that are not shown the names are.
func TestOneFailure(t *testing.T) {
	t.Parallel()
	h := open(t, `{"max_failures":1,"max_lines":4}`)
	for framework, names := range failing {
		for _, name := range names {
			got := filter(t, h, sample(t, name))
			for i, part := range kept[framework].failures {
				if i%2 == 0 && !strings.Contains(got, part) {
					t.Errorf("%s: %q is lost in\n%s", name, part, got)
				}
			}
			if name != "pytest-fail-line" && !strings.Contains(got, "more failures left out") {
				t.Errorf("%s: no line says that failures were left out", name)
			}
		}
	}
}

// TestPassing: a passing run is little more than its summary.
func TestPassing(t *testing.T) {
	t.Parallel()
	h := open(t, `{}`)
	for name, want := range map[string][]string{
		"cargo-pass":          {"test result: ok. 40 passed"},
		"pytest-pass":         {"124 passed in "},
		"pytest-pass-verbose": {"124 passed in "},
		"pytest-none":         {"no tests ran in "},
		"jest-pass":           {"Tests:       60 passed, 60 total"},
		"jest-pass-verbose":   {"Tests:       60 passed, 60 total"},
		"go-pass":             {"ok  \texample.com/shop/order", "ok  \texample.com/shop/stock"},
		"go-pass-verbose":     {"ok  \texample.com/shop/order", "ok  \texample.com/shop/stock"},
		"go-pass-json":        {"ok  \texample.com/shop/order", "ok  \texample.com/shop/stock"},
		"rspec-pass":          {"90 examples, 0 failures"},
		"rspec-pass-doc":      {"90 examples, 0 failures"},
		"mix-pass":            {"90 tests, 0 failures"},
		"mix-pass-trace":      {"90 tests, 0 failures"},
	} {
		got := filter(t, h, sample(t, name))
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q is lost", name, part)
			}
		}
		if n := strings.Count(got, "\n"); n > 7 {
			t.Errorf("%s: %d lines are left:\n%s", name, n, got)
		}
	}
}

// TestTrouble: what keeps tests from running is never left out.
func TestTrouble(t *testing.T) {
	t.Parallel()
	for _, config := range []string{`{}`, `{"max_lines":8}`} {
		h := open(t, config)
		for name, want := range map[string][]string{
			"cargo-error":   {"error[E0425]: cannot find function `net`", "error: could not compile"},
			"cargo-abort":   {"SIGABRT", "error: test failed, to rerun pass `--test abort`"},
			"pytest-error":  {"No module named 'no_such_module'", "SyntaxError", "Interrupted: 2 errors during collection", "2 errors in"},
			"pytest-stop":   {"stopping after 1 failures", "test_even[0]"},
			"jest-error":    {"Test suite failed to run", "Cannot find module './no-such-file'", "syntax.test.js"},
			"jest-none":     {"No tests found"},
			"go-error":      {`cannot use "three"`, "[build failed]"},
			"go-error-json": {`cannot use "three"`, "[build failed]"},
			"go-panic":      {"panic: assignment to entry in nil map", "TestPanics"},
			"go-panic-json": {"panic: assignment to entry in nil map", "TestPanics"},
			"go-timeout":    {"panic: test timed out after 300ms", "TestHangs"},
			"rspec-error":   {"cannot load such file -- no_such_library", "syntax_spec.rb", "2 errors occurred outside of examples"},
			"mix-error":     {"undefined function undefined_here/0"},
			"mix-error-lib": {"missing terminator"},
		} {
			got := filter(t, h, sample(t, name))
			for _, part := range want {
				if !strings.Contains(got, part) {
					t.Errorf("%s with %s: %q is lost in\n%s", name, config, part, got)
				}
			}
		}
	}
}

// TestUnchanged: what is no test run stays byte for byte.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	h := open(t, `{}`)
	texts := map[string]string{
		"prose":            "We ran everything: 1 failed, 3 passed in 2.5s.\nTests: some failed.\ntest result: bad",
		"json":             `{"tests":[{"name":"a","status":"failed"}],"summary":"1 failed, 2 passed in 0.1s"}`,
		"json lines":       `{"Action":"pass","Package":"a"}` + "\n" + `{"Action":"fail"}`,
		"half of a cargo":  "running 3 tests\ntest a ... ok\ntest b ... ok\n",
		"summary alone":    "3 passed in 0.10s\n",
		"diff":             "-ok  \ta\t0.1s\n+FAIL\tb\t0.2s\n 1 example, 0 failures\n",
		"quoted":           "> ===== 3 passed in 0.10s =====\n> ok  \ta\t0.1s\n",
		"page about tests": sample(t, "pytest-fail") + strings.Repeat("This is what pytest prints when tests fail.\n", 30),
		"two frameworks":   sample(t, "pytest-fail") + sample(t, "jest-fail"),
		"colours":          "\x1b[31mred\x1b[0m\r\n1 failed",
		"empty":            "",
		"line feeds":       "\n\n\n",
	}
	for _, path := range samples(t) {
		if name := filepath.Base(path); strings.HasPrefix(name, "other-") {
			texts[name] = sample(t, strings.TrimSuffix(name, ".txt"))
		}
	}
	for name, text := range texts {
		if got := filter(t, h, text); got != text {
			t.Errorf("%s: got %q, want %q", name, got, text)
		}
	}
}

// TestBytes: a result in which nothing is recognised is the very same slice.
func TestBytes(t *testing.T) {
	t.Parallel()
	h := open(t, `{}`)
	for _, raw := range []string{
		`{"content":[{"type":"text","text":"1 failed é"},{"type":"image","data":"aa"}],"x":1.0}`,
		`{"content":[]}`, `{}`, `[1]`, `null`,
	} {
		c := &hooks.Call{Result: json.RawMessage(raw)}
		before := &c.Result[0]
		if err := h.After(t.Context(), c); err != nil || before != &c.Result[0] || string(c.Result) != raw {
			t.Errorf("%s: got %s, %v", raw, c.Result, err)
		}
	}
	if err := h.After(t.Context(), &hooks.Call{Err: errors.New("failed")}); err != nil {
		t.Error(err)
	}
}

// TestAround: what stands before and after a test run is kept.
func TestAround(t *testing.T) {
	t.Parallel()
	before := strings.Repeat("added 1 package\n\n\n", 100)
	got := filter(t, open(t, `{}`), "$ npm ci && npx jest\n"+before+sample(t, "jest-pass-verbose")+"exit status 1\n\nbye")
	for _, part := range []string{"$ npm ci && npx jest\n" + before, "exit status 1\n\nbye", "60 passed"} {
		if !strings.Contains(got, part) {
			t.Errorf("got %s\nwant %q in it", got, part)
		}
	}
}

// TestNoise: lines that nobody knows are shortened between those of the run, but
// not those that sound like trouble.
func TestNoise(t *testing.T) {
	t.Parallel()
	noise := strings.Repeat("2026-01-01 connected to the database\n", 500)
	text := strings.Replace(sample(t, "cargo-fail"), "running 44 tests\n", "running 44 tests\n"+noise+"ERROR the disk is full\n"+noise, 1)
	got := filter(t, open(t, `{}`), text)
	if !strings.Contains(got, "ERROR the disk is full") || strings.Count(got, "connected") > 60 || !strings.Contains(got, "lines left out]") {
		t.Errorf("got %d lines:\n%s", strings.Count(got, "\n"), got)
	}
}

// TestCount: failures that a summary counts but that are nowhere told are said to be.
func TestCount(t *testing.T) {
	t.Parallel()
	text := "running 50 tests\n" + strings.Repeat("test a ... ok\n", 48) +
		"test result: FAILED. 48 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n"
	if got := filter(t, open(t, `{}`), text); !strings.Contains(got, "[2 failures are counted, 0 were found in the output]") {
		t.Errorf("got %s", got)
	}
}

// TestMany counts what is shown and what is left out.
func TestMany(t *testing.T) {
	t.Parallel()
	leftOut := regexp.MustCompile(`\[(\d+) more failures left out`)
	for failures := range 12 {
		got := filter(t, open(t, fmt.Sprintf(`{"max_failures":%d}`, failures+1)), sample(t, "pytest-many"))
		m := leftOut.FindStringSubmatch(got)
		if m == nil {
			t.Fatalf("got %s", got)
		}
		rest, err := strconv.Atoi(m[1])
		if shown := strings.Count(got, "____ test_even["); err != nil || shown != failures+1 || shown+rest != 39 {
			t.Errorf("%d shown and %d left out, want %d and in all 39", shown, rest, failures+1)
		}
	}
}

// TestLists: long lists of names and of what passed are bounded too.
func TestLists(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "ok  \texample.com/p%d\t0.01s\n", i)
	}
	for i := range 90 {
		fmt.Fprintf(&text, "--- FAIL: Test%d (0.00s)\n    a_test.go:1: bad %s\n", i, strings.Repeat("é", 3000))
	}
	text.WriteString("FAIL\nFAIL\texample.com/q\t0.01s\nFAIL\n")
	got := filter(t, open(t, `{}`), text.String())
	for _, part := range []string{"[190 more lines about what passed left out]", "[80 more failures left out: Test10, ", "Test59 and 30 others]", " bytes left out]"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
	if len(got) > 30_000 {
		t.Errorf("%d bytes are left", len(got))
	}
}

func TestFrameworks(t *testing.T) {
	t.Parallel()
	h := open(t, `{"frameworks":["rspec","mix"]}`)
	if text := sample(t, "pytest-many"); filter(t, h, text) != text {
		t.Error("pytest was shortened although it is not asked for")
	}
	if text := sample(t, "rspec-pass-doc"); filter(t, h, text) == text {
		t.Error("rspec was not shortened")
	}
}

// TestChain: the run's effects tell what was saved, and mirrored structured content
// goes along.
func TestChain(t *testing.T) {
	t.Parallel()
	runner := hooks.NewRunner(hooks.Config{})
	t.Cleanup(func() { runner.Close(context.Background()) })
	raw, err := json.Marshal(sample(t, "pytest-pass-verbose"))
	if err != nil {
		t.Fatal(err)
	}
	c := &hooks.Call{Level: hooks.Tool}
	entry := hooks.Entry{Name: "tests", Hook: open(t, `{}`), Inline: true, Events: testfilter.Type().Events}
	err = runner.Run(t.Context(), hooks.Compile([]hooks.Entry{entry}, c), c, func(_ context.Context, c *hooks.Call) error {
		c.Result = json.RawMessage(`{"content":[{"type":"text","text":` + string(raw) + `}],"structuredContent":{"result":` + string(raw) + `}}`)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	notes := c.Effects[0].Notes
	if notes["framework"] != "pytest" || notes["tokensBefore"].(int) < 10*notes["tokensAfter"].(int) {
		t.Errorf("got notes %v", notes)
	}
	if strings.Count(string(c.Result), "124 passed in") != 2 || strings.Contains(string(c.Result), "PASSED") {
		t.Errorf("got %s", c.Result)
	}
}

// TestDeadline: it gives up when it must.
func TestDeadline(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	raw, err := json.Marshal(sample(t, "pytest-many"))
	if err != nil {
		t.Fatal(err)
	}
	c := &hooks.Call{Result: json.RawMessage(`{"content":[{"type":"text","text":` + string(raw) + `}]}`)}
	if err := open(t, `{}`).After(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}

// FuzzFilter: whatever comes, nothing panics, it is never longer than before, and a
// second look changes nothing that loses the summary.
func FuzzFilter(f *testing.F) {
	for _, path := range samples(f) {
		text := sample(f, strings.TrimSuffix(filepath.Base(path), ".txt"))
		f.Add(text[:min(len(text), 4000)], 3, 5)
		f.Add(text[max(0, len(text)-2000):], 1, 4)
	}
	f.Fuzz(func(t *testing.T, text string, failures, lines int) {
		if failures < 1 || lines < 4 {
			return
		}
		text = strings.ToValidUTF8(text, "?")
		got := filter(t, open(t, fmt.Sprintf(`{"max_failures":%d,"max_lines":%d}`, failures%1000+1, lines%1000+4)), text)
		if got != text && len(got) >= len(text) {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
	})
}

// BenchmarkUnknown is what a result costs that is no test run.
func BenchmarkUnknown(b *testing.B) {
	h := open(b, `{}`)
	raw, err := json.Marshal(strings.Repeat("All is well in line after line of this log, which goes on.\n", 70))
	if err != nil {
		b.Fatal(err)
	}
	c := &hooks.Call{Result: json.RawMessage(`{"content":[{"type":"text","text":` + string(raw) + `}]}`)}
	b.ReportAllocs()
	for b.Loop() {
		if err := h.After(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLong is a run of 2,000 lines.
func BenchmarkLong(b *testing.B) {
	h := open(b, `{}`)
	raw, err := json.Marshal(sample(b, "pytest-many"))
	if err != nil {
		b.Fatal(err)
	}
	result := json.RawMessage(`{"content":[{"type":"text","text":` + string(raw) + `}]}`)
	b.SetBytes(int64(len(result)))
	for b.Loop() {
		if err := h.After(b.Context(), &hooks.Call{Result: result}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestLong: what very many tests say takes no time that grows with the
// square of that.
func TestLong(t *testing.T) {
	t.Parallel()
	h := open(t, `{}`)
	const tests = 30_000
	for name, line := range map[string]func(int) string{
		"hanging":       func(i int) string { return fmt.Sprintf("=== RUN   Test%d", i) },
		"failing":       func(i int) string { return fmt.Sprintf("--- FAIL: Test%d (0.00s)", i) },
		"failing again": func(int) string { return "--- FAIL: Test (0.00s)" },
		"within":        func(i int) string { return fmt.Sprintf("--- FAIL: Test/%d (0.00s)", i) },
	} {
		var b strings.Builder
		for i := range tests {
			b.WriteString(line(i) + "\n")
		}
		got := filter(t, h, b.String()+"FAIL\texample.com/shop\t0.01s\n")
		if !strings.Contains(got, "FAIL\texample.com/shop") || len(got) > 100_000 {
			t.Errorf("%s: %d bytes are left", name, len(got))
		}
	}
}
