package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core/search/evaluate"
)

// TestEvalRefuses what does not go together, before it starts anything.
func TestEvalRefuses(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"--live a --from-usage":             "one at a time",
		"--live a ./set":                    "they take no sets",
		"--live a --weight .7":              "they take no sets",
		"--tune --min a=.5":                 "--tune tries every weight",
		"--from-usage --config a.toml":      "they take no sets",
		"--apply":                           "--apply goes with --tune",
		"--tune --apply ./set":              "--apply goes with --tune",
		"--since 1d --live a":               "--since goes with --from-usage",
		"--save a":                          "--save goes with --from-usage",
		"--tune --against a ./set":          "--tune tries every weight",
		"--against a --against-config b":    "one at a time",
		"--keep":                            "--keep goes with --figures",
		"--weight 1":                        "--weight 1",
		"--weight NaN":                      "--weight NaN",
		"--k 51":                            "--k 51: want 10 to 50",
		"--k 9":                             "want 10 to 50, for R@10 and NDCG@10 look at the first ten",
		"--min metatool=2":                  "from 0 to 1",
		"--min metatool=NaN":                "from 0 to 1",
		"--from-usage --since soon":         "as in 30d or 12h",
		"--live a --against /nowhere.jsonl": "/nowhere.jsonl",
		"--live /nowhere.jsonl":             "/nowhere.jsonl",
		"--config /nowhere.toml":            "--config: open /nowhere.toml: no such file or directory\n",
		"/nowhere/set":                      "/nowhere/set/tools.jsonl",
		"--dir /nowhere":                    "--dir /nowhere: no folder in it",
		"--dir testdata":                    "--dir testdata: no folder in it",
		"eval.go":                           "use --live",
		"--run-file /nowhere/a --live a":    "--run-file: open /nowhere/a",
		"--save /nowhere/a --from-usage":    "--save: open /nowhere/a",
	} {
		code, _, stderr := command(t, "http://127.0.0.1:1", append([]string{"eval"}, strings.Fields(line)...)...)
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("eval %s: status %d, it said %q, want %q", line, code, stderr, want)
		}
	}
}

// TestSavedQuestionsAreForOneself, also where the file was there before.
func TestSavedQuestionsAreForOneself(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "drawn.jsonl")
	if err := os.WriteFile(file, []byte("older and longer than what is saved now"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := saveQuestions(file, []evaluate.Query{{ID: "a", Text: "add", Relevant: []string{"8f1"}}}, map[string]string{"8f1": "demo_sum"})
	info, statErr := os.Stat(file)
	raw, readErr := os.ReadFile(file)
	if err := errors.Join(err, statErr, readErr); err != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(raw), "older") {
		t.Errorf("%v, %v: %s", err, info, raw)
	}
	got, err := evaluate.LoadQuestions(file)
	if err != nil || len(got) != 1 || !slices.Equal(got[0].Tools, []string{"demo_sum"}) || !slices.Equal(got[0].Relevant, []string{"8f1"}) {
		t.Errorf("read again: %+v (%v)", got, err)
	}
}

// TestSavedQuestionsOutliveTheIDs: a tool whose id is gone is known by its name.
func TestSavedQuestionsOutliveTheIDs(t *testing.T) {
	t.Parallel()
	const kept, gone, lost, twice = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002",
		"00000000-0000-4000-8000-000000000003", "00000000-0000-4000-8000-000000000004"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch name := strings.TrimPrefix(r.URL.Path, "/v1/tools/"); name {
		case kept, "demo_sum":
			fmt.Fprintf(w, `{"id":%q,"name":"demo_sum"}`, kept)
		case "demo_add":
			fmt.Fprint(w, `{"id":"new","name":"demo_add"}`)
		case "demo_twice":
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"kind":"conflict","detail":"2 of your tools are called \"demo_twice\"","hint":"use one of the ids"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"kind":"not_found","detail":"there is no tool \"%s\"","hint":"find tools with discover_tools"}`, name)
		}
	}))
	t.Cleanup(server.Close)
	names := map[string]string{kept: "another_name", gone: "demo_add", lost: "demo_fly", twice: "demo_twice"}
	ask := func(questions ...evaluate.Query) ([]evaluate.Query, error) {
		file := filepath.Join(t.TempDir(), "drawn.jsonl")
		if err := saveQuestions(file, questions, names); err != nil {
			t.Fatal(err)
		}
		return (&api{base: server.URL}).questionsOfFile(t.Context(), file, func(string) {})
	}
	got, err := ask(evaluate.Query{ID: "a", Text: "add", Relevant: []string{gone, kept}})
	if err != nil || len(got) != 1 || !slices.Equal(got[0].Relevant, []string{"new", kept}) {
		t.Errorf("got %+v (%v)", got, err)
	}
	_, err = ask(evaluate.Query{ID: "a", Text: "fly", Relevant: []string{lost}}, evaluate.Query{ID: "b", Text: "fly away", Relevant: []string{lost, kept, twice}},
		evaluate.Query{ID: "c", Text: "by name", Relevant: []string{"demo_typo"}})
	said := fmt.Sprint(err)
	for want, times := range map[string]int{
		`:1: tool "demo_fly" (` + lost + `): there is no tool "demo_fly"`: 1, `:2: tool "demo_fly" (` + lost + `): `: 1,
		`:2: tool "demo_twice" (` + twice + `): 2 of your tools`: 1, `:3: tool "demo_typo": there is no tool "demo_typo"`: 1,
		"find tools with toolscout tools search": 1, "use one of the ids": 1,
	} {
		if strings.Count(said, want) != times {
			t.Errorf("%q is not there %d times: %s", want, times, said)
		}
	}
}

// TestCanWriteLeavesNothing that was not there, and what was there as it was.
func TestCanWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "target"), link); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(canWrite("save", filepath.Join(dir, "new")), canWrite("save", link)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(link); err != nil {
		t.Errorf("the link is gone: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty file is left: %v", err)
	}
}

// TestAllPages: what a list is asked for is the same after it was read to its end.
func TestAllPages(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next := map[string]string{"": "b", "b": "c"}[r.FormValue("cursor")]
		fmt.Fprintf(w, `{"items":[%q],"nextCursor":%q}`, r.FormValue("since"), next)
	}))
	defer server.Close()
	query := url.Values{"since": {"now"}}
	for range 2 {
		got, err := all[string](t.Context(), &api{base: server.URL}, "/x", query, 0)
		if err != nil || !slices.Equal(got, []string{"now", "now", "now"}) {
			t.Errorf("got %q (%v)", got, err)
		}
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "1.5d": 36 * time.Hour, "12h": 12 * time.Hour, "0d": 0, "-1h": 0, "d": 0, "": 0} {
		if got, err := ago("since", text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: got %v (%v), want %v", text, got, err, want)
		}
	}
}

// TestASearchWithoutWords is a search all the same: what was run after it is no question
// of the search before.
func TestASearchWithoutWords(t *testing.T) {
	t.Parallel()
	row := func(minute int, action, query string) string {
		return fmt.Sprintf(`{"time":"2026-01-01T00:%02d:00Z","actorId":"ann","action":%q,"toolId":"sum","details":{"args":%s}}`, minute, action, query)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rows := map[string][]string{
			"discover_tools": {row(1, "discover_tools", `{"query":"show the graph"}`), row(5, "discover_tools", `{"cut":20000,"shape":{"query":"string(19980)"}}`)},
			"list_tools":     {row(3, "list_tools", `{"query":"string(18)"}`), row(3, "list_tools", `{}`), row(5, "list_tools", `{"query":"string(9)","trial":"boolean"}`)},
			"":               {row(4, "execute_tool", `{}`), row(6, "execute_tool", `{}`)},
		}[r.FormValue("action")]
		fmt.Fprintf(w, `{"items":[%s]}`, strings.Join(rows, ","))
	}))
	defer server.Close()
	var said string
	got, err := (&api{base: server.URL}).draw(t.Context(), "1d", func(line string) { said = line })
	if err != nil || len(got) != 0 || !strings.Contains(said, "3 searches, of which 1 with their words, and 2 calls of tools; 0 questions") {
		t.Errorf("got %+v (%v), it said %q", got, err, said)
	}
}

// TestTuneOnAnAdaptedTable says that it may have learned from the questions.
func TestTuneOnAnAdaptedTable(t *testing.T) {
	t.Parallel()
	var questions strings.Builder
	for i := range evaluate.LeastQuestions {
		fmt.Fprintf(&questions, "{\"query\":\"question %d\",\"relevant\":[\"a\"]}\n", i)
	}
	file := filepath.Join(t.TempDir(), "questions.jsonl")
	if err := os.WriteFile(file, []byte(questions.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"words": false, "words+0a0b0c": true} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case modelsPath:
				fmt.Fprintf(w, `{"items":[{"id":1,"provider":"builtin","name":%q,"active":true}]}`, name)
			case "/v1/tools/a":
				fmt.Fprint(w, `{"id":"a"}`)
			default:
				fmt.Fprint(w, `{"items":[{"id":"a"}]}`)
			}
		}))
		_, asJSON, _ := command(t, server.URL, "eval", "--live", file, "--json")
		code, stdout, stderr := command(t, server.URL, "eval", "--live", file, "--tune")
		server.Close()
		if strings.Contains(asJSON, `"tools"`) || !strings.Contains(asJSON, `"queries":20`) {
			t.Errorf("a server's catalog was not counted: %s", asJSON)
		}
		if !strings.Contains(stdout, "by the mean with its neighbours") {
			t.Errorf("it does not say why a weight is best: %s", stdout)
		}
		if code != 0 || strings.Contains(stderr, "may have learned from") != want {
			t.Errorf("%s: status %d, it said %q", name, code, stderr)
		}
	}
}

// TestModelsShowTheirWeight, which eval --tune --apply stores.
func TestModelsShowTheirWeight(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"items":[{"id":7,"name":"tuned","weight":0.85},{"id":8,"name":"other"}]}`)
	}))
	defer server.Close()
	code, stdout, _ := command(t, server.URL, "index", "models")
	for _, want := range []string{"WEIGHT", "0.85", "usual"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("status %d, want %q in %s", code, want, stdout)
		}
	}
}

// TestNoWordsAreKept: what to do about it is said in terms of the command that asks.
func TestNoWordsAreKept(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		row := ""
		if r.FormValue("action") == "list_tools" {
			row = `{"time":"2026-01-01T00:00:00Z","details":{"args":{"query":"string(18)"}}}`
		}
		if r.URL.Path == adminHooksPath {
			row = `{"name":"keep","type":"audit","pattern":"discover_tools","enabled":true,"config":{"values":true}}`
		}
		fmt.Fprintf(w, `{"items":[%s]}`, row)
	}))
	defer server.Close()
	_, err := (&api{base: server.URL}).draw(t.Context(), "1d", func(string) {})
	if !errors.Is(err, errNoWords) || strings.Contains(err.Error(), "--live") || !strings.Contains(err.Error(), `There is the hook keep already, with the pattern "discover_tools"`) {
		t.Errorf("got %v", err)
	}
	if _, _, stderr := command(t, server.URL, "eval", "--from-usage"); !strings.Contains(stderr, "for --live") {
		t.Errorf("it said %q", stderr)
	}
}
