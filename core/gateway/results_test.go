package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/truncation"
)

// truncate is an entry that shortens results.
func (w *world) truncate(name string, priority int, config string) hooks.Entry {
	w.t.Helper()
	typ := truncation.Type(w.own)
	h, err := typ.New(hooks.Instance{Config: json.RawMessage(config)})
	if err != nil {
		w.t.Fatal(err)
	}
	return hooks.Entry{Name: name, Level: hooks.Tool, Events: typ.Events, OnError: hooks.Ignore, Priority: priority, Hook: h}
}

// after is a hook that does something with a result.
type after func(*hooks.Call) error

func (after) Before(context.Context, *hooks.Call) error      { return nil }
func (a after) After(_ context.Context, c *hooks.Call) error { return a(c) }

// long is what the long tool says: some 20 KB.
func long() string {
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "line %d of a secret text, ä\n", i)
	}
	return b.String()
}

var resultID = regexp.MustCompile(`toolscout://results/([0-9a-f-]{36})`)

// newLongWorld is a world with a tool that says something long, and two people.
func newLongWorld(t *testing.T) (w *world, ann, bob person, server core.Server, call string) {
	w = newWorld(t)
	ann, bob = w.person("ann"), w.person("bob")
	text, err := json.Marshal(long())
	if err != nil {
		t.Fatal(err)
	}
	url := newRawUpstream(t, func(json.RawMessage) string {
		return `{"content":[{"type":"text","text":` + string(text) + `}],"n":1.0}`
	})
	server, ids := w.server(core.Server{Name: "s", URL: url}, tool{"say", `{"type":"object"}`, "says much"})
	return w, ann, bob, server, fmt.Sprintf(`{"tool_id":%q}`, ids["say"])
}

// run calls the tool and gives the answer with the first id in it.
func (w *world) run(p person, call string) (answer, id string) {
	w.t.Helper()
	raw, err := w.call(p, gateway.ExecuteTool, call)
	if err != nil {
		w.t.Fatal(err)
	}
	if found := resultID.FindStringSubmatch(string(raw)); found != nil {
		id = found[1]
	}
	return string(raw), id
}

// readAll reads a result page by page.
func (w *world) readAll(p person, id string) (text string, err error) {
	w.t.Helper()
	for cursor, more := "", true; more; {
		raw, err := w.call(p, gateway.ReadResult, fmt.Sprintf(`{"id":%q,"cursor":%q}`, id, cursor))
		if err != nil {
			return "", err
		}
		var page gateway.ResultPage
		if err := json.Unmarshal(raw, &page); err != nil {
			w.t.Fatal(err)
		}
		if len(*page.Text) > 2000 || page.Offset != len(text) || time.Until(page.ExpiresAt) < time.Minute || page.ID != id {
			w.t.Fatalf("page %+v", page)
		}
		text += *page.Text
		cursor, more = page.NextCursor, page.NextCursor != ""
	}
	return text, nil
}

const shortPages = `{"max_bytes":4096,"page_size":2000}`

func TestReadResult(t *testing.T) {
	t.Parallel()
	w, ann, bob, server, call := newLongWorld(t)
	w.hooks = []hooks.Entry{w.truncate("cut", 400, shortPages)}
	answer, id := w.run(ann, call)
	if len(answer) > 6000 || !strings.Contains(answer, `"toolscout/truncated":{"ofBytes":`) || !strings.Contains(answer, `"n":1.0`) {
		t.Fatalf("answer %s", answer)
	}
	text, err := w.readAll(ann, id)
	if err != nil || text != long() {
		t.Fatalf("read %d bytes, %v", len(text), err)
	}

	_, req, err := w.traced(ann, gateway.ReadResult, fmt.Sprintf(`{"id":%q}`, id))
	if err != nil {
		t.Fatal(err)
	}
	if audits, _ := w.rows(req); len(audits) != 1 || audits[0].Action != gateway.ReadResult || audits[0].ServerID != server.ID || audits[0].Outcome != core.OutcomeOK {
		t.Errorf("audit %+v", audits)
	}

	for name, ask := range map[string]func() error{
		"another_user":   func() error { _, err := w.readAll(bob, id); return err },
		"another_agent":  func() error { return w.readAs(ann, id, func(p *core.Principal) { p.Agent = "other" }) },
		"unknown":        func() error { _, err := w.readAll(ann, postgres.NewResultID()); return err },
		"malformed":      func() error { _, err := w.readAll(ann, "x'"); return err },
		"expired":        func() error { _, err := w.readAll(ann, w.expired(ann, server)); return err },
		"server_now_off": func() error { w.enable(ann, server, false); _, err := w.readAll(ann, id); return err },
	} {
		if err := ask(); !errors.Is(err, core.NotFound) || !strings.HasPrefix(core.Public(err).Message, "there is no result") {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.enable(ann, server, true)
	if _, err := w.readAll(ann, id); err != nil {
		t.Errorf("switched on again: %v", err)
	}
	for _, cursor := range []string{"x", "1-0", "0-99999999"} {
		if _, err := w.call(ann, gateway.ReadResult, fmt.Sprintf(`{"id":%q,"cursor":%q}`, id, cursor)); !errors.Is(err, core.InvalidParams) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
	if _, err := w.call(ann, gateway.ReadResult, `{"id":"x","more":1}`); !errors.Is(err, core.InvalidParams) {
		t.Errorf("an unknown argument: %v", err)
	}
}

// readAs reads as a person who is changed a little.
func (w *world) readAs(p person, id string, change func(*core.Principal)) error {
	req := w.request(p)
	change(&req.Principal)
	_, err := w.gateway.Call(w.t.Context(), req, gateway.Call{Action: gateway.ReadResult, Args: json.RawMessage(`{"id":"` + id + `"}`)})
	return err
}

// expired is a result of a person whose time is over by the database's clock.
func (w *world) expired(p person, s core.Server) string {
	w.t.Helper()
	principal := w.request(p).Principal
	r := postgres.Result{ID: postgres.NewResultID(), TenantID: principal.TenantID, UserID: principal.UserID, Agent: principal.Agent,
		ServerID: s.ID, PageBytes: 100, Body: []byte(`{"content":[{"type":"text","text":"a"}]}`)}
	if err := w.store.SaveResult(w.t.Context(), r, -time.Millisecond); err != nil {
		w.t.Fatal(err)
	}
	return r.ID
}

func (w *world) enable(p person, s core.Server, on bool) {
	w.t.Helper()
	if err := w.store.SetEnabled(w.t.Context(), by, p.ID, s.ID, on); err != nil {
		w.t.Fatal(err)
	}
}

// TestResult_is_kept_as_delivered: nobody gets round a hook by reading on, neither
// one further in nor one further out.
func TestResult_is_kept_as_delivered(t *testing.T) {
	t.Parallel()
	w, ann, _, _, call := newLongWorld(t)
	redact := after(func(c *hooks.Call) error {
		c.Result = json.RawMessage(strings.ReplaceAll(string(c.Result), "secret", "******"))
		return nil
	})
	w.hooks = []hooks.Entry{w.truncate("cut", 400, shortPages), {Name: "redact", Priority: 800, Level: hooks.Tool, Hook: redact}}
	_, id := w.run(ann, call)
	if text, err := w.readAll(ann, id); err != nil || strings.Contains(text, "secret") || !strings.Contains(text, "******") {
		t.Errorf("behind a redaction: %.100s, %v", text, err)
	}

	w.hooks = []hooks.Entry{w.truncate("cut", 400, shortPages), {Name: "redact further out", Priority: 100, Level: hooks.Tool, Hook: redact}, {Name: "x", Hook: after(func(*hooks.Call) error { return nil })}}
	answer, id := w.run(ann, call)
	if _, err := w.readAll(ann, id); !errors.Is(err, core.NotFound) || !strings.Contains(answer, "the rest of the result is not kept") {
		t.Errorf("before a redaction: %v\n%.500s", err, answer)
	}
}

// TestResult_withheld: a result that a hook rejects after it was shortened is not
// kept, in whichever chain the hook is.
func TestResult_withheld(t *testing.T) {
	t.Parallel()
	for _, level := range []hooks.Level{hooks.Tool, hooks.Meta} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			w, ann, _, _, call := newLongWorld(t)
			id := ""
			w.hooks = []hooks.Entry{w.truncate("cut", 400, shortPages), {Name: "guard", Priority: 100, Level: level, Pattern: map[hooks.Level]string{hooks.Tool: "say", hooks.Meta: "execute_tool"}[level],
				Hook: after(func(c *hooks.Call) error {
					id = resultID.FindStringSubmatch(string(c.Result))[1]
					return hooks.Reject(core.Denied, "no")
				})}}
			if _, err := w.call(ann, gateway.ExecuteTool, call); !errors.Is(err, core.Denied) {
				t.Fatal(err)
			}
			if _, err := w.readAll(ann, id); !errors.Is(err, core.NotFound) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestResult_truncated_twice: what either hook promises can be read.
func TestResult_truncated_twice(t *testing.T) {
	t.Parallel()
	w, ann, _, _, call := newLongWorld(t)
	first := ""
	w.hooks = []hooks.Entry{w.truncate("much", 400, `{"max_bytes":2048,"page_size":2000}`), w.truncate("little", 600, `{"max_bytes":8192,"page_size":2000}`),
		{Name: "look", Priority: 500, Level: hooks.Tool, Hook: after(func(c *hooks.Call) error {
			first = resultID.FindStringSubmatch(string(c.Result))[1]
			return nil
		})}}
	_, second := w.run(ann, call)
	if text, err := w.readAll(ann, first); err != nil || text != long() {
		t.Errorf("the first: %d bytes, %v", len(text), err)
	}
	if text, err := w.readAll(ann, second); err != nil || len(text) > 8192 || !strings.Contains(text, first) || second == first {
		t.Errorf("the second: %d bytes, %v", len(text), err)
	}
}

// TestResult_observed: a dry run changes nothing, and promises nothing.
func TestResult_observed(t *testing.T) {
	t.Parallel()
	w, ann, _, _, call := newLongWorld(t)
	cut := w.truncate("cut", 400, shortPages)
	cut.Mode = hooks.Observe
	w.hooks = []hooks.Entry{cut}
	answer, id := w.run(ann, call)
	if id != "" || strings.Contains(answer, "toolscout/truncated") || len(answer) < len(long()) {
		t.Errorf("answer %.300s", answer)
	}
}

// TestResult_truncated_beside: a truncation further out that counts for nothing, as a
// dry run or since it fails, does not spoil what another one promises.
func TestResult_truncated_beside(t *testing.T) {
	t.Parallel()
	for name, beside := range map[string]func(*hooks.Entry){
		"observed":   func(e *hooks.Entry) { e.Mode = hooks.Observe },
		"background": func(e *hooks.Entry) { e.Mode = hooks.Background },
		"failed": func(e *hooks.Entry) {
			shorten := e.Hook
			e.Hook = after(func(c *hooks.Call) error {
				return errors.Join(shorten.After(context.Background(), c), errors.New("too late"))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, ann, _, _, call := newLongWorld(t)
			other := w.truncate("other", 300, `{"max_bytes":1024}`)
			beside(&other)
			w.hooks = []hooks.Entry{other, w.truncate("cut", 400, shortPages)}
			answer, id := w.run(ann, call)
			if text, err := w.readAll(ann, id); err != nil || text != long() || strings.Contains(answer, "is not kept") {
				t.Errorf("%d bytes, %v: %.300s", len(text), err, answer)
			}
		})
	}
}
