package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// configuredHook is what the API says of a hook.
type configuredHook struct {
	ID, Name, Type, Scope string
	Origin                struct{ Kind, Where string }
	State                 struct{ State, Reason string }
	Version               int64
	OnError               string
}

// addHook makes a hook in the database, as an admin.
func (s *instance) addHook(fields map[string]any) configuredHook {
	s.t.Helper()
	var h configuredHook
	s.must("POST", "/v1/admin/hooks", adminToken, fields, &h)
	return h
}

// dropHook deletes an admin's hook.
func (s *instance) dropHook(h configuredHook) {
	s.t.Helper()
	s.must("DELETE", "/v1/admin/hooks/"+h.ID, adminToken, nil, nil)
}

// hook gives a hook as it is now.
func (s *instance) hook(id string) configuredHook {
	s.t.Helper()
	var h configuredHook
	s.must("GET", "/v1/admin/hooks/"+id, adminToken, nil, &h)
	return h
}

// starlark is the fields of a script's hook.
func starlark(name, source string, fields ...any) map[string]any {
	return with(map[string]any{"name": name, "type": "script", "config": map[string]any{"source": source}}, fields...)
}

// result is a CallToolResult with one text.
func textResult(text string) map[string]any {
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
}

// says are the arguments with which the tool say answers with a text.
func says(text string) map[string]any { return map[string]any{"result": textResult(text)} }

// bare is what a tool answered without what we added to it.
func (o outcome) bare(t testing.TB) string {
	t.Helper()
	if o.Raw == nil {
		return fmt.Sprintf("%s %s %s", o.Kind, o.Message, o.Body)
	}
	members := decodeTB[map[string]json.RawMessage](t, o.Raw)
	delete(members, "_meta")
	delete(members, "resultType")
	raw, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// meta is the _meta of an answer.
func (o outcome) meta(t testing.TB) map[string]any {
	t.Helper()
	if o.Raw == nil {
		t.Fatalf("no result: %v", o)
	}
	return decodeTB[answer](t, o.Raw).Meta
}

// warnings are what the caller is told beside a result.
func (o outcome) warnings(t testing.TB) []string {
	t.Helper()
	var list []string
	for _, w := range asList(o.meta(t)["toolscout/warnings"]) {
		list = append(list, fmt.Sprint(w))
	}
	return list
}

func asList(v any) []any { list, _ := v.([]any); return list }

func decodeTB[T any](t testing.TB, raw []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %.2000s", err, raw)
	}
	return v
}

// trail is the rows that a request left: of the audit and of the usage.
func (s *instance) trail(t testing.TB, o outcome) (audit, usage map[string]any) {
	t.Helper()
	id := fmt.Sprint(o.meta(t)["toolscout/requestId"])
	eventually(t, "find the rows of a call", func() error {
		a, u := s.rows(t, "/v1/admin/audit?requestId="+id), s.rows(t, "/v1/admin/usage?requestId="+id)
		if len(a) != 1 || len(u) != 1 {
			return fmt.Errorf("%d rows of audit and %d of usage", len(a), len(u))
		}
		audit, usage = a[0], u[0]
		return nil
	})
	return audit, usage
}

// effects are what the rows of a call say that hooks did.
func effectsIn(t testing.TB, row map[string]any) []hookEffect {
	t.Helper()
	raw, err := json.Marshal(row["details"])
	if err != nil {
		t.Fatal(err)
	}
	return decodeTB[struct{ Hooks []hookEffect }](t, raw).Hooks
}

type hookEffect struct {
	Hook, Event, Mode, Did, Message, Kind string
	Notes                                 map[string]any
}

// desk is somebody else's service: what is posted to it is kept, and answered as
// is said.
type desk struct {
	*httptest.Server

	mu       sync.Mutex
	answer   func(body []byte) any
	received [][]byte
	headers  []http.Header
}

func newDesk(t testing.TB, answer func(body []byte) any) *desk {
	t.Helper()
	d := &desk{answer: answer}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		d.mu.Lock()
		d.received, d.headers = append(d.received, body), append(d.headers, r.Header.Clone())
		reply := d.answer
		d.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(reply(body)) // whoever asked may have gone
	}))
	t.Cleanup(d.Close)
	return d
}

// count is how many messages have come.
func (d *desk) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.received)
}

// last is the newest message.
func (d *desk) last() ([]byte, http.Header) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.received) == 0 {
		return nil, nil
	}
	return d.received[len(d.received)-1], d.headers[len(d.headers)-1]
}

// chatter is a language model that always says the same.
func chatter(text string) func([]byte) any {
	return func([]byte) any {
		return map[string]any{"id": "c", "object": "chat.completion", "model": "m",
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": text}}},
			"usage":   map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}
	}
}

// connect opens a connection to a server's database.
func connect(t testing.TB, database string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// query reads one value from a server's database.
func query[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// same reports a difference, if there is one.
func same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("%s (- got, + want):\n%s", what, d)
	}
}

// toml is a table of the configuration file.
func toml(name string, lines ...string) string {
	return fmt.Sprintf("[%s]\n%s\n", name, strings.Join(lines, "\n"))
}
