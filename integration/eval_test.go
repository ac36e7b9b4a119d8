package integration_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// catalog are tools, and a question for each.
var catalog = []struct{ name, description, question string }{
	{"weigh", "Weighs a parcel in grams", "how heavy is this package"},
	{"forecast", "Gives the weather of the coming days", "will it rain tomorrow"},
	{"send_mail", "Sends an email to somebody", "write an email to my boss"},
	{"translate", "Translates a text into another language", "say this in another language"},
	{"play_song", "Plays a piece of music", "put some music on"},
	{"list_files", "Lists the files in a folder", "which files are in this folder"},
	{"read_file", "Reads what a file holds", "show me what this file holds"},
	{"create_issue", "Opens an issue in a repository", "report a bug in the repository"},
	{"merge_branch", "Merges a branch into another", "merge my branch"},
	{"book_room", "Books a room for a meeting", "reserve a room for our meeting"},
	{"stock_price", "Gives the price of a stock", "what does this stock cost"},
	{"take_photo", "Takes a photo with a camera", "make a picture with the camera"},
	{"resize_image", "Makes an image smaller or larger", "make this image smaller"},
	{"query_table", "Runs a query on a table of the database", "select rows of a database table"},
	{"send_invoice", "Sends an invoice to a customer", "bill the customer"},
	{"find_route", "Finds the way between two places", "how do I get from home to the station"},
	{"count_words", "Counts the words of a text", "how many words has this text"},
	{"set_alarm", "Sets an alarm for a time of day", "wake me at seven"},
	{"convert_money", "Converts an amount into another currency", "how many euros are ten dollars"},
	{"delete_user", "Deletes the account of a user", "remove the account of a user"},
	{"restart_server", "Restarts a machine", "reboot the machine"},
	{"search_news", "Searches the news of today", "what is in the news"},
}

// TestEvalLive measures the search of a running server, on questions of one's own and
// on what was searched for and then run, and finds a weight for its model.
func TestEvalLive(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	dir := t.TempDir()
	var tools, questions strings.Builder
	for _, c := range catalog {
		fmt.Fprintf(&tools, "%s %s\n", c.name, c.description)
		fmt.Fprintf(&questions, "{\"query\":%q,\"relevant\":[\"life_%s\"]}\n", c.question, c.name)
	}
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	s.register(testserver(t, "life", "-file", write("tools", tools.String())))
	file := write("questions.jsonl", questions.String())
	env := []string{"TOOLSCOUT_URL=" + s.url, "TOOLSCOUT_TOKEN=" + adminToken, "TOOLSCOUT_DATA_DIR=" + dir}
	eval := func(args ...string) command {
		t.Helper()
		return cli(t, env, append([]string{"eval"}, args...)...)
	}
	fails := func(want string, args ...string) {
		t.Helper()
		if c := eval(args...); c.code == 0 || !strings.Contains(c.stderr, want) {
			t.Errorf("%v: status %d, want %q in %s", args, c.code, want, c.stderr)
		}
	}

	run := filepath.Join(dir, "run.jsonl")
	c := eval("--live", file, "--run-file", run)
	if c.code != 0 || !strings.Contains(c.stdout, "NDCG@10") {
		t.Fatalf("status %d: %s%s", c.code, c.stdout, c.stderr)
	}
	c = eval("--live", dir+"/../"+filepath.Base(dir)+"/questions.jsonl", "--against", run, "--json") // the same, by another way
	var result struct {
		Queries int
		Tokens  float64
		NDCG10  float64 `json:"NDCG@10"`
		Against struct{ Metrics []struct{ Gain, P float64 } }
	}
	if err := json.Unmarshal([]byte(c.stdout), &result); err != nil || result.Queries != len(catalog) || result.Tokens < 100 || result.NDCG10 < .5 ||
		len(result.Against.Metrics) != 3 || result.Against.Metrics[0].P != 1 {
		t.Errorf("%v: %s%s", err, c.stdout, c.stderr)
	}
	bad := write("bad.jsonl", questions.String()+`{"query":"fly","relevant":["life_fly","life_weigh"]}`)
	fails(fmt.Sprintf(`bad.jsonl:%d: tool "life_fly"`, len(catalog)+1), "--live", bad)
	fails("--apply goes with --tune", "--apply", "--live", file)
	fails("3 questions are too few", "--tune", "--live", write("few.jsonl", strings.Join(strings.SplitAfter(questions.String(), "\n")[:3], "")))

	s.checkTuning(t, eval, file)
	s.checkUsage(t, eval, fails, dir)
}

// checkTuning: the weight that an admin stores is the model's from then on.
func (s *instance) checkTuning(t *testing.T, eval func(...string) command, file string) {
	t.Helper()
	var tuning struct {
		Model         string
		Tried         []struct{ Weight, NDCG10 float64 }
		Now, P        float64
		Applied, Best any
	}
	c := eval("--tune", "--live", file, "--json")
	if err := json.Unmarshal([]byte(c.stdout), &tuning); err != nil || len(tuning.Tried) != 19 || tuning.Now < .5 || tuning.Applied != false {
		t.Errorf("%v: %s%s", err, c.stdout, c.stderr)
	}
	var models struct {
		Items []struct {
			ID     int
			Weight float64
		}
	}
	path := "/v1/admin/embeddings/models"
	s.must("GET", path, adminToken, nil, &models)
	one := fmt.Sprintf("%s/%d", path, models.Items[0].ID)
	_, ann := s.user("tuner")
	for _, refused := range []struct {
		path, token string
		body        map[string]any
		want        int
	}{
		{one, ann, map[string]any{"weight": .2}, 403},
		{one, adminToken, map[string]any{"weight": 1.5}, 422},
		{one, adminToken, map[string]any{}, 422},
		{one, adminToken, map[string]any{"weight": -.1}, 422},
		{one, adminToken, map[string]any{"weight": nil}, 422},
		{one, adminToken, map[string]any{"weight": json.RawMessage("1e309")}, 422},
		{path + "/999", adminToken, map[string]any{"weight": .2}, 404},
		{path + "/x", adminToken, map[string]any{"weight": .2}, 404},
	} {
		if status, raw := s.request("PATCH", refused.path, refused.token, refused.body); status != refused.want {
			t.Errorf("%+v: %d %s", refused, status, raw)
		}
	}
	score := func() float64 {
		var found struct{ Items []struct{ Score float64 } }
		s.must("GET", "/v1/tools?query=make+a+smaller+picture", adminToken, nil, &found)
		return found.Items[3].Score
	}
	before := score()
	s.must("PATCH", one, adminToken, map[string]any{"weight": .95}, nil)
	s.must("GET", path, adminToken, nil, &models)
	if models.Items[0].Weight != .95 {
		t.Errorf("got %+v", models)
	}
	eventually(t, "searches heed the weight", func() error {
		if now := score(); now == before {
			return fmt.Errorf("still %v", now)
		}
		return nil
	})
	s.must("PATCH", one, adminToken, map[string]any{"weight": 0}, nil)
	eventually(t, "searches forget the weight", func() error {
		if now := score(); now != before {
			return fmt.Errorf("still %v", now)
		}
		return nil
	})
}

// checkUsage: questions come from what was searched for and then run, once the audit
// keeps the words of searches.
func (s *instance) checkUsage(t *testing.T, eval func(...string) command, fails func(string, ...string), dir string) {
	t.Helper()
	use := func(i int) {
		s.must("GET", "/v1/tools?query="+strings.ReplaceAll(catalog[i].question, " ", "+"), adminToken, nil, nil)
		s.must("POST", "/v1/tools/life_"+catalog[i].name, adminToken, map[string]any{"args": map[string]any{}}, nil)
	}
	use(0)
	fails("[hooks.keep_queries]", "--from-usage")
	var kept struct{ ID string }
	s.must("POST", "/v1/admin/hooks", adminToken, map[string]any{"name": "keep_some", "type": "audit", "level": "meta", "pattern": "discover_tools",
		"config": map[string]any{"values": true}}, &kept)
	use(0)
	fails("There is the hook keep_some already", "--from-usage")
	s.must("PATCH", "/v1/admin/hooks/"+kept.ID, adminToken, map[string]any{"pattern": "*_tools"}, nil)
	for i := range 5 {
		use(i)
	}
	saved := filepath.Join(dir, "drawn.jsonl")
	c := eval("--from-usage", "--since", "1d", "--save", saved)
	raw, err := os.ReadFile(saved)
	if err != nil || c.code != 0 || strings.Count(string(raw), "\n") != 5 || !strings.Contains(string(raw), catalog[4].question) {
		t.Errorf("status %d, %v: %s%s%s", c.code, err, raw, c.stdout, c.stderr)
	}
	if c := eval("--live", saved); c.code != 0 {
		t.Errorf("what was drawn cannot be asked: %s", c.stderr)
	}
	counted, _, _ := strings.Cut(c.stderr, "\n")
	if c := eval("--from-usage", "--since", "1d"); !strings.HasPrefix(c.stderr, counted) || !strings.Contains(counted, " searches, of which 5 with their words, and ") {
		t.Errorf("before and after searches that measure: %s\n%s", counted, c.stderr)
	}
	_, ann := s.user("ann")
	anns := cli(t, []string{"TOOLSCOUT_URL=" + s.url, "TOOLSCOUT_TOKEN=" + ann}, "eval", "--from-usage")
	if anns.code == 0 || !strings.Contains(anns.stderr, "role admin") {
		t.Errorf("somebody who is no admin: status %d, %s", anns.code, anns.stderr)
	}
}
