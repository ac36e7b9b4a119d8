package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/script"
)

// world is what scripts of one test have around them.
type world struct {
	mu     sync.Mutex
	now    time.Time
	events []core.Event
}

// newWorld stands at noon of a Wednesday.
func newWorld() *world { return &world{now: time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)} }

func (w *world) config() script.Config {
	return script.Config{
		Publish: func(_ context.Context, e core.Event) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
			return nil
		},
		Now: func() time.Time {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.now
		},
		Logger: slog.New(slog.DiscardHandler),
	}
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// load makes a hook of a configuration.
func (w *world) load(t testing.TB, config map[string]any) (hooks.Hook, error) {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return script.Type(w.config()).New(hooks.Instance{Name: "test", TenantID: "tenant", Trusted: true, Config: text})
}

func (w *world) mustLoad(t testing.TB, config map[string]any) hooks.Hook {
	t.Helper()
	h, err := w.load(t, config)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// source makes a hook of a script.
func (w *world) source(t testing.TB, source string) hooks.Hook {
	t.Helper()
	return w.mustLoad(t, map[string]any{"source": source})
}

// call is a call on the tool level by ann, who is no admin.
func call(args string) *hooks.Call {
	return &hooks.Call{RequestID: "r1", Level: hooks.Tool, Action: "execute_tool",
		Principal: core.Principal{TenantID: "tenant", UserID: "u1", UserName: "ann", Roles: []string{"dev"}, Agent: "ide"},
		Server:    &core.Server{ID: "s1", Name: "github"},
		Tool: &core.Tool{ID: "t1", ServerID: "s1", Name: "github_search", Description: "Searches.",
			Annotations: json.RawMessage(`{"readOnlyHint":true}`)},
		Args: json.RawMessage(args), Original: json.RawMessage(args)}
}

// textResult is a result of one text.
func textResult(t testing.TB, s string) string {
	t.Helper()
	text, err := core.EncodeJSON(s)
	if err != nil {
		t.Fatal(err)
	}
	return `{"content":[{"type":"text","text":` + string(text) + `}]}`
}

// work is a tool that gives a result and keeps what it was called with.
type work struct {
	result string
	err    error
	args   string
	called int
}

func (w *work) next(_ context.Context, c *hooks.Call) error {
	w.called++
	w.args = string(c.Args)
	if w.err == nil {
		c.Result = json.RawMessage(w.result)
	}
	return w.err
}

// through sends a call through one hook.
func through(t testing.TB, h hooks.Hook, c *hooks.Call, w *work) error {
	t.Helper()
	r := hooks.NewRunner(hooks.Config{})
	defer func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	entries := []hooks.Entry{{Name: "test", OnError: hooks.Fail, Timeout: time.Hour, Hook: h}} // on a busy machine, too, other limits come first
	return r.Run(t.Context(), hooks.Compile(entries, c), c, w.next)
}

func example(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "hooks", name+".star"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// told is a script's failure as its author reads it in the log: the place and the
// private cause, or what everybody may read.
func told(err error) string {
	e := core.Public(err)
	if e == nil {
		return ""
	}
	if place, ok := strings.CutSuffix(e.Message, "the script failed"); ok {
		return place + errors.Unwrap(e).Error()
	}
	return e.Message
}
