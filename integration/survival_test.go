package integration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core/postgres/embedded"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/embeddings/embedtest"
)

// folder is one that PostgreSQL can reach whoever it runs as, with a short path.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ts")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil { // root's PostgreSQL passes through
		t.Fatal(err)
	}
	return dir
}

// echoes registers a testserver and gives the token of a user of it.
func (s *instance) echoes(t *testing.T, args ...string) (r registered, token string) {
	t.Helper()
	_, token = s.user("ann")
	r = s.register(testserver(t, "a", append([]string{"-tools", "echo,pid,hold"}, args...)...))
	if r.Health.State != "healthy" {
		t.Fatalf("registered as %+v", r)
	}
	return r, token
}

// children are the processes that the server has started and that live.
func (s *instance) children(t *testing.T) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, file := range stats {
		raw, _ := os.ReadFile(file) // it may be gone
		_, rest, _ := strings.Cut(string(raw), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[0] == "Z" || fields[1] != strconv.Itoa(s.cmd.Process.Pid) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestKilled kills a server with an embedded database under load. It leaves no
// child behind, and the next one finds everything that was answered.
func TestKilled(t *testing.T) {
	t.Parallel()
	o := options{database: "embedded", dataDir: folder(t), config: "[audit]\nmode = \"sync\"\n"}
	s := start(t, o)
	s.register(testserver(t, "b", "-flaw", "stays"))
	_, token := s.echoes(t)
	l := s.load(t, token, "a_echo")
	l.more(t, http.StatusOK)

	second := launch(t, o)
	<-second.exited
	if log := second.log.String(); second.err == nil || !strings.Contains(log, fmt.Sprintf("is in use by process %d", s.cmd.Process.Pid)) {
		t.Errorf("a second instance in the same folder ended with %v and said %s", second.err, log)
	}

	children := s.children(t)
	if len(children) != 3 {
		t.Errorf("it has the children %v, want two servers and a database", children)
	}
	s.stop(syscall.SIGKILL)
	replies := l.end()
	checkReplies(t, replies)
	for _, pid := range children {
		eventually(t, "end with its parent", func() error { return alive(pid) })
	}

	s = start(t, o)
	w := viaMCP(join(t, s, caller{token: token}, ""))
	if o := w.run(t, "a_echo", nil); o.Text != "echo" {
		t.Errorf("a call after the next start: %v", o)
	}
	if got := w.find(t, "answers with the arguments"); !slices.Contains(got, "a_echo") {
		t.Errorf("found after the next start: %v", got)
	}
	s.checkOnRecord(t, replies)
}

// TestDatabaseKilled kills the embedded PostgreSQL under load: calls are refused
// clearly meanwhile, it comes back by itself, and no answered call is off the record.
func TestDatabaseKilled(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, options{database: "embedded", dataDir: dir})
	_, token := s.echoes(t)
	l := s.load(t, token, "a_echo")
	for range 2 {
		l.more(t, http.StatusOK)
		raw, err := os.ReadFile(filepath.Join(dir, "postgres", "pg", "postmaster.pid"))
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(raw), "\n")
		pid, err := strconv.Atoi(first)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		s.becomesReady(t, http.StatusServiceUnavailable)
		s.becomesReady(t, http.StatusOK)
	}
	l.more(t, http.StatusOK)
	replies := l.end()
	checkReplies(t, replies)
	s.checkOnRecord(t, replies)
}

// becomesReady waits until /readyz has a status.
func (s *instance) becomesReady(t *testing.T, status int) {
	t.Helper()
	eventually(t, fmt.Sprintf("/readyz becomes %d", status), func() error {
		if got, body := s.request("GET", "/readyz", "", nil); got != status {
			return fmt.Errorf("/readyz is %d %s", got, body)
		}
		return nil
	})
}

// TestDatabaseRestarted takes a database away that is not ours: its connections,
// and then all of it for a while.
func TestDatabaseRestarted(t *testing.T) {
	t.Parallel()
	config := embedded.Config{DataDir: folder(t), NoSync: true}
	db, err := embedded.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the present one
	url := db.URL()
	s := start(t, options{database: url})
	_, token := s.echoes(t)
	sessions := map[string]way{"modern": viaMCP(join(t, s, caller{token: token}, "")), "legacy": viaMCP(join(t, s, caller{token: token}, legacy))}
	l := s.load(t, token, "a_echo")
	l.more(t, http.StatusOK)
	cutConnections(t, url)
	l.more(t, http.StatusOK)

	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	l.more(t, http.StatusServiceUnavailable)
	if status, body := s.request("GET", "/readyz", "", nil); status != http.StatusServiceUnavailable || !strings.Contains(string(body), `"unavailable"`) {
		t.Errorf("/readyz without a database: %d %s", status, body)
	}
	if status, _ := s.request("GET", "/healthz", "", nil); status != http.StatusOK {
		t.Errorf("/healthz without a database: %d", status)
	}
	if res, body := s.post(t, "/mcp", token, nil, initialize); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("/mcp without a database: %d %s", res.StatusCode, body)
	}
	if db, err = embedded.Start(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if db.URL() != url {
		t.Fatal("the database came back elsewhere")
	}
	l.more(t, http.StatusOK)
	s.becomesReady(t, http.StatusOK)
	for name, w := range sessions {
		if o := w.run(t, "a_echo", nil); o.Text != "echo" {
			t.Errorf("%s afterwards: %v", name, o)
		}
	}
	replies := l.end()
	checkReplies(t, replies)
	s.checkOnRecord(t, replies)
}

// cutConnections ends every connection that Toolscout has to its database.
func cutConnections(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var n int
	err = conn.QueryRow(t.Context(), `select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'toolscout'`).Scan(&n)
	if err != nil || n == 0 {
		t.Fatalf("%d connections were cut: %v", n, err)
	}
}

// TestStopped stops a server in the middle of calls: they end as they should, and
// are on record.
func TestStopped(t *testing.T) {
	t.Parallel()
	database, record, release := pgtest.URL(t), newRecord(t), filepath.Join(t.TempDir(), "release")
	s := start(t, options{database: database})
	_, token := s.echoes(t, "-record", string(record))
	children := s.children(t)
	ways := s.ways(t, caller{token: token})
	// The SDK's client loses an event that the end of its stream follows at once.
	ways["sse"] = rawSSE(t, s, token)
	var held sync.WaitGroup
	for name, w := range ways {
		held.Go(func() {
			o, err := w("execute_tool", map[string]any{"tool_id": "a_hold", "params": map[string]any{"file": release}})
			if err != nil || o.Text != "released" {
				t.Errorf("%s: %v %v", name, o, err)
			}
		})
	}
	eventually(t, "hold the calls", func() error {
		if n := record.count("call hold"); n != len(ways) {
			return fmt.Errorf("%d calls", n)
		}
		return nil
	})
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "close the door", func() error {
		if r := call(s.url+"/v1/tools/a_echo", token); r.status != 0 {
			return fmt.Errorf("a new call is answered: %+v", r)
		}
		return nil
	})
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	held.Wait()
	<-s.exited
	if s.err != nil {
		t.Errorf("it ended with %v", s.err)
	}
	for _, pid := range children {
		if err := alive(pid); err != nil {
			t.Errorf("afterwards %v", err)
		}
	}
	s = start(t, options{database: database})
	for _, path := range []string{"/v1/admin/audit?action=execute_tool&outcome=ok", "/v1/admin/usage?outcome=ok"} {
		n := 0
		for _, row := range s.rows(t, path) {
			if row["toolName"] == "a_hold" {
				n++
			}
		}
		if n != len(ways) {
			t.Errorf("%s has %d rows, want %d", path, n, len(ways))
		}
	}
}

// rawSSE is the way through the SSE transport without a client of the SDK's, for
// one call.
func rawSSE(t *testing.T, s *instance, token string) way {
	t.Helper()
	events, endpoint := openSSE(t, s, token)
	send := func(body string) string {
		if res, answer := s.post(t, endpoint, token, nil, body); res.StatusCode != http.StatusAccepted {
			t.Errorf("POST %s: %d %s", endpoint, res.StatusCode, answer)
		}
		event, _ := events.next()
		return event
	}
	send(initialize)
	return func(tool string, args map[string]any) (outcome, error) {
		params, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
		if err != nil {
			return outcome{}, err
		}
		event := send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":%s}`, params))
		var answer struct{ Result json.RawMessage }
		if err := json.Unmarshal([]byte(event), &answer); err != nil {
			return outcome{}, fmt.Errorf("%w in %q", err, event)
		}
		return fromMCP(answer.Result)
	}
}

// TestKilledWhileIndexing kills a server twice before thousands of tools are
// indexed: once before they are even listed, once when some have their vector.
// The next start goes on by itself, from there.
func TestKilledWhileIndexing(t *testing.T) {
	t.Parallel()
	const tools = 3000
	service := embedtest.New(t)
	o := options{database: pgtest.URL(t), dataDir: t.TempDir(),
		config: fmt.Sprintf("[embeddings]\nprovider = \"openai\"\nbase_url = %q\nmodel = \"m\"\napi_key = \"k\"\n", service.URL+"/v1")}
	service.FailAlways(embedtest.Stall)
	s := start(t, o)
	s.must("POST", "/v1/admin/servers", adminToken, testserver(t, "many", "-tools", "echo", "-many", fmt.Sprint(tools-1)), nil)
	s.stop(syscall.SIGKILL)

	type status struct {
		State          string
		Total, Indexed int
	}
	now := func() (st status) {
		s.must("GET", "/v1/admin/embeddings/index", adminToken, nil, &st)
		return st
	}
	service.FailAlways(embedtest.Stall)
	service.Fail(make([]embedtest.Failure, 9)...) // one probe, and twice 128 tools
	s = start(t, o)
	eventually(t, "index some", func() error {
		if st := now(); st.Total != tools || st.Indexed == 0 {
			return fmt.Errorf("%+v", st)
		}
		return nil
	})
	before := now()
	if before.Indexed >= tools || before.State != "running" {
		t.Fatalf("it was to stall in the middle: %+v", before)
	}
	s.stop(syscall.SIGKILL)

	asked := len(service.Requests())
	service.FailAlways(embedtest.None)
	s = start(t, o)
	eventually(t, "index the rest", func() error {
		if st := now(); st.Total != tools || st.Indexed != tools || st.State != "idle" {
			return fmt.Errorf("%+v", st)
		}
		return nil
	})
	texts := 0
	for _, r := range service.Requests()[asked:] {
		texts += len(r.Input)
	}
	if most := tools - before.Indexed + 10; texts > most {
		t.Errorf("%d texts were embedded after the restart, want at most %d: %d were done before", texts, most, before.Indexed)
	}
	l := s.viaREST(caller{token: adminToken}).try(t, "discover_tools", map[string]any{"query": "state of item 1234", "top_k": 5}).listing(t)
	if l.Degraded != "" || len(l.Tools) != 5 || l.Tools[0].Name != "many_item_01234" {
		t.Errorf("found %+v", l)
	}
}
