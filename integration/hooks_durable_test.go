package integration_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

// telling are hooks that publish of each call: two whose events are stored before
// the answer goes out, and two that only hand theirs to the queue.
func telling() string {
	return toml("hooks.audit", "wait = true") +
		toml("hooks.inner", `type = "event_emit"`, `channel = "stored:inner"`, `arguments = "values"`, "wait = true", `on_error = "fail"`, `timeout = "1m"`) +
		toml("hooks.outer", `type = "event_emit"`, `level = "meta"`, `pattern = "execute_tool"`, `channel = "stored:outer"`, "wait = true", `on_error = "fail"`, `timeout = "1m"`) +
		toml("hooks.queued", `type = "event_emit"`, `channel = "queued:hook"`, `on_error = "fail"`, `timeout = "1m"`) +
		toml("hooks.told", `type = "script"`, `on_error = "fail"`, `timeout = "1m"`,
			fmt.Sprintf("source = %q", "def after_call(ctx, result):\n    emit(\"queued:script\", {\"requestId\": ctx.request_id})\n"))
}

// The channels of telling.
var (
	storedChannels = []string{"stored:inner", "stored:outer"}
	queuedChannels = []string{"queued:hook", "queued:script"}
)

// ledger is what clients were told that happened.
type ledger struct {
	mu      sync.Mutex
	calls   []string          // request ids of calls that were answered
	changes map[string]string // actions of changes that were answered, by request id
	hooks   map[string]int    // priorities of hooks as last answered, by id; gone if deleted
	unsure  map[string]bool   // hooks of which a change was not answered
}

const gone = -1

// called notes a call that was answered.
func (l *ledger) called(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, id)
}

// size is how many calls and changes were answered.
func (l *ledger) size() (calls, changes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls), len(l.changes)
}

// keepCalling calls until there is no answer any more. Every answer has to be good.
func (l *ledger) keepCalling(t *testing.T, w way) {
	for n := 0; ; n++ {
		o, err := w("execute_tool", map[string]any{"tool_id": "a_echo", "params": map[string]any{"n": n}})
		if err != nil {
			return // the server is gone
		}
		if o.Raw == nil || len(o.warnings(t)) > 0 {
			t.Errorf("a call failed: %v", o)
			return
		}
		l.called(fmt.Sprint(o.meta(t)["toolscout/requestId"]))
	}
}

// keepChanging makes hooks, edits and deletes them until there is no answer any more.
func (l *ledger) keepChanging(t *testing.T, s *instance, name string) {
	for n := 0; ; n++ {
		fields := map[string]any{"name": fmt.Sprintf("%s %d", name, n), "type": "event_emit", "pattern": "nothing", "priority": 1, "config": map[string]any{"channel": "never:told"}}
		id, ok := l.change(t, s, http.MethodPost, "hook.create", "", fields, 1)
		for priority := 2; ok && priority < 4; priority++ {
			_, ok = l.change(t, s, http.MethodPatch, "hook.update", id, map[string]any{"priority": priority}, priority)
		}
		if ok && n%2 == 0 {
			_, ok = l.change(t, s, http.MethodDelete, "hook.delete", id, nil, gone)
		}
		if !ok {
			return
		}
	}
}

// change makes one change of a hook, and reports whether it was answered.
func (l *ledger) change(t *testing.T, s *instance, method, action, id string, body any, priority int) (hook string, ok bool) {
	path := "/v1/admin/hooks"
	if id != "" {
		path += "/" + id
	}
	r := exchange(method, s.url+path, adminToken, body)
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.status == 0 {
		l.unsure[id] = true
		return "", false
	}
	if r.status >= 300 {
		t.Errorf("%s %s: %+v", method, path, r)
		return "", false
	}
	if id == "" {
		id = decodeTB[configuredHook](t, []byte(r.body)).ID
	}
	l.changes[r.requestID], l.hooks[id] = action, priority
	return id, true
}

// exchange is one request over REST. Its status is 0 when there was no answer.
func exchange(method, url, token string, body any) reply {
	var in bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&in).Encode(body); err != nil {
			return reply{body: err.Error()}
		}
	}
	req, err := http.NewRequestWithContext(context.Background(), method, url, &in)
	if err != nil {
		return reply{body: err.Error()}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{body: err.Error()}
	}
	defer res.Body.Close()
	var answer bytes.Buffer
	if _, err := answer.ReadFrom(res.Body); err != nil {
		return reply{body: err.Error()}
	}
	return reply{status: res.StatusCode, requestID: res.Header.Get("X-Request-Id"), body: answer.String()}
}

// resume reads events on from where a reader is, until it has enough or the stream
// ends, and gives them with those read before.
func (s *instance) resume(t testing.TB, events []cloudEvent, enough func(cloudEvent) bool) []cloudEvent {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/v1/events?type=stored:*,queued:*,config:changed", nil)
	if err != nil {
		t.Fatal(err)
	}
	last := "0"
	if n := len(events); n > 0 {
		last = events[n-1].ID
	}
	req.Header.Set("Last-Event-ID", last)
	req.Header.Set("Authorization", "Bearer "+adminToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return events // it is gone already
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		var e cloudEvent
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || json.Unmarshal([]byte(data), &e) != nil { // cut off in the middle
			continue
		}
		if strings.HasPrefix(e.Type, "events:") {
			t.Errorf("the stream says %s: %s", e.Type, e.Data)
			continue
		}
		if events = append(events, e); enough(e) {
			break
		}
	}
	return events
}

// requestID is the request that an event tells of.
func (e cloudEvent) requestID(t testing.TB) string {
	t.Helper()
	return decodeTB[struct{ RequestID string }](t, e.Data).RequestID
}

// TestKilledWithEvents kills a server again and again while calls publish events
// and hooks are changed. What was promised to be stored before an answer is there,
// once, whoever reads it: from the beginning, or all the while, going on after each
// kill from the last event that came.
func TestKilledWithEvents(t *testing.T) {
	t.Parallel()
	const kills = 3
	o := options{database: pgtest.URL(t), dataDir: t.TempDir(), config: declared(t, "a") + telling()}
	l := &ledger{changes: map[string]string{}, hooks: map[string]int{}, unsure: map[string]bool{}}
	never := func(cloudEvent) bool { return false }
	var followed []cloudEvent
	for range kills {
		s := startWithTools(t, o)
		var clients sync.WaitGroup
		clients.Go(func() { followed = s.resume(t, followed, never) })
		for range 3 {
			clients.Go(func() { l.keepCalling(t, s.viaREST(caller{token: adminToken})) })
		}
		for _, protocol := range []string{"", legacy} {
			w := viaMCP(join(t, s, caller{token: adminToken}, protocol))
			clients.Go(func() { l.keepCalling(t, w) })
		}
		clients.Go(func() { l.keepChanging(t, s, s.url) })
		calls, changes := l.size()
		eventually(t, "be used", func() error {
			if n, m := l.size(); n < calls+200 || m < changes+20 {
				return fmt.Errorf("%d calls and %d changes were answered", n-calls, m-changes)
			}
			return nil
		})
		s.stop(syscall.SIGKILL)
		clients.Wait()
	}

	// One that is told to end stores what is in its queue.
	s := startWithTools(t, o)
	ended := &ledger{}
	for range 20 {
		ended.called(fmt.Sprint(s.viaREST(caller{token: adminToken}).run(t, "a_echo", nil).meta(t)["toolscout/requestId"]))
	}
	s.stop(syscall.SIGTERM)

	s = startWithTools(t, o)
	last := fmt.Sprint(s.viaREST(caller{token: adminToken}).run(t, "a_echo", nil).meta(t)["toolscout/requestId"])
	isLast := func(e cloudEvent) bool { return e.Type == "stored:outer" && e.requestID(t) == last }
	all := s.resume(t, nil, isLast)
	followed = s.resume(t, followed, isLast)
	same(t, "who followed all the while", ids(followed), ids(all))
	if !slices.IsSortedFunc(all, func(a, b cloudEvent) int { return compareNumbers(a.ID, b.ID) }) {
		t.Error("the events are not in the order of their numbers")
	}
	told := byRequest(t, all)
	for _, id := range slices.Concat(l.calls, ended.calls) {
		for _, channel := range storedChannels {
			if n := told[channel+" "+id]; n != 1 {
				t.Errorf("the call %s was answered, and has %d events %s", id, n, channel)
			}
		}
	}
	for _, id := range ended.calls {
		for _, channel := range queuedChannels {
			if n := told[channel+" "+id]; n != 1 {
				t.Errorf("the server was told to end after the call %s, and there are %d events %s", id, n, channel)
			}
		}
	}
	for what, n := range told {
		if n != 1 {
			t.Errorf("%d events %s", n, what)
		}
	}
	l.check(t, s, told)
	t.Logf("%d calls and %d changes were answered; there are %d events", len(l.calls), len(l.changes), len(all))
}

// startWithTools starts a server and waits for what its file declares.
func startWithTools(t *testing.T, o options) *instance {
	t.Helper()
	s := start(t, o)
	eventually(t, "connect", func() error {
		if status, body := s.request("GET", "/v1/tools/a_echo", adminToken, nil); status != http.StatusOK {
			return fmt.Errorf("%s", body)
		}
		return nil
	})
	return s
}

// check holds what clients were told against events, rows and hooks.
func (l *ledger) check(t *testing.T, s *instance, told map[string]int) {
	t.Helper()
	rows := map[string]int{}
	for _, path := range []string{"/v1/admin/audit", "/v1/admin/usage"} {
		for _, row := range s.rows(t, path) {
			rows[fmt.Sprintf("%s %v %v", path, row["requestId"], row["action"])]++
		}
	}
	wantRow := func(what string) {
		if n := rows[what]; n != 1 {
			t.Errorf("there are %d rows of %s", n, what)
		}
	}
	for _, id := range l.calls {
		wantRow("/v1/admin/audit " + id + " execute_tool")
		wantRow("/v1/admin/usage " + id + " execute_tool")
	}
	for id, action := range l.changes {
		wantRow("/v1/admin/audit " + id + " " + action)
		if n := told["config:changed "+id]; n != 1 {
			t.Errorf("%s was answered, and has %d events", action, n)
		}
	}
	for id, want := range l.hooks {
		if l.unsure[id] {
			continue
		}
		got := gone
		if status, body := s.request("GET", "/v1/admin/hooks/"+id, adminToken, nil); status == http.StatusOK {
			got = decodeTB[struct{ Priority int }](t, body).Priority
		}
		if got != want {
			t.Errorf("the hook %s has priority %d, and %d was answered", id, got, want)
		}
	}
}

// byRequest counts events by type and request.
func byRequest(t *testing.T, events []cloudEvent) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, e := range events {
		if id := e.requestID(t); id != "" { // a change may come from the file
			n[e.Type+" "+id]++
		}
	}
	return n
}

// ids are the numbers of events.
func ids(events []cloudEvent) []string {
	list := make([]string, len(events))
	for i, e := range events {
		list[i] = e.ID
	}
	return list
}

// compareNumbers compares numbers without leading zeros.
func compareNumbers(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
