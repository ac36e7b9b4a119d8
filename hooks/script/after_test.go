package script_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

func afterwards(body string) string {
	return "def after_call(ctx, result):\n    " + strings.ReplaceAll(body, "\n", "\n    ")
}

const (
	mirrored = `{"content":[{"type":"text","text":"{\"a\": 1.0, \"s\":\"x\"}","annotations":{"p":1.0}}], "structuredContent":{"a": 1.0, "s":"x"},"_meta":{"k":1.50}}`
	wrapped  = `{"content":[{"type":"text","text":"[1.0]"}],"structuredContent":{"result":[1.0]}}`
	mixed    = `{"content":[{"type":"text","text":"one"},{"type":"image","data":"eA==" , "mimeType":"image/png"},{"type":"text","text":"two"},{"type":"odd","x":1.0}],"structuredContent":{"other":"one"}}`
)

func TestResults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ result, body, want string }{
		"left alone":                {mixed, `pass`, mixed},
		"looked at":                 {mixed, `x = [result.text, result.content, result.structured, result.is_error, result.json()]`, mixed},
		"returned itself":           {mixed, `return result`, mixed},
		"text returned":             {hello, `return result.text.upper()`, `{"content":[{"type":"text","text":"HELLO"}]}`},
		"text of a mirror":          {mirrored, `return "gone"`, `{"content":[{"type":"text","text":"gone","annotations":{"p":1.0}}],"_meta":{"k":1.50}}`},
		"JSON text of a mirror":     {mirrored, `return "{\"b\":2.0}"`, `{"content":[{"type":"text","text":"{\"b\":2.0}","annotations":{"p":1.0}}], "structuredContent":{"b":2.0},"_meta":{"k":1.50}}`},
		"text among others":         {mixed, `return result.with_text("t")`, `{"content":[{"type":"text","text":"t"},{"type":"image","data":"eA==" , "mimeType":"image/png"},{"type":"odd","x":1.0}]}`},
		"text where there was none": {`{"content":[]}`, `return "t"`, `{"content":[{"type":"text","text":"t"}]}`},
		"JSON in a mirror":          {mirrored, "d = result.json()\nd[\"b\"] = 2\nreturn result.with_json(d)", `{"content":[{"type":"text","text":"{\"a\":1.0,\"s\":\"x\",\"b\":2}","annotations":{"p":1.0}}], "structuredContent":{"a":1.0,"s":"x","b":2},"_meta":{"k":1.50}}`},
		"JSON unchanged":            {`{"content":[{"type":"text","text":"[ 1.0 ]"}]}`, `return result.with_json(result.json())`, `{"content":[{"type":"text","text":"[ 1.0 ]"}]}`},
		"JSON wrapped":              {wrapped, "d = result.json()\nd[\"result\"].append(2)\nreturn result.with_json(d)", `{"content":[{"type":"text","text":"[1.0,2]"}],"structuredContent":{"result":[1.0,2]}}`},
		"JSON that is no object":    {mirrored, `return result.with_json([1])`, `{"content":[{"type":"text","text":"[1]","annotations":{"p":1.0}}],"_meta":{"k":1.50}}`},
		"no JSON":                   {hello, `return "none" if result.json() == None and result.json(7) == 7 else "some"`, `{"content":[{"type":"text","text":"none"}]}`},
		"mapped":                    {mixed, `return result.map_text(lambda s: s.replace("one", "1"))`, `{"content":[{"type":"text","text":"1"},{"type":"image","data":"eA==" , "mimeType":"image/png"},{"type":"text","text":"two"},{"type":"odd","x":1.0}],"structuredContent":{"other":"1"}}`},
		"mapped JSON stays JSON":    {mirrored, `return result.map_text(lambda s: s + "\"")`, `{"content":[{"type":"text","text":"{\"a\":1.0,\"s\":\"x\\\"\"}","annotations":{"p":1.0}}], "structuredContent":{"a":1.0,"s":"x\""},"_meta":{"k":1.50}}`},
		"mapped to the same":        {mirrored, `return result.map_text(lambda s: s)`, mirrored},
		"dict returned":             {hello, `return {"content": result.content + [{"type": "text", "text": "more"}], "isError": True}`, `{"content":[{"type":"text","text":"hello"},{"type":"text","text":"more"}],"isError":true}`},
		"attributes":                {mixed, `return json.encode([result.text, len(result.content), result.structured, result.is_error, ctx.duration_ms >= 0, ctx.is_error, ctx.error])`, `{"content":[{"type":"text","text":"[\"one\\ntwo\",4,{\"other\":\"one\"},false,true,false,null]"},{"type":"image","data":"eA==" , "mimeType":"image/png"},{"type":"odd","x":1.0}]}`},
		"answered after all":        {hello, `answer("other")`, `{"content":[{"type":"text","text":"other"}]}`},
		"structured that is null":   {`{"content":[],"structuredContent":null}`, `return "null" if result.structured == None else "some"`, `{"content":[{"type":"text","text":"null"}]}`},
		"content that is not there": {`{}`, `return str(len(result.content))`, `{"content":[{"type":"text","text":"0"}]}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := call(`{}`)
			if err := through(t, newWorld().source(t, afterwards(tc.body)), c, &work{result: tc.result}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(c.Result), tc.want); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStrictResults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ body, want string }{
		"content changed":    {`result.content.append(1)`, "test.star:2:26: append: cannot append to a read-only list"},
		"structured changed": {`result.structured["a"] = 1`, "test.star:2:22: cannot insert into a read-only dict"},
		"number returned":    {`return 1`, `test.star:1:1: what after_call returned is a int: it must be a text, a result, or a dict like {"content": [{"type": "text", "text": "…"}]}`},
		"no blocks returned": {`return {"content": [1]}`, "test.star:1:1: what after_call returned is no result: element 0 of its content is no object with a type (for JSON, use result.with_json or json.encode)"},
		"no text returned":   {`return {"content": [{"type": "text"}]}`, "test.star:1:1: what after_call returned is no result: element 0 of its content is of type text, but has none (for JSON, use result.with_json or json.encode)"},
		"any dict returned":  {`return {"a": 1}`, `test.star:1:1: what after_call returned is no result: it needs "content", a list (for JSON, use result.with_json or json.encode)`},
		"mapped to no text":  {`return result.map_text(len)`, "test.star:2:27: map_text: the function returned a int for a text, not a text"},
		"odd JSON":           {`return result.with_json({1: 2})`, "test.star:2:28: with_json(value) has a key of type int: JSON objects need strings"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := through(t, newWorld().source(t, afterwards(tc.body)), call(`{}`), &work{result: mirrored})
			if got := told(err); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	long := textResult(t, strings.Repeat("x", 2000))
	cases := map[string]struct{ source, args, result, want string }{
		"arguments":     {before(`x = request.arguments`), `{"a":"` + strings.Repeat("x", 2000) + `"}`, hello, "test.star:2:16: the arguments is larger than 1024 bytes (max_size)"},
		"result":        {afterwards(`x = result.text`), `{}`, long, "test.star:2:15: the result is larger than 1024 bytes (max_size)"},
		"new result":    {afterwards(`return "x" * 2000`), `{}`, hello, "test.star:1:1: what after_call returned is larger than 1024 bytes (max_size)"},
		"not looked at": {afterwards(`ctx.warn("x")`), `{}`, long, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newWorld().mustLoad(t, map[string]any{"source": tc.source, "max_size": 1024})
			got := ""
			if err := through(t, h, call(tc.args), &work{result: tc.result}); err != nil {
				got = core.Public(err).Message
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestFailedCalls(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ body, want string }{
		"left alone": {`x = [result.text, result.is_error, result.content, result.structured, result.json()]`, "too slow"},
		"explained":  {`return ctx.error + ": " + result.text + "; wait"`, "timeout: too slow; wait"},
		"mapped":     {`return result.map_text(lambda s: s.replace("slow", "late"))`, "too late"},
		"with_text":  {`return result.with_text("other")`, "other"},
		"no result":  {`return {"content": []}`, "test.star:1:1: the call failed: after_call can return another message or None, not a dict"},
		"no JSON":    {`return result.with_json({})`, "test.star:2:28: the call failed, there is no result: ctx.error says how, result.text is the message"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := call(`{}`)
			cause := core.Errorf(core.Timeout, "too slow").WithHint("hint")
			err := through(t, newWorld().source(t, afterwards(tc.body)), c, &work{err: cause})
			e := core.Public(err)
			if got := told(err); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if !strings.HasPrefix(tc.want, "test.star") && (e.Kind != core.Timeout || e.Hint != "hint") {
				t.Errorf("got kind %s and hint %q: only the message is the script's", e.Kind, e.Hint)
			}
		})
	}
}

func TestMetaTools(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ body, want, fault string }{
		"looked at": {`x = [result.json(), result.text, result.structured, result.is_error, result.content, ctx.tool, ctx.server, ctx.annotations, ctx.description]`, `{"tools":[{"id":"a","score":0.50}]}`, ""},
		"changed":   {"d = result.json()\nd[\"tools\"].append(ctx.tool)\nreturn result.with_json(d)", `{"tools":[{"id":"a","score":0.50},"discover_tools"]}`, ""},
		"dict":      {`return {"tools": []}`, `{"tools":[]}`, ""},
		"mapped":    {`return result.map_text(lambda s: s + "!")`, `{"tools":[{"id":"a!","score":0.50}]}`, ""},
		"text":      {`return "x"`, "", "test.star:1:1: the result of a meta-tool is JSON: return result.with_json(value)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := call(`{}`)
			c.Level, c.Action, c.Tool, c.Server = hooks.Meta, "discover_tools", nil, nil
			fault := ""
			if err := through(t, newWorld().source(t, afterwards(tc.body)), c, &work{result: `{"tools":[{"id":"a","score":0.50}]}`}); err != nil {
				fault = told(err)
			}
			if string(c.Result) != tc.want || fault != tc.fault {
				t.Errorf("got %s, %s", c.Result, fault)
			}
		})
	}
}

func TestValuesAndNotes(t *testing.T) {
	t.Parallel()
	const source = `
def before_call(ctx, request):
    ctx.values["seen"] = {"n": request.arguments["n"]}
    ctx.values["t"] = time.now()

def after_call(ctx, result):
    ctx.values["more"] = 1
    ctx.note("n", ctx.values["seen"]["n"])
    ctx.note("took", time.now() - ctx.values["t"] == time.parse_duration("0s"))
    ctx.note("f", 1.5)
    ctx.note("s", "x" * 300)
    ctx.warn("careful")
`
	c := call(`{"n":7}`)
	if err := through(t, newWorld().source(t, source), c, &work{result: hello}); err != nil {
		t.Fatal(err)
	}
	want := []hooks.Effect{{Hook: "test", Event: hooks.ToolAfter, Did: "note",
		Notes: map[string]any{"n": int64(7), "took": true, "f": 1.5, "s": strings.Repeat("x", 200) + "…"}}}
	if diff := cmp.Diff(c.Effects, want); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(c.Warnings, []string{"careful"}); diff != "" {
		t.Error(diff)
	}
}

func TestRejectAfterwards(t *testing.T) {
	t.Parallel()
	c := call(`{}`)
	err := through(t, newWorld().source(t, afterwards(`reject("not for you")`)), c, &work{result: hello})
	if !errors.Is(err, core.HookRejected) || c.Result != nil {
		t.Errorf("got %v, %s", err, c.Result)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	const source = `
def on_event(ctx, event):
    if event.type == "hook:disabled":
        reject("no")
    emit("seen", {"what": event.type, "who": event.subject, "why": event.data["reason"], "at": event.time.year,
        "level": ctx.level, "tool": ctx.tool, "n": cache.get("n", 0, shared = True)})
    cache.put("n", 1, ttl = 60, shared = True)
`
	w := newWorld()
	h := w.source(t, source)
	handler, ok := h.(hooks.Handler)
	if !ok {
		t.Fatal("a script is no handler")
	}
	e := core.Event{Type: core.EventServerFailed, Subject: "github", Time: w.now, Data: json.RawMessage(`{"reason":"down"}`)}
	for range 2 {
		if err := handler.Handle(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	want := `{"what":"server:failed","who":"github","why":"down","at":2026,"level":"event","tool":null,"n":1}`
	if len(w.events) != 2 || string(w.events[1].Data) != want || w.events[1].TenantID != "tenant" {
		t.Errorf("got %+v", w.events)
	}
	e.Type = core.EventHookDisabled
	if err := handler.Handle(t.Context(), e); err == nil || !strings.Contains(err.Error(), "work in before_call and after_call only") {
		t.Errorf("got %v", err)
	}
	if err := h.Before(t.Context(), call(`{}`)); err != nil {
		t.Error(err)
	}
}
