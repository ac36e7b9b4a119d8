package integration_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// editions are hooks of which each call is to see one edition only: on both levels
// a script writes its edition into the answer.
const editions = `
def after_call(ctx, result):
    data = result.json()
    data[config.get("place", "folder") + " " + ctx.level] = %d
    return result.with_json(data)
`

// editionsInFile is a pair of hooks of the file, one a level, of the same edition, so
// that a mixture of two files shows.
func editionsInFile(n int) string {
	var b strings.Builder
	for _, level := range []string{"meta", "tool"} {
		b.WriteString(toml("hooks.file-"+level, `type = "script"`, fmt.Sprintf("level = %q", level), `pattern = "*e*"`, `on_error = "fail"`, fmt.Sprintf("source = %q", fmt.Sprintf(editions, n))))
		b.WriteString(toml("hooks.file-"+level+".vars", `place = "file"`))
	}
	return b.String()
}

// TestHooksChangeUnderLoad changes hooks in the file, in a script that was found and
// in the database, without a pause, while clients call on two instances. Each call
// goes by one edition of each, old or new, on both its levels; none fails; and none
// goes by an edition of the database that was gone before it began.
func TestHooksChangeUnderLoad(t *testing.T) {
	t.Parallel()
	const changes = 40
	found := t.TempDir()
	folder := func(n int) {
		t.Helper()
		replace(t, filepath.Join(found, "folder.star"), "hook = {\"level\": \"both\", \"pattern\": \"*e*\", \"on_error\": \"fail\"}\n"+fmt.Sprintf(editions, n))
	}
	folder(0)
	head := declared(t, "a") + toml("hooks", fmt.Sprintf("discovery_paths = [%q]", found))
	one, other := pair(t, options{config: head + editionsInFile(0)})
	eventually(t, "connect", func() error {
		if status, body := one.request("GET", "/v1/tools/a_echo", adminToken, nil); status != 200 {
			return fmt.Errorf("%s", body)
		}
		return nil
	})
	row := func(n int) map[string]any {
		return map[string]any{"source": fmt.Sprintf(editions, n), "vars": map[string]any{"place": "row"}}
	}
	h := one.addHook(starlark("row", "", "level", "both", "pattern", "*e*", "onError", "fail", "config", row(0)))

	var stored progress
	end := make(chan struct{})
	var clients sync.WaitGroup
	finish := sync.OnceFunc(func() { close(end); clients.Wait() })
	defer finish()
	var mu sync.Mutex
	calls, seen := [2]int{}, map[string]map[int]bool{"row": {}, "file": {}, "folder": {}}
	for i, s := range []*instance{one, other, one, other, one, other} {
		w := s.viaREST(caller{token: adminToken})
		if i%3 == 0 {
			w = viaMCP(join(t, s, caller{token: adminToken}, map[bool]string{true: legacy}[i == 0]))
		}
		clients.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				least := stored.done()
				o, err := w("execute_tool", map[string]any{"tool_id": "a_echo", "params": map[string]any{}})
				if err != nil {
					t.Error(err)
					return
				}
				got := map[string]int{}
				if err := json.Unmarshal(o.Body, &got); err != nil || o.Kind != "" {
					t.Errorf("a call failed: %v", o)
					return
				}
				for _, place := range []string{"row", "file", "folder"} {
					if got[place+" meta"] != got[place+" tool"] || len(got) != 6 {
						t.Errorf("a call saw a mixture: %v", got)
					}
				}
				if n := got["row tool"]; n < least || n > stored.begun() {
					t.Errorf("a call saw the row of edition %d, when %d was stored before it and %d begun", n, least, stored.begun())
				}
				mu.Lock()
				calls[i%2]++
				for place, editions := range seen {
					editions[got[place+" tool"]] = true
				}
				mu.Unlock()
			}
		})
	}
	for n := 1; n <= changes; n++ {
		folder(n)
		replace(t, filepath.Join(one.dataDir, "toolscout.toml"), head+editionsInFile(n))
		for _, s := range []*instance{one, other} {
			if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
		}
		stored.begin(n)
		one.must("PATCH", "/v1/admin/hooks/"+h.ID, adminToken, map[string]any{"config": row(n)}, nil)
		stored.end(n)
	}
	// The last edition of everything acts in the end.
	for _, s := range []*instance{one, other} {
		w := s.viaREST(caller{token: adminToken})
		eventually(t, "come to the last edition", func() error {
			got := decodeTB[map[string]int](t, w.run(t, "a_echo", nil).Body)
			for place, n := range got {
				if n != changes {
					return fmt.Errorf("%s is of edition %d", place, n)
				}
			}
			return nil
		})
	}
	finish()
	t.Logf("%d and %d calls saw %d editions of the row, %d of the file, %d of the folder", calls[0], calls[1], len(seen["row"]), len(seen["file"]), len(seen["folder"]))
	if min(calls[0], calls[1]) < changes || len(seen["row"]) < changes/2 || len(seen["file"]) < 3 || len(seen["folder"]) < 3 {
		t.Errorf("that is too few to tell")
	}
}

// replace puts a file in the place of another at once: who reads meanwhile gets
// either of them whole.
func replace(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// progress is how far a row of editions has come.
type progress struct {
	mu            sync.Mutex
	first, stored int
}

func (p *progress) begin(n int) { p.mu.Lock(); defer p.mu.Unlock(); p.first = n }
func (p *progress) end(n int)   { p.mu.Lock(); defer p.mu.Unlock(); p.stored = n }
func (p *progress) begun() int  { p.mu.Lock(); defer p.mu.Unlock(); return p.first }
func (p *progress) done() int   { p.mu.Lock(); defer p.mu.Unlock(); return p.stored }

// TestHooksConcurrently has 500 calls at once go through a chain with a hook of each
// type. Each gets its own answer, whole, and leaves its rows.
func TestHooksConcurrently(t *testing.T) {
	t.Parallel()
	const n = 500
	model := newDesk(t, chatter("take a smaller one"))
	box := newDesk(t, func([]byte) any { return map[string]any{"action": "allow"} })
	s := start(t, options{config: "[gateway]\nmax_calls_per_user = 500\n" + everyType(model.URL, box.URL)})
	s.register(testserver(t, "a", "-tools", "say"))
	ways := []way{s.viaREST(caller{token: adminToken})}
	for i := range 8 {
		ways = append(ways, viaMCP(join(t, s, caller{token: adminToken}, map[bool]string{true: legacy}[i%2 == 0])))
	}
	var calls sync.WaitGroup
	outcomes := make([]outcome, n)
	begin := make(chan struct{})
	for i := range n {
		calls.Go(func() {
			<-begin
			text := fmt.Sprintf("call %d", i)
			switch i % 4 {
			case 1:
				text = fmt.Sprintf(`[%s{"call":%d,"kind":"last"}]`, strings.Repeat(fmt.Sprintf(`{"call":%d,"kind":"a row like the others"},`, i), 20), i)
			case 2:
				text += strings.Repeat(" is very long", 1000)
			case 3:
				text += ", ask about me"
			}
			var err error
			if outcomes[i], err = ways[i%len(ways)]("execute_tool", map[string]any{"tool_id": "a_say", "params": says(text)}); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	calls.Wait()
	for i, o := range outcomes {
		if o.Kind != "" || o.Raw == nil {
			t.Fatalf("call %d: %v", i, o)
		}
		want := []string{fmt.Sprintf("call %d", i), fmt.Sprintf("[21]{call,kind}:\n  %d,a row like the others\n", i), fmt.Sprintf("call %d is very long", i), fmt.Sprintf("call %d, ask about me", i)}[i%4]
		if list := o.warnings(t); !strings.HasPrefix(o.Text, want) || len(o.Raw) > 5000 || len(list) > 0 || strings.Contains(string(o.Raw), "take a smaller one") != (i%4 == 3) {
			t.Fatalf("call %d: %v, warnings %q", i, o, list)
		}
	}
	if got := box.count(); got != 2*n {
		t.Errorf("%d messages came, want %d", got, 2*n)
	}
	if got := model.count(); got != n/4 {
		t.Errorf("the model was asked %d times, want %d", got, n/4)
	}
	conn := connect(t, s.database)
	eventually(t, "store the events", func() error {
		if got := query[int](t, conn, `select count(distinct data->>'requestId') from events where type = 'load:called'`); got != n {
			return fmt.Errorf("%d calls have an event, want %d", got, n)
		}
		return nil
	})
	s.checkAudit(t, n-(n+len(ways)-1)/len(ways), n) // one way is REST, whose rows are of another level
}

// everyType is a configuration with a hook of each type, none of which is held up by
// a machine that is busy.
func everyType(model, box string) string {
	var b strings.Builder
	b.WriteString(toml("hooks", `budget = "10m"`))
	for _, hook := range [][]string{
		{"audit", "values = true", "wait = true"},
		{"access_control", `allow = ["a_*"]`},
		{"rate_limit", `by = ["user"]`, "rate = 1000000", `per = "1s"`, "concurrency = 500"},
		{"param_sanitizer", `rules = [{ do = "set", pointer = "/checked", value = true }]`},
		{"response_truncation", "max_bytes = 3000"},
		{"toon_transform"},
		{"test_filter"},
		{"llm_enrich", fmt.Sprintf("base_url = %q", model), `model = "m"`, `triggers = ["ask about me"]`},
		{"event_emit", `channel = "load:called"`},
		{"webhook", fmt.Sprintf("url = %q", box), fmt.Sprintf("secret = %q", deskSecret)},
		{"script", fmt.Sprintf("source = %q", "def after_call(ctx, result):\n    ctx.note(\"length\", len(result.text))\n")},
	} {
		b.WriteString(toml("hooks."+hook[0], append(hook[1:], `timeout = "5m"`)...))
	}
	return b.String()
}
