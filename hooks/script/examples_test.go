package script_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/script"
)

// step is one call through an example and what became of it.
type step struct {
	args string
	// before the call: change it, or let time pass.
	prepare func(*hooks.Call, *world)
	result  string
	fails   error

	sent     string // the arguments that the tool got; "" if it was not called
	answer   string
	rejected string
	warning  string
	events   int
}

func by(name string) func(*hooks.Call, *world) {
	return func(c *hooks.Call, _ *world) { c.Principal.UserID, c.Principal.UserName = name, name }
}

func later(d time.Duration) func(*hooks.Call, *world) {
	return func(_ *hooks.Call, w *world) { w.pass(d) }
}

func writes(c *hooks.Call, _ *world) { c.Tool.Annotations = nil }

func on(server string) func(*hooks.Call, *world) {
	return func(c *hooks.Call, w *world) { c.Server.Name = server; writes(c, w) }
}

const (
	issues = `[{"number":12345678901234567890,"title":"a","state":"open","url":"x"},{"number":2,"price":1.10,"title":"b"}]`
	hello  = `{"content":[{"type":"text","text":"hello"}]}`
)

var exampleSteps = map[string][]step{
	"redact-emails": {
		{args: `{}`, sent: `{}`, result: `{"content":[{"type":"text","text":"ask ann@example.com or b.c+d@x-y.co.uk"}]}`,
			answer: `{"content":[{"type":"text","text":"ask [e-mail] or [e-mail]"}]}`},
		{args: `{}`, sent: `{}`,
			result: `{"content":[{"type":"text","text":"{\"to\":\"ann@example.com\",\"n\":1.10}"},{"type":"image","data":"eA=="}],"structuredContent":{"to": "ann@example.com","n":1.10}}`,
			answer: `{"content":[{"type":"text","text":"{\"to\":\"[e-mail]\",\"n\":1.10}"},{"type":"image","data":"eA=="}],"structuredContent":{"to":"[e-mail]","n":1.10}}`},
		{args: `{}`, sent: `{}`, result: `{"content":[ {"type":"text","text":"nothing @ here"} ],"x":1e2}`,
			answer: `{"content":[ {"type":"text","text":"nothing @ here"} ],"x":1e2}`},
	},
	"working-hours": {
		{args: `{}`, sent: `{}`, result: hello, answer: hello},
		{args: `{}`, prepare: later(4 * time.Hour), rejected: "nothing is deleted outside working hours"}, // 17:00 in Berlin
		{args: `{}`, prepare: later(16 * time.Hour), sent: `{}`, result: hello, answer: hello},            // Thursday, 9:00
		{args: `{}`, prepare: later(48*time.Hour + 3*time.Hour), rejected: "nothing is deleted outside working hours"},
	},
	"default-repository": {
		{args: `{"title":"x"}`, sent: `{"title":"x","owner":"acme","repo":"website"}`, result: hello, answer: hello},
		{args: `{"n": 1.50, "title":"\u0041"}`, sent: `{"n":1.50,"title":"\u0041","owner":"acme","repo":"website"}`, result: hello, answer: hello},
		{args: `{"owner":"me", "repo":"mine"}`, sent: `{"owner":"me", "repo":"mine"}`, result: hello, answer: hello},
	},
	"cache-a-minute": {
		{args: `{"q":1}`, sent: `{"q":1}`, result: `{"content":[{"type":"text","text":"first"}],"n":1.0}`, answer: `{"content":[{"type":"text","text":"first"}],"n":1.0}`},
		{args: `{"q":1}`, answer: `{"content":[{"type":"text","text":"first"}],"n":1.0}`},
		{args: `{"q":2}`, sent: `{"q":2}`, result: hello, answer: hello},
		{args: `{"q":1}`, prepare: by("bob"), sent: `{"q":1}`, result: hello, answer: hello},
		{args: `{"q":1}`, prepare: later(59 * time.Second), answer: `{"content":[{"type":"text","text":"first"}],"n":1.0}`},
		{args: `{"q":1}`, prepare: later(time.Second), sent: `{"q":1}`, result: hello, answer: hello},
		{args: `{"q":1}`, prepare: writes, sent: `{"q":1}`, result: hello, answer: hello},
	},
	"summarise-list": {
		{args: `{}`, sent: `{}`, result: `{"content":[{"type":"text","text":"[1.0,2,3,4,5,6,7,8,9,10,11,12]"}]}`,
			answer: `{"content":[{"type":"text","text":"[1.0,2,3,4,5,6,7,8,9,10]"}]}`, warning: "only the first 10 of 12 entries are shown"},
		{args: `{}`, sent: `{}`, result: `{"content":[{"type":"text","text":"{\"result\":0}"}],"structuredContent":{"result":[0]}}`,
			answer: `{"content":[{"type":"text","text":"{\"result\":0}"}],"structuredContent":{"result":[0]}}`},
		{args: `{}`, sent: `{}`, result: `{"content":[{"type":"text","text":"[1, 2]"}]}`, answer: `{"content":[{"type":"text","text":"[1, 2]"}]}`},
		{args: `{}`, sent: `{}`, result: hello, answer: hello},
	},
	"sql-needs-where": {
		{args: `{"sql":"DELETE FROM users"}`, rejected: "this delete has no where"},
		{args: `{"query":"select 1; update users set a = ' where '"}`, rejected: "this update has no where"},
		{args: `{"sql":"delete from users where id = 1"}`, sent: `{"sql":"delete from users where id = 1"}`, result: hello, answer: hello},
		{args: `{"other":1}`, sent: `{"other":1}`, result: hello, answer: hello},
	},
	"mask-secrets": {
		{args: `{"text":"use sk-abcdefghijklmnop1234 now","n":1.0}`, sent: `{"text":"use [masked] now","n":1.0}`, result: hello, answer: hello},
		{args: `{"a":{"b":[1,"password: hunter2"]}}`, sent: `{"a":{"b":[1,"[masked]"]}}`, result: hello, answer: hello},
		{args: `{"text": "nothing", "a":[{}]}`, sent: `{"text": "nothing", "a":[{}]}`, result: hello, answer: hello},
	},
	"advise-on-errors": {
		{args: `{}`, sent: `{}`, result: `{"content":[{"type":"text","text":"404: no such repo"}],"isError":true}`,
			answer: `{"content":[{"type":"text","text":"404: no such repo\n\nCheck the name with a search first."}],"isError":true}`},
		{args: `{}`, sent: `{}`, fails: core.Errorf(core.UpstreamError, "rate limit reached"),
			rejected: "rate limit reached\n\nWait a minute before you try again, and ask for less at once."},
		{args: `{}`, sent: `{}`, result: `{"content":[{"type":"text","text":"404 pages found"}]}`, answer: `{"content":[{"type":"text","text":"404 pages found"}]}`},
		{args: `{}`, sent: `{}`, result: `{"content":[{"type":"text","text":"odd"}],"isError":true}`, answer: `{"content":[{"type":"text","text":"odd"}],"isError":true}`},
	},
	"keep-fields": {
		{args: `{}`, sent: `{}`, result: textOf(issues),
			answer: textOf(`[{"number":12345678901234567890,"title":"a","state":"open"},{"number":2,"title":"b"}]`)},
		{args: `{}`, sent: `{}`, result: `{"content":[{"type":"text","text":"x"}],"structuredContent":{"number":1,"url":"u"}}`,
			answer: `{"content":[{"type":"text","text":"{\"number\":1}"}],"structuredContent":{"number":1}}`},
		{args: `{}`, sent: `{}`, result: hello, answer: hello},
	},
	"announce-production": {
		{args: `{}`, prepare: on("production-eu"), sent: `{}`, result: hello, answer: hello, events: 1},
		{args: `{}`, prepare: on("production"), sent: `{}`, fails: core.Errorf(core.Timeout, "slow"), rejected: "slow", events: 1},
		{args: `{}`, prepare: on("staging"), sent: `{}`, result: hello, answer: hello},
		{args: `{}`, sent: `{}`, result: hello, answer: hello},
	},
}

func textOf(s string) string {
	text, err := core.EncodeJSON(s)
	if err != nil {
		panic(err)
	}
	return `{"content":[{"type":"text","text":` + string(text) + `}]}`
}

func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/hooks/*.star")
	if err != nil || len(files) != len(exampleSteps) {
		t.Errorf("%d examples, %d tested, %v", len(files), len(exampleSteps), err)
	}
	for name, steps := range exampleSteps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := example(t, name)
			if err := script.Check(name+".star", []byte(source)); err != nil {
				t.Fatal(err)
			}
			if lines := strings.Count(source, "\n"); lines > 42 || !strings.Contains(source, "# Switch it on:") {
				t.Errorf("%d lines, or its head does not say how to switch it on", lines)
			}
			w := newWorld()
			h := w.source(t, source)
			for i, s := range steps {
				s.run(t, i, w, h)
			}
		})
	}
}

func (s step) run(t *testing.T, i int, w *world, h hooks.Hook) {
	t.Helper()
	c, tool, events := call(s.args), &work{result: s.result, err: s.fails}, len(w.events)
	if s.prepare != nil {
		s.prepare(c, w)
	}
	rejected := ""
	if err := through(t, h, c, tool); err != nil {
		rejected = core.Public(err).Message
		if s.fails != nil && !errors.Is(err, core.Public(s.fails).Kind) {
			t.Errorf("call %d: got %v, want the kind of %v", i, err, s.fails)
		}
	}
	type outcome struct{ Sent, Answer, Rejected, Warnings string }
	got := outcome{tool.args, string(c.Result), rejected, strings.Join(c.Warnings, "; ")}
	want := outcome{s.sent, s.answer, s.rejected, s.warning}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("call %d: %s", i, diff)
	}
	if n := len(w.events) - events; n != s.events {
		t.Errorf("call %d: %d events, want %d", i, n, s.events)
	}
	for _, e := range w.events[events:] {
		if !json.Valid(e.Data) || e.UserID != c.Principal.UserID || e.Subject != c.Tool.Name || e.ServerID != "s1" {
			t.Errorf("call %d: got event %+v", i, e)
		}
	}
}
