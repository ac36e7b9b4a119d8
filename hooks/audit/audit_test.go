package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/audit"
)

// table stands for the database: it can be away, slow, or refuse a row.
type table struct {
	mu      sync.Mutex
	audits  []core.AuditEntry
	usages  []core.UsageEntry
	batches int
	away    bool
	refuses string // the action of a row that is refused
	hold    chan struct{}
}

func (t *table) append(ctx context.Context, a []core.AuditEntry, u []core.UsageEntry) error {
	if t.hold != nil {
		select {
		case <-t.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.away {
		return core.Errorf(core.Unavailable, "the database cannot be reached")
	}
	for _, e := range a {
		if t.refuses != "" && e.Action == t.refuses {
			return core.Errorf(core.InvalidParams, "the database cannot store this text")
		}
	}
	t.audits, t.usages = append(t.audits, a...), append(t.usages, u...)
	t.batches++
	return nil
}

func (t *table) set(change func(*table)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(t)
}

func (t *table) actions() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []string
	for _, e := range t.audits {
		list = append(list, e.Action)
	}
	return strings.Join(list, " ")
}

func record(t *testing.T, w *audit.Writer, action string) {
	t.Helper()
	if err := w.Record(t.Context(), core.AuditEntry{Action: action}); err != nil {
		t.Fatal(err)
	}
}

func TestBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var db table
		w := audit.NewWriter(audit.Config{Append: db.append})
		for i := range 100 {
			record(t, w, fmt.Sprint(i))
		}
		time.Sleep(time.Second)
		db.set(func(db *table) {
			if len(db.audits) != 100 || db.batches != 1 || w.Waiting() != 0 {
				t.Errorf("%d rows in %d batches, %d waiting", len(db.audits), db.batches, w.Waiting())
			}
			seen := map[string]bool{}
			for i, e := range db.audits {
				if e.Action != fmt.Sprint(i) || e.ID == "" || seen[e.ID] {
					t.Errorf("row %d is %+v", i, e)
				}
				seen[e.ID] = true
			}
		})
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestFullQueueMakesCallersWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := table{away: true}
		w := audit.NewWriter(audit.Config{Append: db.append, Queue: 3})
		for _, a := range []string{"a", "b", "c"} {
			record(t, w, a)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		err := w.Record(ctx, core.AuditEntry{Action: "refused"})
		if !errors.Is(err, core.Unavailable) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		go func() {
			time.Sleep(time.Minute)
			db.set(func(d *table) { d.away = false })
		}()
		record(t, w, "d") // waits for the database
		if err := w.Close(t.Context()); err != nil || db.actions() != "a b c d" {
			t.Errorf("got %v, rows %s", err, db.actions())
		}
	})
}

func TestRefusedRowHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := table{refuses: "bad"}
		w := audit.NewWriter(audit.Config{Append: db.append})
		for _, a := range []string{"a", "b", "bad", "c", "d"} {
			record(t, w, a)
		}
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if db.actions() != "a b c d" || w.Lost() != 1 || w.Waiting() != 0 {
			t.Errorf("rows %s, %d lost, %d waiting", db.actions(), w.Lost(), w.Waiting())
		}
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSyncWaitsForTheRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := table{hold: make(chan struct{})}
		w := audit.NewWriter(audit.Config{Append: db.append, Sync: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Record(ctx, core.AuditEntry{Action: "a"}); !errors.Is(err, core.Unavailable) {
			t.Errorf("got %v before the row was written", err)
		}
		close(db.hold)
		record(t, w, "b")
		if db.actions() != "a b" {
			t.Errorf("rows %s", db.actions())
		}
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseSaysWhatIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := table{away: true}
		w := audit.NewWriter(audit.Config{Append: db.append})
		record(t, w, "a")
		record(t, w, "b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := w.Close(ctx); err == nil || !strings.Contains(err.Error(), "2 rows lost") {
			t.Errorf("got %v", err)
		}
	})
}

// pass sends a call through the audit hook alone.
func pass(t *testing.T, w *audit.Writer, c *hooks.Call, next hooks.Next) error {
	t.Helper()
	r := hooks.NewRunner(hooks.Config{})
	defer func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	return r.Run(t.Context(), hooks.Compile([]hooks.Entry{audit.New(w)}, c), c, next)
}

func newCall(level hooks.Level) *hooks.Call {
	args := json.RawMessage(`{"query":"secret words","top_k":3}`)
	c := &hooks.Call{RequestID: "r1", Level: level, Via: core.LevelHTTP, Action: "execute_tool", Original: args, Args: args,
		Principal: core.Principal{TenantID: "t", UserID: "u", UserName: "ann", Agent: "cli"}}
	if level == hooks.Tool {
		c.Tool, c.Server = &core.Tool{ID: "t1", Name: "up_echo", SchemaHash: "abc"}, &core.Server{ID: "s1", Name: "up"}
	}
	return c
}

func TestHookRecordsEveryOutcome(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err     error
		isError bool
		want    string
	}{
		"ok":         {nil, false, `ok  {"args":{"query":"string(12)","top_k":"number"}}`},
		"tool_fails": {nil, true, `failed  {"args":{"query":"string(12)","top_k":"number"},"isError":true}`},
		"denied":     {core.Errorf(core.Denied, "switched off"), false, `denied denied {"args":{"query":"string(12)","top_k":"number"},"error":"switched off"}`},
		"invalid":    {faulty(), false, `invalid invalid_params {"args":{"query":"string(12)","top_k":"number"},"faults":["/query"]}`},
		"upstream":   {core.Errorf(core.UpstreamError, "secret words"), false, `failed upstream_error {"args":{"query":"string(12)","top_k":"number"}}`},
		"timeout":    {context.DeadlineExceeded, false, `timeout timeout {"args":{"query":"string(12)","top_k":"number"},"error":"the call took longer than it may"}`},
		"internal":   {errors.New("secret words"), false, `failed internal {"args":{"query":"string(12)","top_k":"number"},"error":"internal error"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var db table
				w := audit.NewWriter(audit.Config{Append: db.append})
				err := pass(t, w, newCall(hooks.Meta), func(_ context.Context, c *hooks.Call) error {
					time.Sleep(1500 * time.Microsecond)
					c.IsError = tc.isError
					return tc.err
				})
				if !errors.Is(err, tc.err) {
					t.Errorf("got %v", err)
				}
				if err := w.Close(t.Context()); err != nil || len(db.audits) != 1 || len(db.usages) != 0 {
					t.Fatalf("%v, rows %+v %+v", err, db.audits, db.usages)
				}
				e := db.audits[0]
				if got := fmt.Sprintf("%s %s %s", e.Outcome, e.ErrorKind, e.Details); got != tc.want {
					t.Errorf("got  %s\nwant %s", got, tc.want)
				}
				if e.Level != "http" || e.ActorID != "u" || e.Actor != "ann" || e.Agent != "cli" || e.RequestID != "r1" || e.TenantID != "t" || e.DurationMs != 1.5 {
					t.Errorf("got %+v", e)
				}
			})
		})
	}
}

func faulty() error {
	e := core.Errorf(core.InvalidParams, "secret words")
	e.Faults = []core.Fault{{Pointer: "/query", Message: "'secret words' is too short"}}
	return e
}

func TestUsageOfRealCallsOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var db table
		w := audit.NewWriter(audit.Config{Append: db.append, Queue: 1})
		for _, sent := range []bool{false, true, false, true} {
			if err := pass(t, w, newCall(hooks.Tool), func(_ context.Context, c *hooks.Call) error { c.Sent = sent; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(db.usages) != 2 || len(db.audits) != 0 || db.usages[0].SchemaHash != "abc" || db.usages[0].ToolName != "up_echo" || db.usages[0].ServerID != "s1" {
			t.Errorf("rows %+v %+v", db.audits, db.usages)
		}
	})
}

func TestNothingRunsWithoutAPlaceForItsRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := table{away: true}
		w := audit.NewWriter(audit.Config{Append: db.append, Queue: 1})
		record(t, w, "fills the queue")
		ran := false
		err := pass(t, w, newCall(hooks.Meta), func(context.Context, *hooks.Call) error { ran = true; return nil })
		if !errors.Is(err, core.Unavailable) || ran {
			t.Errorf("got %v, ran %v", err, ran)
		}
		db.set(func(d *table) { d.away = false })
		if err := w.Close(t.Context()); err != nil || db.actions() != "fills the queue" {
			t.Errorf("got %v, rows %s", err, db.actions())
		}
	})
}

func TestShape(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 20) + `"x"` + strings.Repeat("}", 20)
	wide := "{"
	for i := range 60 {
		wide += fmt.Sprintf(`"k%d":%d,`, i, i)
	}
	wide = strings.TrimSuffix(wide, ",") + "}"
	for _, tc := range []struct{ name, in, want string }{
		{"types", `{"s":"héllo","n":1.5,"b":true,"z":null,"e":[],"l":[{"x":1},2]}`,
			`{"b":"boolean","e":"array(0)","l":["array(2) of",{"x":"number"}],"n":"number","s":"string(5)","z":"null"}`},
		{"deep", deep, `{"a":{"a":{"a":{"a":{"a":{"a":"object(1)"}}}}}}`},
		{"wide", wide, `"object(60)"`},
		{"long_name", `{"` + strings.Repeat("k", 100) + `":1}`, `{"` + strings.Repeat("k", 64) + `…":"number"}`},
		{"not_json", `{"secret`, `"json(8)"`},
		{"null_character", "{\"a\\u0000b\":\"x\"}", `{"a�b":"string(1)"}`},
		{"too_long", `"` + strings.Repeat("x", 300000) + `"`, `"json(300002)"`},
		{"nothing", ``, ``},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(string(audit.Shape(json.RawMessage(tc.in))), tc.want); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"as_they_are", `{"b":9007199254740993,"a":"x"}`, `{"a":"x","b":9007199254740993}`},
		{"secrets", `{"password":"x","headers":[{"Authorization":"Bearer x","X-Api-Key":"y"}],"accessToken":{"a":1},"compass":"north"}`,
			`{"accessToken":"[redacted]","compass":"north","headers":[{"Authorization":"[redacted]","X-Api-Key":"[redacted]"}],"password":"[redacted]"}`},
		{"cut", `{"text":"` + strings.Repeat("x", 20000) + `"}`, `{"cut":20011,"shape":{"text":"string(20000)"}}`},
		{"null_character", `{"a":"x\u0000y"}`, `{"a":"x�y"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(string(audit.Values(json.RawMessage(tc.in))), tc.want); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func BenchmarkHook(b *testing.B) {
	w := audit.NewWriter(audit.Config{Append: func(context.Context, []core.AuditEntry, []core.UsageEntry) error { return nil }})
	r := hooks.NewRunner(hooks.Config{})
	entries := []hooks.Entry{audit.New(w)}
	b.ReportAllocs()
	for b.Loop() {
		c := newCall(hooks.Meta)
		if err := r.Run(b.Context(), hooks.Compile(entries, c), c, func(context.Context, *hooks.Call) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(context.Background()), r.Close(context.Background())); err != nil {
		b.Fatal(err)
	}
}
