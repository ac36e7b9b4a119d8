package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Things and doings, first as a company calls them and then as people say.
var (
	things = [][]string{{"heron", "release", "deployment", "rollout"}, {"mallow", "invoice", "bill", "payment"},
		{"quarry", "warehouse", "stockroom", "depot"}, {"lantern", "alarm", "alert", "warning"}}
	doings = [][]string{{"kindle", "start", "begin"}, {"douse", "stop", "end"}, {"sift", "search", "inspect"},
		{"graft", "change", "adjust"}, {"tally", "count", "sum up"}, {"ferry", "send on", "forward"}}
	asking = []string{"%s the %s", "please %s our %s", "I have to %s that %s today", "%s one %s", "how to %s a %s", "%s my %s now"}
)

// asked are questions in people's words, each with the tool that answers it; all in an
// order in which nothing follows from what is near.
func asked() (list [][2]string) {
	for round, how := range asking {
		for i, thing := range things {
			for j, doing := range doings {
				question := fmt.Sprintf(how, doing[1+(round+j)%2], thing[1+(round+i+j)%3])
				list = append(list, [2]string{question, "co_" + doing[0] + "_" + thing[0]})
			}
		}
	}
	return list
}

// TestTrain adapts the model to a company's words from what its people asked and ran:
// every instance switches without an answer that fails or is empty, and goes back.
func TestTrain(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	other := start(t, options{database: s.database, dataDir: s.dataDir + "-other"})
	dir := t.TempDir()
	var tools strings.Builder
	for _, thing := range things {
		for _, doing := range doings {
			fmt.Fprintf(&tools, "%[1]s_%[2]s %[1]s one %[2]s of yours\n", doing[0], thing[0])
		}
	}
	file := filepath.Join(dir, "tools.txt")
	if err := os.WriteFile(file, []byte(tools.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s.register(testserver(t, "co", "-file", file))
	env := []string{"TOOLSCOUT_URL=" + s.url, "TOOLSCOUT_TOKEN=" + adminToken, "TOOLSCOUT_DATA_DIR=" + dir}
	train := func(args ...string) command {
		t.Helper()
		return cli(t, env, append([]string{"train"}, args...)...)
	}
	fails := func(want string, args ...string) {
		t.Helper()
		if c := train(args...); c.code == 0 || !strings.Contains(c.stderr, want) {
			t.Errorf("%v: status %d, want %q in %s", args, c.code, want, c.stderr)
		}
	}
	fails("say --from-catalog or --revert")
	fails("--revert goes alone", "--revert", "--dry-run")
	fails("--holdout 1", "--from-catalog", "--holdout", "1")
	fails("none to go back from", "--revert")
	fails("at least 20 are needed", "--from-catalog")
	fails("nothing was searched for", "--from-catalog", "--usage")

	s.must("POST", "/v1/admin/hooks", adminToken, map[string]any{"name": "keep", "type": "audit", "level": "meta", "pattern": "list_tools",
		"config": map[string]any{"values": true}}, nil)
	for _, q := range asked() {
		s.must("GET", "/v1/tools?"+url.Values{"query": {q[0]}}.Encode(), adminToken, nil, nil)
		s.must("POST", "/v1/tools/"+q[1], adminToken, map[string]any{"args": map[string]any{}}, nil)
	}
	_, ann := s.user("ann")
	if c := cli(t, []string{"TOOLSCOUT_URL=" + s.url, "TOOLSCOUT_TOKEN=" + ann}, "train", "--from-catalog"); c.code == 0 || !strings.Contains(c.stderr, "role admin") {
		t.Errorf("somebody who is no admin: status %d, %s", c.code, c.stderr)
	}
	var found struct {
		From, HeldOut, To string
		Questions         int
		Before, After     struct {
			NDCG10 float64 `json:"NDCG@10"`
		}
		Metrics  []struct{ Gain, P float64 }
		Switched bool
	}
	said := func(c command) {
		t.Helper()
		if err := json.Unmarshal([]byte(c.stdout), &found); err != nil || c.code != 0 {
			t.Fatalf("status %d, %v: %s%s", c.code, err, c.stdout, c.stderr)
		}
	}
	said(train("--from-catalog", "--usage", "--dry-run", "--json"))
	if found.Switched || found.Questions != 29 || found.HeldOut != "usage" || found.Metrics[2].P >= .05 || active(s) != found.From {
		t.Errorf("a dry run: %+v, %s is active", found, active(s))
	}
	whole := steadily(t, s, other)
	said(train("--from-catalog", "--usage", "--json"))
	if !found.Switched || !strings.HasPrefix(found.To, found.From+"+") || found.After.NDCG10 < found.Before.NDCG10+.1 {
		t.Errorf("got %+v", found)
	}
	for _, i := range []*instance{s, other} {
		eventually(t, "every instance searches with the adapted model", func() error {
			var trial struct {
				Model string
				Items []struct{ Name string }
			}
			i.must("POST", "/v1/admin/embeddings/search", adminToken, map[string]any{"query": "adjust the bill please", "topK": 3}, &trial)
			if "builtin/"+trial.Model != found.To || trial.Items[0].Name != "co_graft_mallow" {
				return fmt.Errorf("got %+v", trial)
			}
			return nil
		})
	}
	if c := train("--from-catalog", "--usage"); c.code != 0 || !strings.Contains(c.stdout, "Not better by more than chance: nothing is changed.") {
		t.Errorf("again: %s%s", c.stdout, c.stderr)
	}
	if c := train("--revert"); c.code != 0 || c.stdout != "Search uses "+found.From+" again.\n" {
		t.Errorf("back: %s%s", c.stdout, c.stderr)
	}
	eventually(t, "every instance goes back", func() error {
		if active(s) != found.From || active(other) != found.From {
			return fmt.Errorf("%s and %s are active", active(s), active(other))
		}
		return nil
	})
	whole()
}

// active is the model that an instance names as the active one.
func active(s *instance) string {
	var models struct {
		Items []struct {
			Provider, Name string
			Active         bool
		}
	}
	s.must("GET", "/v1/admin/embeddings/models", adminToken, nil, &models)
	for _, m := range models.Items {
		if m.Active {
			return m.Provider + "/" + m.Name
		}
	}
	return ""
}

// steadily searches on instances until the end is asked for, which checks that every
// answer was whole.
func steadily(t *testing.T, instances ...*instance) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, s := range instances {
		all.Go(func() {
			n := 0
			for ; ctx.Err() == nil; n++ {
				var answer struct {
					Items    []any
					Degraded string
				}
				status, raw, err := send(context.Background(), "GET", s.url+"/v1/tools?query=stop+the+alarm&limit=5", adminToken, nil)
				if err == nil {
					err = json.Unmarshal(raw, &answer)
				}
				if err != nil || status != 200 || len(answer.Items) != 5 || answer.Degraded != "" {
					t.Errorf("search %d: status %d, %v: %s", n, status, err, raw)
					return
				}
			}
			t.Logf("%d searches", n)
		})
	}
	return func() { cancel(); all.Wait() }
}
